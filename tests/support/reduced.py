"""Shipped scenarios, reduced to runs of a second or less that still do all that the scenario asks for."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from support.pictures import IMAGE

import flowsim
from flowsim.evaluate import evidence, sphere
from flowsim.evaluate.robustness import certified, exact
from flowsim.evaluate.robustness.attacks import minimal, target
from flowsim.papers.allen_zhu_li_2022 import perturbations, training
from flowsim.papers.min_vidal_2025 import robustness
from flowsim.scenario.shipped import shipped

FEATURES, SAMPLES, NEURONS, CLASSES, ITERATIONS, TEST_SAMPLES = 24, 20, 6, 10, 3, 1


def draw_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let claims draw and attack few fresh samples, and searches take few steps: a scenario has no keys for these."""
    monkeypatch.setattr(evidence, "TEST_SAMPLES", 100)
    for claims in (robustness, training):
        monkeypatch.setattr(claims, "ATTACKED", 2)
    monkeypatch.setattr(perturbations, "SAMPLES", 2)
    for module, name, few in (
        (target, "HALVINGS", 4),
        (minimal, "RAYS", 2),
        (minimal, "WALKS", 1),
        (minimal, "STEPS", 4),
        (exact, "BOXES", 50),
        (certified, "HALVINGS", 4),
        (certified, "MULTIPLIER_HALVINGS", 8),
        (sphere, "STEPS", 8),
    ):
        monkeypatch.setattr(module, name, few)


def reduced(name: str) -> flowsim.Scenario:
    """The shipped scenario of this name with few samples, features, neurons, instants and steps."""
    file = shipped()[name]
    raw = tomllib.loads(file.read_text())
    return flowsim.load(file, {**_data(raw), **_flow(raw), **_evaluate(raw), "observe.times": 5})


def _data(raw: dict[str, Any]) -> dict[str, Any]:
    data, model = raw["data"], raw.get("model", {})
    named = [data.get(sign, 1) for sign in ("positive", "negative")]
    clusters = sum(len(one) if isinstance(one, list) else one for one in named)
    if data.get("supervision") == "cluster":
        # every class has neurons of its own; digits and images do not say how many there are
        clusters = max(clusters, CLASSES)
    found: dict[str, Any] = {}
    if data.get("kind") != "points":
        # a part that is held out must leave some of every class
        count = SAMPLES if "fraction" not in data.get("test", {}) else 5 * SAMPLES
        found["data.samples"] = clusters * (count // clusters)
    if "samples" in data.get("test", {}):
        found["data.test.samples"] = min(data["test"]["samples"], SAMPLES)
    if "dimension" in data:
        found["data.dimension"] = min(data["dimension"], FEATURES)
    if "width" in model:
        # of sparse coding, some quantities are there only where there are as many neurons as features
        least = found.get("data.dimension", 0) if data.get("kind") == "sparse_coding" else clusters
        # a network with fine labels for a part has an output more for each of the two classes
        found["model.width"] = min(model["width"], max(NEURONS, least) + 2 * ("fine" in data))
    if isinstance(raw.get("observe", {}).get("snapshots"), int):
        found["observe.snapshots"] = 3
    return found | _of_images(data, model)


def _of_images(data: dict[str, Any], model: dict[str, Any]) -> dict[str, Any]:
    """Networks of images that are as deep, but narrow; tiny MNIST has images of 6 x 5 pixels."""
    if model.get("kind") not in ("conv", "resnet", "wide_resnet", "alexnet"):
        return {}
    image = {"model.image": [1, *IMAGE]} if data["kind"] == "idx" else {}
    return image if model["kind"] == "conv" else {**image, "model.widen": 0.03}


def _flow(raw: dict[str, Any]) -> dict[str, Any]:
    if "stage" in raw:
        return {"stage": [_shorter(stage) for stage in raw["stage"]]}
    return {f"flow.{key}": value for key, value in _shorter(raw["flow"]).items()}


def _shorter(flow: dict[str, Any]) -> dict[str, Any]:
    short = dict(flow)
    if "iterations" in flow:
        short["iterations"] = min(flow["iterations"], ITERATIONS)
    if "batch" in flow:
        short["batch"] = min(flow["batch"], SAMPLES // 2)
    if "time" in flow.get("until", {}):
        short["until"] = {"time": min(flow["until"]["time"], 2.0)}
    elif "log10_loss" in flow.get("until", {}):
        short["until"] = {"log10_loss": -30.0}
    return short


def _evaluate(raw: dict[str, Any]) -> dict[str, Any]:
    asked, found = raw.get("evaluate", {}), {}
    if "robustness" in asked:
        few = {"samples": TEST_SAMPLES, "steps": 2, "radii": asked["robustness"]["radii"][:3]}
        found |= {f"evaluate.robustness.{key}": value for key, value in few.items()}
    if "smoothing" in asked:
        found |= {f"evaluate.smoothing.{key}": TEST_SAMPLES for key in ("samples", "draws", "select")}
    return found
