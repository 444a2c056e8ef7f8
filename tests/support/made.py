"""Results that no solver made, of any size and with known values."""

from __future__ import annotations

import numpy as np
import xarray as xr

from flowsim.evaluate import phases
from flowsim.evaluate.claim import Claim, Constant, Premise, Window
from flowsim.evaluate.findings import judged, layout

ATTRIBUTES = {
    "title": "a <made> run & more",
    "scenario": 'title = "made"\n',
    "scenario_sha256": "0" * 64,
    "seed": 0,
    "flowsim_version": "0.1.0",
    "method": "gradient_flow",
    "engine": "numba",
    "solver": "dopri5",
    "flow_coordinates": "polar",
    "precision": "float64",
    "rtol": 1e-6,
    "warnings": "",
    "status": "done",
    "status_cause": "reached time 10",
    "status_remedy": "",
    "wall_time": 1.5,
}


def made(samples: int = 40, neurons: int = 6, clusters: int = 3, instants: int = 12, seed: int = 0) -> xr.DataTree:
    """Neurons that turn from random directions to centre j mod clusters, and grow from 1e-3 to 1."""
    random = np.random.default_rng(seed)
    time, target = np.linspace(0.0, 10.0, instants), np.arange(neurons) % clusters
    turned = np.linspace(0.0, 1.0, instants)[:, None, None]
    start = random.uniform(-0.5, 0.5, (neurons, clusters))
    margin = turned[:, :, 0] * np.ones(samples) + 0.1 * random.standard_normal((instants, samples))
    log_norm = np.linspace(np.log(1e-3), 0.0, instants)[:, None] + 0.1 * random.standard_normal(neurons)
    of_target = target[:, None] == np.arange(clusters)
    values = {
        "cosine": (("time", "neuron", "cluster"), (1 - turned) * start + turned * of_target),
        "log_norm": (("time", "neuron"), log_norm),
        "log10_loss": (("time",), np.linspace(-0.3, -5.0, instants)),
        "loss": (("time",), 10 ** np.linspace(-0.3, -5.0, instants)),
        "accuracy": (("time",), np.linspace(0.5, 1.0, instants)),
        "margin": (("time", "sample"), margin),
        "loss_derivative": (("time", "sample"), margin - 1),
        "cluster_mass": (("time", "cluster"), np.exp(2 * log_norm) @ of_target),
        "void_mass": (("time",), np.zeros(instants)),
    }
    coordinates = {
        "time": ("time", time, {"long_name": "flow time", "units": "1"}),
        "neuron_sign": ("neuron", np.where(target % 2 == 0, 1, -1)),
        "target_cluster": ("neuron", target),
        "cluster_label": ("cluster", np.where(np.arange(clusters) % 2 == 0, 1, -1)),
    }
    named = {name: (*value, {"long_name": name.replace("_", " "), "units": "1"}) for name, value in values.items()}
    root = xr.Dataset(named, coordinates, dict(ATTRIBUTES))
    counts = np.arange(instants)
    numerics = xr.Dataset(
        {
            "steps": ("time", counts),
            "rejections": ("time", counts // 3),
            "evaluations": ("time", 6 * counts),
            "step_size": ("time", np.full(instants, 0.1), {"long_name": "solver step size", "units": "1"}),
        },
        attrs={"exit_code": 0},
    )
    claims = layout(
        {
            "paper.one": judged(
                Claim(
                    "Theorem 1",
                    "a < b",
                    lambda evidence: 0.05,
                    0.1,
                    premises=lambda evidence: [Premise("b <= 1", 0.1, 1.0)],
                    constants=(Constant("b", 0.1, "chosen"),),
                    span=lambda evidence: Window(0.0, 10.0, root["time"].values, 1),
                ),
                None,
            ),
            "paper.two": judged(Claim("Theorem 2", "c", lambda evidence: 0.5, 1.0, at_least=True), None),
        }
    )
    return xr.DataTree.from_dict({"/": root, "/phases": phases(root), "/numerics": numerics, "/claims": claims})


def ensemble(seeds: tuple[int, ...] = (3, 5, 8)) -> xr.DataTree:
    """Members of different random starts; the last of them has not run."""
    trees = [made(seed=seed) for seed in seeds]
    index = xr.DataArray(list(seeds), dims="seed", name="seed")
    fixed = ["neuron_sign", "cluster_label", "target_cluster"]
    root = xr.concat([tree.to_dataset().drop_vars(fixed) for tree in trees], index)
    first = trees[0].to_dataset()
    root = root.assign_coords({name: first[name] for name in ("neuron_sign", "cluster_label")})
    root = root.assign_coords(
        target_cluster=(("seed", "neuron"), np.tile(first["target_cluster"].values, (len(seeds), 1)))
    )
    ran = xr.DataArray(np.arange(len(seeds)) < len(seeds) - 1, dims="seed")
    root = root.where(ran).assign_attrs({**ATTRIBUTES, "seed": np.array(seeds)})
    numerics = xr.concat([tree["numerics"].to_dataset(inherit=False) for tree in trees], index).where(ran)
    last = root.isel(time=-1).drop_vars("time")
    final = last.merge(numerics.isel(time=-1), compat="override")
    status = np.where(ran, "done", "not_run")
    facts = {"status": status, "status_cause": status, "engine": status, "solver": status}
    numerics = numerics.assign({name: ("seed", values) for name, values in facts.items()})
    numerics = numerics.assign(exit_code=("seed", np.where(ran, 0, 3)), stop_time=("seed", np.where(ran, 10.0, np.nan)))
    numerics.attrs = {"exit_code": 3}
    return xr.DataTree.from_dict(
        {"/": root, "/phases": phases(root), "/numerics": numerics, "/final": final.drop_attrs()}
    )


def without(tree: xr.DataTree, *names: str) -> xr.DataTree:
    """A result whose root group lacks these variables."""
    groups = {f"/{name}": node.to_dataset(inherit=False) for name, node in tree.children.items()}
    return xr.DataTree.from_dict({"/": tree.to_dataset().drop_vars(names), **groups})


def on_loss_clock() -> xr.DataTree:
    """A run whose time is kept as a logarithm, and begins at 0."""
    tree = made()
    with np.errstate(divide="ignore"):
        log_time = np.log10(tree["time"].values)
    named = {"long_name": "log10 of flow time", "units": "1"}
    tree = tree.copy()
    tree.dataset = tree.to_dataset().assign_coords(log10_time=("time", log_time, named))
    return tree


def tiny() -> xr.DataTree:
    """A run whose margins and masses are about to underflow, beside the logs of the masses."""
    tree, size = made().copy(), 1e-308
    root = tree.to_dataset()
    with np.errstate(divide="ignore"):
        logs = {f"log_{name}": np.log(root[name]) - 1400.0 for name in ("cluster_mass", "void_mass")}
    small = {name: size * root[name] for name in ("margin", "cluster_mass", "void_mass")}
    tree.dataset = root.assign(**small, **logs)
    return tree
