"""The group `limit` of a result, and its verdict in words."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr

from ...arrays import Floats
from ...errors import UsageError
from ...solve import Snapshot
from ...threads import blas_threads
from ..case import Result, reopened
from .follow import FADED
from .limit import Limit, angle, find

#: condition -> long name
CONDITIONS = {
    "stationarity": "|theta - sum lambda_i grad q_i| / |theta|",
    "feasibility": "by how much the smallest margin is below 1",
    "complementarity": "largest lambda_i |q_i - 1| / |theta|^2",
    "sign": "size of the most negative multiplier, relative to the largest",
    "gates": "largest cosine of a pair whose gate is not allowed by the side it is on",
}
#: Below this, a KKT point is not strictly complementary: rounding could turn an inequality.
STRICT = 1e-7


def limit(
    result: Result,
    *,
    seed: int | None = None,
    wall_time: float | None = None,
    progress: Callable[[str], None] | None = None,
) -> xr.Dataset:
    """The group `limit` of a finished run: the KKT point that its flow goes to, and how far the flow is from it.

    seed: the member of an ensemble. wall_time: seconds that the search may take. progress: told how far it is.
    Attributes: found (1 where it is the flow's own or 0), verdict (in words), rounds.
    """
    with reopened(result, seed) as case, blas_threads(case.reduced.operations):
        try:
            return limit_group(find(case.setting, case.weights[-1], wall_time, progress), case.weights)
        except UsageError as error:
            return without_limit(str(error))


def without_limit(reason: str) -> xr.Dataset:
    """The group of a run that shows no way to a KKT point: only the reason, in its attributes."""
    return xr.Dataset(attrs={"found": 0, "rounds": 0, "verdict": f"no KKT point found: {reason}"})


def limit_group(found: Limit, snapshots: Snapshot) -> xr.Dataset:
    """The group of a limit; snapshots: the instants of its flow whose weights were kept, as many."""
    setting, reduced, network, point = found.setting, found.setting.reduced, found.network, found.point
    hidden, bias = reduced.lift(network.hidden)
    each = reduced.representative
    angles = np.array([angle(found, snapshots[index]) for index in range(len(snapshots.time))])
    variables: dict[str, tuple[tuple[str, ...], object, str]] = {
        "hidden": (("neuron", "feature"), hidden, "w_j of the limit, at smallest margin 1; 0 for a neuron that dies"),
        "output_weight": (("neuron",), network.output, "v_j of the limit, at smallest margin 1"),
        "multiplier": (
            ("sample",),
            (point.multiplier / setting.multiplicity)[each],
            "lambda_i, of each of equal samples",
        ),
        "margin": (("sample",), network.margins(reduced)[each], "margin y f(x) in the limit"),
        "exponent": (
            ("neuron",),
            point.exponent,
            "exponent of |theta| in the growth of each neuron: 1 for those that live",
        ),
        "angle": (("snapshot",), angles, "angle between the flow's weights and the limit's, in rad"),
        "residual": ((), found.residual, "the largest of the conditions below"),
        **{name: ((), value, CONDITIONS[name]) for name, value in point.conditions.items()},
        "strictness": ((), point.strictness, "distance of the nearest inequality from an equation"),
        "freedom": ((), point.freedom, "dimension of the continuum of KKT points that it is one of, 0 if isolated"),
        "normalised_margin": ((), found.margin, "smallest margin over |theta|^L"),
        "alive": ((), int(found.alive.sum()), "neurons that do not die"),
        "support": ((), int(found.support[each].sum()), "samples with a multiplier"),
        **_of_flow(found),
    }
    if point.gate is not None:
        gates = np.where(found.alive[:, None], point.gate, np.nan)[:, each]
        said = (
            "slope of each living neuron at each sample, between the activation's two where it slides; nan for the dead"
        )
        variables["gate"] = (("neuron", "sample"), gates, said)
    if setting.problem.bias:
        variables["hidden_bias"] = (("neuron",), bias, "b_j of the limit, at smallest margin 1")
    dataset = xr.Dataset(
        {name: (dims, values, {"long_name": said, "units": "1"}) for name, (dims, values, said) in variables.items()}
    )
    dataset = dataset.assign_coords(
        log10_norm=("asymptotic", *_told(found.followed.log_norm / np.log(10), "log10 |theta|"))
    )
    dataset.attrs = {"found": int(found.own), "rounds": point.rounds, "verdict": verdict(found)}
    return dataset


def _of_flow(found: Limit) -> dict[str, tuple[tuple[str, ...], object, str]]:
    """What the asymptotic flow was seen to do."""
    followed = found.followed
    problem = found.setting.problem
    power = problem.activation.homogeneity + problem.trained_output
    faded = _log10_loss(found, power)
    share = followed.log_share / np.log(10)
    return {
        "faded": (
            ("neuron",),
            faded,
            f"log10(-log10 loss) from which on a neuron's share of |theta|^2 is below {FADED:g}; nan for those that live",
        ),
        "asymptotic_angle": ((), followed.angle, "angle between the end of the asymptotic flow and the limit, in rad"),
        "asymptotic_margin": (
            ("asymptotic",),
            followed.margin * found.scale,
            "normalised margin along the asymptotic flow",
        ),
        "asymptotic_share": (("asymptotic", "neuron"), share, "log10 of each neuron's share of |theta|^2 along it"),
        "asymptotic_distance": (
            ("asymptotic",),
            followed.distance,
            "distance between the weights and the gradient of the margin along it, both at norm 1",
        ),
    }


def _log10_loss(found: Limit, power: float) -> Floats:
    """log10(-log10 loss) at the norms at which neurons have faded: the loss is e^-margin, but for what does not grow"""
    log_margin = np.log(found.margin) + power * found.followed.faded
    return np.asarray((log_margin - np.log(np.log(10))) / np.log(10))


def _told(values: Floats, said: str) -> tuple[Floats, dict[str, str]]:
    return values, {"long_name": said, "units": "1"}


def verdict(found: Limit) -> str:
    """In words, whether this is the limit of the flow itself."""
    point, followed = found.point, found.followed
    if not found.own:
        return f"a KKT point of residual {point.residual:.2g}, not shown to be the flow's: {followed.reason}"
    kind = f"one of a continuum of dimension {point.freedom}" if point.freedom else "isolated"
    strict = "" if point.strictness > STRICT else ", an inequality of it as good as an equation"
    dead = point.exponent[~found.alive]
    said = f", {len(dead)} neurons die, with exponents up to {dead.max():.4g}" if len(dead) else ", no neuron dies"
    near = f"the asymptotic flow comes within {followed.angle:.1g} rad of it"
    return f"the flow's own limit: {near}; {kind}{strict}{said}"
