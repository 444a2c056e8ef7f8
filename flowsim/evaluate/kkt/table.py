"""What is told of each KKT point that was found, as a dataset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from ...arrays import Floats
from ...results.provenance import scenario_attributes
from ...scenario import Scenario
from ..claim import CLAIMS, selected
from ..evidence import Evidence
from ..findings import judged
from ..robustness import TwoLayer, certified_radius
from ..robustness.classifier import restricted
from ..robustness.evaluation import Test, test_of
from ..robustness.projection import nearer
from .convex import Cones, strongest, turned
from .found import Collection, Found
from .state import System

#: Nearest training samples of the other label towards which a probe is moved.
TOWARDS = 3


@dataclass(frozen=True)
class Asked:
    """samples: of the test; probes: those whose radii are looked for; claims: that are asked of each point; generator: of
    directions that are tried where there are too many cells."""

    samples: int
    probes: int
    claims: tuple[str, ...]
    generator: np.random.Generator


def dataset(scenario: Scenario, collection: Collection, cones: Cones | None, asked: Asked) -> xr.Dataset:
    """The KKT points along `point`, that of the largest margin first. cones: all of them, None where they are too many."""
    points = sorted(collection.found, key=lambda one: one.norm)
    system = System.of(collection.reduced)
    test = test_of(scenario, collection.reduced.problem, asked.samples)
    networks = [network_of(one) for one in points]
    rows = {
        **_of_points(points),
        **_of_networks(points, networks),
        **_of_errors(collection, networks, test, asked.probes),
        **_of_margins(points, system, cones, asked.generator),
        **_of_claims(scenario, points, asked.claims),
    }
    variables = {name: (dims, values, {"long_name": said, "units": "1"}) for name, (dims, values, said) in rows.items()}
    return xr.Dataset(variables, attrs=dict(scenario_attributes(scenario))).set_coords(_coordinates(variables))


def _coordinates(variables: Any) -> list[str]:
    return [name for name in ("origin", "width", "claim", "label") if name in variables]


Rows = dict[str, tuple[tuple[str, ...], Any, str]]


def network_of(found: Found) -> TwoLayer:
    """In the original features."""
    reduced, network = found.setting.reduced, found.point.network
    hidden, bias = reduced.lift(network.hidden)
    return TwoLayer.of(hidden, bias, network.output, found.setting.problem.activation)


def _of_points(points: list[Found]) -> Rows:
    def each(of: Any) -> Any:
        return np.array([of(one) for one in points])

    multiplier = [
        (one.point.multiplier / one.setting.multiplicity)[one.setting.reduced.representative] for one in points
    ]
    margin = [one.point.network.margins(one.setting.reduced)[one.setting.reduced.representative] for one in points]
    along = ("point",)
    return {
        "origin": (along, each(lambda one: one.origin), "what it was found by first: flow, start, pattern or optimum"),
        "width": (along, each(lambda one: one.width), "neurons of the narrowest network that it was found with"),
        "times": (along, each(lambda one: one.times), "how often it was found, as a function"),
        "norm": (along, each(lambda one: one.norm), "|theta| at smallest margin 1"),
        "normalised_margin": (along, each(lambda one: one.margin), "smallest margin over |theta|^L"),
        "directions": (
            along,
            each(lambda one: len(one.point.network.output)),
            "neurons, those of one direction as one",
        ),
        "support": (along, each(lambda one: int((one.point.multiplier > 0).sum())), "samples with a multiplier"),
        "residual": (along, each(lambda one: one.point.residual), "the largest of what is left of the KKT conditions"),
        "repelled": (
            along,
            each(lambda one: one.repelled),
            "pairs of a neuron at its kink and a sample that pulls it off to either side",
        ),
        "multiplier": (("point", "sample"), np.array(multiplier), "lambda_i, of each of equal samples"),
        "margin": (("point", "sample"), np.array(margin), "margin y f(x)"),
        "label": (("sample",), points[0].setting.problem.targets, "label of the training sample"),
    }


def _of_networks(points: list[Found], networks: list[TwoLayer]) -> Rows:
    """0 where a network has fewer neurons than others"""
    most, features = max(len(one.weight) for one in networks), networks[0].dimension
    hidden, output = np.zeros((len(networks), most, features)), np.zeros((len(networks), most))
    bias = np.zeros((len(networks), most))
    for row, (one, found) in enumerate(zip(networks, points, strict=True)):
        count = len(one.weight)
        hidden[row, :count], bias[row, :count] = one.hidden, one.bias
        output[row, :count] = found.point.network.output
    rows: Rows = {
        "hidden": (("point", "neuron", "feature"), hidden, "w_j of the merged network at smallest margin 1"),
        "output_weight": (("point", "neuron"), output, "v_j of the merged network; 0 where there is no such neuron"),
    }
    if points[0].setting.problem.bias:
        rows["hidden_bias"] = (("point", "neuron"), bias, "b_j of the merged network")
    return rows


def _of_errors(collection: Collection, networks: list[TwoLayer], test: Test, probes: int) -> Rows:
    problem = collection.reduced.problem
    errors = [float(np.mean(test.label * one.value(test.x) <= 0)) for one in networks]
    probed = test[slice(probes)]
    certified, attacked = np.zeros((2, len(networks), len(probed.label)))
    for row, one in enumerate(networks):
        right = probed.label * one.value(probed.x) > 0
        certified[row, right] = certified_radius(one, probed.x[right])
        attacked[row, right] = _attacked(one, probed.x[right], problem.inputs)
    return {
        "test_error": (("point",), np.array(errors), f"share of wrong answers on samples of origin {test.origin}"),
        "certified_radius": (
            ("point", "probe"),
            certified,
            "distance within which no sample is wrong; 0 of one that is",
        ),
        "attacked_radius": (
            ("point", "probe"),
            attacked,
            "distance of a point with the other sign; inf where none was met",
        ),
    }


def _attacked(network: TwoLayer, x: Floats, training: Floats) -> Floats:
    """(n,): the distance of a point of the other sign, locally the nearest"""
    inside, basis = restricted(network)
    points, goals = (x, training) if basis is None else (x @ basis, training @ basis)
    found, value = np.full(len(x), np.inf), inside.value(goals)
    signs = inside.value(points)
    for index, point in enumerate(points):
        other = goals[value * signs[index] < 0]
        order = np.argsort(np.linalg.norm(other - point, axis=1))[:TOWARDS]
        for goal in other[order]:
            found[index] = min(found[index], nearer(inside, point, goal - point)[0])
    return found


def _of_margins(points: list[Found], system: System, cones: Cones | None, generator: np.random.Generator) -> Rows:
    """Which points attract, and the largest margin of all networks of any width."""
    repelled = np.array([one.repelled for one in points])
    piecewise = system.degree == 1
    attracts = np.where(repelled > 0, 0, 1) if piecewise else np.array([int(one.point.attracts) for one in points])
    rows: Rows = {
        "attracts": (("point",), attracts, "1 where the norm is a local minimum among networks of its neurons")
    }
    least = np.array([0.5 * one.norm**2 for one in points])
    rows["best_margin_at_least"] = (
        (),
        float(0.5 / least.min()) if system.homogeneity == 2 else np.nan,
        "a network has it",
    )
    if not piecewise:
        return rows
    longest = float(np.linalg.norm(points[0].setting.reduced.inputs, axis=1).max())
    growth, bound = np.zeros(len(points)), np.full(len(points), np.inf)
    for row, one in enumerate(points):
        weight = one.point.multiplier * longest
        growth[row] = turned(system, weight, generator)[2].max() if cones is None else strongest(system, cones, weight)
        bound[row] = np.inf if cones is None else 0.5 * growth[row] / one.point.multiplier.sum()
    said = "largest exponent with which a further neuron of any direction would grow"
    rows["further_exponent"] = (("point",), growth, said + ("" if cones is not None else ", at least"))
    rows["best_margin_at_most"] = (
        (),
        float(bound.min()),
        "no network of any width has more; inf where that is unknown",
    )
    return rows


def _of_claims(scenario: Scenario, points: list[Found], names: tuple[str, ...]) -> Rows:
    claims = {name: claim for name, claim in selected(CLAIMS, names).items() if claim.every_point}
    if not claims:
        return {}
    evidence = Evidence(scenario, points[0].setting, xr.Dataset())
    verdicts = []
    for one in points:
        evidence = evidence.asked_of(one.setting, one.point)
        verdicts.append([judged(claim, evidence) for claim in claims.values()])
    table = ("point", "claim")
    return {
        "claim": (("claim",), np.array(list(claims)), "claim about every KKT point"),
        "verdict": (table, np.array([[one.verdict for one in row] for row in verdicts]), "verdict of the claim"),
        "measured": (table, np.array([[one.measured for one in row] for row in verdicts]), "measured value"),
        "bound": (table, np.array([[one.bound for one in row] for row in verdicts]), "bound of the claim"),
    }
