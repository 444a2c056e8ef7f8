"""The rules between a scenario's keys: what does not go together, and what to use instead."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ..kinds.data import DATA
from ..kinds.inits import INITS, Shape
from ..kinds.losses import LOSSES
from ..kinds.section import Broken
from ..kinds.stop import STOPS, Watched
from .evaluate import OF_OUTPUTS
from .flow import ADAM, Flow, Stage
from .in_span import broken_in_span

if TYPE_CHECKING:
    from ..kinds.networks import NetworkSection
    from ..kinds.threshold import Threshold
    from .scenario import Scenario

#: Gradients of a network of several layers are products of its weights; below this they would underflow, and in float32.
SMALLEST_PRODUCT, SMALLEST_MIXED = 1e-250, 1e-30


def _or(names: Iterable[str]) -> str:
    return " or ".join(f'"{name}"' for name in names)


def class_problems(clusters: int, width: int) -> Iterator[str]:
    """What is wrong with a network of this width that has an output for each cluster."""
    if clusters < 2:
        yield f"cross_entropy tells clusters apart and needs at least 2, not {clusters}"
    elif width % clusters:
        lower = width // clusters * clusters
        choices = " or ".join(str(m) for m in (lower, lower + clusters) if m)
        yield f"{width} neurons cannot be split evenly over the outputs of {clusters} clusters; use {choices}"


def broken(scenario: Scenario) -> Iterator[Broken]:
    """Every rule that the scenario breaks."""
    if not scenario.data.counted and scenario.loss.reduction == "per_cluster":
        only = f'"per_cluster" is not for data.kind = "{scenario.data.kind}"; use "mean" or "sum"'
        yield Broken("loss.reduction", only, ("data.kind",))
    yield from _broken_supervision(scenario)
    yield from _broken_optimizers(scenario)
    if scenario.init.of_products and not scenario.model.is_product:
        only = (
            f'"{scenario.init.shape}" is not for model.kind = "{scenario.model.kind}", which is no product of matrices'
        )
        yield Broken("init.shape", only, ("model.kind",))
    yield from _broken_by_kind(scenario)
    yield from _broken_distance(scenario)
    yield from _broken_robustness(scenario)
    yield from _broken_smoothing(scenario)
    yield from _broken_kkt(scenario)
    yield from _broken_clock(scenario)
    if any(part.flow.descends and part.open_ended for part in scenario.stages) and scenario.observe.spacing == "log":
        unknown = '"log" needs to know the last iteration; use "linear" where loss, alignment or kkt may end descent'
        yield Broken("observe.spacing", unknown, ("flow.method", "flow.until"))
    yield from _broken_instants(scenario)
    yield from _broken_stages(scenario)
    yield from _broken_rates(scenario)
    yield from _broken_changes(scenario)
    yield from _broken_regularizer(scenario)
    yield from broken_in_span(scenario)
    if scenario.is_ensemble:
        yield from _broken_ensemble(scenario)
    if scenario.is_ensemble and scenario.sweep.keys and "seed" not in scenario.sweep.keys:
        single = "a point of a sweep has a single seed; move the array to sweep.grid"
        yield Broken("seed", single, ("sweep",))


def _broken_clock(scenario: Scenario) -> Iterator[Broken]:
    """The loss clock follows the loss of the data themselves, in a single flow, down to 0."""
    for key, flow in scenario.flows():
        if flow.clock != "loss":
            continue
        if not scenario.loss.formulas.endless:
            endless = f'"loss" is for losses that fall for ever, which "{scenario.loss.kind}" does not; use "time"'
            yield Broken(f"{key}.clock", endless, ("loss.kind",))
        if isinstance(flow, Stage):
            yield Broken(f"{key}.clock", '"loss" is not for runs in stages; use "time"', ("stage",))
        if scenario.model.common_threshold is not None:
            timed = f'"loss" is not for model.kind = "{scenario.model.kind}", whose threshold goes by time; use "time"'
            yield Broken(f"{key}.clock", timed, ("model.kind",))
        if scenario.loss.regularizer.used:
            kept = '"loss" is not for a loss with a regularizer, which never falls to 0; use "time"'
            yield Broken(f"{key}.clock", kept, ("loss.regularizer",))


def _broken_instants(scenario: Scenario) -> Iterator[Broken]:
    """A flow is seen to rest at instants that are kept: past the last that is listed, only a budget surely ends it."""
    for key, flow in scenario.flows():
        if scenario.observe.listed and not flow.descends and flow.until.time is None and flow.until.steps is None:
            needed = "needs time or steps beside its other conditions, as observe.times lists the instants"
            yield Broken(f"{key}.until", needed, ("observe.times",))


def _broken_rates(scenario: Scenario) -> Iterator[Broken]:
    """What flows of two layers of neurons cannot have where arrays have rates of their own."""
    for key, flow in scenario.flows():
        if flow.rates is None or not scenario.model.two_layers or flow.descends:
            continue
        yield from _broken_general(key, flow, "not with flow.rates", (f"{key}.rates",))
        if isinstance(flow, Stage) and flow.attack is not None:
            yield Broken(f"{key}.rates", "not in a flow with an attacker; use descent", (f"{key}.attack",))
        if scenario.loss.regularizer.used:
            yield Broken(
                f"{key}.rates", "not in a flow of a loss with a regularizer; use descent", ("loss.regularizer",)
            )
        if scenario.model.common_threshold is not None:
            yield Broken(f"{key}.rates", f'not in a flow of model.kind = "{scenario.model.kind}"', ("model.kind",))


def _broken_changes(scenario: Scenario) -> Iterator[Broken]:
    """Samples change at random in descent of networks that see them as they are, and not in coordinates of their span."""
    whole = not scenario.model.has_neurons
    for key, flow in scenario.flows():
        asked = ["data.augment"] if scenario.data.augmented else []
        if isinstance(flow, Stage):
            asked += [f"{key}.noise"] if flow.noise is not None else []
            asked += [f"{key}.attack.warmup"] if flow.attack is not None and flow.attack.warmup is not None else []
        if not (whole and flow.descends):
            only = "only for descent of networks without neurons, such as those of images"
            yield from (Broken(one, only, ("model.kind", f"{key}.method")) for one in asked)


def _broken_stages(scenario: Scenario) -> Iterator[Broken]:
    if scenario.stage and "flow" in scenario.model_fields_set:
        yield Broken("flow", "give either flow or stages", ("stage",))
    if scenario.stage and scenario.is_ensemble:
        yield Broken("seed", "a run in stages is of a single seed; use a sweep", ("stage",))
    if scenario.stage and scenario.stage[0].redraw:
        yield Broken("stage[0].redraw", "the first stage begins with what [init] draws", ())
    for index, stage in enumerate(scenario.stage[1:], start=1):
        if stage.redraw and scenario.model.has_neurons:
            only = "only for networks without a first layer of neurons"
            yield Broken(
                f"stage[{index}].redraw", f'{only}, not for model.kind = "{scenario.model.kind}"', ("model.kind",)
            )
    yield from _broken_regaining(scenario)
    names = [stage.name for stage in scenario.stage]
    for index, name in enumerate(names):
        if name in names[:index]:
            yield Broken(f"stage[{index}].name", f'"{name}" is named twice')
    for key, flow in scenario.flows():
        attack = flow.attack if isinstance(flow, Stage) else None
        if flow.fresh and not scenario.data.drawn:
            drawn = _or(name for name, data in DATA.items() if data.drawn)
            yield Broken(f"{key}.fresh", f"data of this kind come from no distribution; use {drawn}", ("data.kind",))
        if flow.fresh and getattr(scenario.data, "fine", None) is not None:
            yield Broken(f"{key}.fresh", "not with data.fine: what is drawn anew is told its cluster", ("data.fine",))
        if attack is not None and not flow.descends and flow.engine == "diffrax":
            yield Broken(f"{key}.engine", '"diffrax" knows no attacks; use "numba"', (f"{key}.attack",))
        if attack is not None and not scenario.model.two_layers and not flow.descends:
            only = f'with model.kind = "{scenario.model.kind}" only for method = "gradient_descent" or "sgd"'
            yield Broken(f"{key}.attack", only, ("model.kind", f"{key}.method"))


def _broken_regaining(scenario: Scenario) -> Iterator[Broken]:
    """What is regained was there at the end of an adversarial training before."""
    trained, attacked = False, False
    for key, flow in scenario.flows():
        now = isinstance(flow, Stage) and flow.attack is not None
        trained, attacked = trained or (attacked and not now), now
        asked = [name for name in flow.until.goals if STOPS[name].regains and not trained]
        only = "only after stages with an attack, the first of which are over"
        yield from (Broken(f"{key}.until.{name}", only, ("stage",)) for name in asked)


def _broken_threshold(scenario: Scenario, threshold: Threshold) -> Iterator[Broken]:
    """What the engines can do with a threshold that changes with time."""
    reads = ("model.kind",)
    for key, flow in scenario.flows():
        if flow.descends:
            if threshold.sampled and flow.until.watched(Watched.LOSS):
                yield Broken(f"{key}.until", 'with model.noise = "sampled" there is no one loss to end at', reads)
            continue
        given = f'not for model.kind = "{scenario.model.kind}"'
        for name, bad in (("engine", "diffrax"), ("coordinates", "polar")):
            if getattr(flow, name) == bad:
                yield Broken(f"{key}.{name}", f'"{bad}" is {given}', reads)
        if not threshold.smoothing:
            yield Broken("model.smoothing", "a flow needs a smooth network: above 0, or use descent", (key,))
        if threshold.sampled:
            yield Broken("model.noise", '"sampled" is for descent; use "integrated"', (key,))
        if threshold.switch < math.inf:
            yield Broken("model.late_smoothing", "is for descent: a flow would jump", (key,))


def _broken_regularizer(scenario: Scenario) -> Iterator[Broken]:
    model = scenario.model
    if scenario.loss.regularizer.used and not model.two_layers:
        yield Broken("loss.regularizer", f'not for model.kind = "{scenario.model.kind}"', ("model.kind",))


def _broken_supervision(scenario: Scenario) -> Iterator[Broken]:
    by_cluster, classes = scenario.data.supervision == "cluster", scenario.loss.formulas.classes
    if by_cluster and not classes:
        of_classes = _or(name for name, loss in LOSSES.items() if loss.of_classes)
        wrong = f'"{scenario.loss.kind}" is not for data.supervision = "cluster"; use {of_classes}'
        yield Broken("loss.kind", wrong, ("data.supervision",))
    if classes and not by_cluster and scenario.model.two_layers:
        yield Broken("loss.kind", f'"{scenario.loss.kind}" is for data.supervision = "cluster"', ("data.supervision",))
    if scenario.data.real_targets and not classes and not scenario.loss.of_any_target:
        free = _or(name for name, loss in LOSSES.items() if loss.of_any_target)
        wrong = f'"{scenario.loss.kind}" is for labels +1/-1, and data.kind = "{scenario.data.kind}" has real targets'
        yield Broken("loss.kind", f"{wrong}; use {free}", ("data.kind",))
    if scenario.data.target_entries > 1 and scenario.model.two_layers:
        several = f"has one output, and targets have {scenario.data.target_entries} entries"
        yield Broken("model.kind", f'"{scenario.model.kind}" {several}', ("data", "model"))
    if classes and isinstance(scenario.init, Shape) and scenario.init.by_sign:
        yield Broken("init.toward", '"own" is for labels +1/-1, not for an output for every cluster', ("loss.kind",))
    clusters = scenario.data.clusters
    if classes and clusters is not None and scenario.model.own_outputs:
        for problem in class_problems(clusters, scenario.model.neurons):
            yield Broken("model.width", problem, ("data", "loss.kind"))


def _broken_by_kind(scenario: Scenario) -> Iterator[Broken]:
    """What networks that have no output weight for each neuron cannot have."""
    kind, init = scenario.model.kind, scenario.init
    if scenario.model.own_outputs:
        if scenario.model.output_weight is not None and "ratio" in init.model_fields_set:
            yield Broken("init.ratio", 'only with model.output = "trained"', ("model.output",))
        return
    given = f'not for model.kind = "{kind}"'
    reads = ("model.kind",)
    for key in ("balanced", "ratio", "signs"):
        if key in init.model_fields_set:
            yield Broken(f"init.{key}", f"{given}, whose neurons have no output weights of their own", reads)
    if init.around_centers and not (scenario.model.two_layers and hasattr(scenario.model, "width")):
        others = _or(
            name for name, start in INITS.items() if start.drawn and not (start.around_centers or start.of_products)
        )
        yield Broken("init.shape", f'"{init.shape}" is {given}; use {others}', reads)
    if not init.drawn and not scenario.model.takes_weights:
        others = _or(
            name for name, start in INITS.items() if start.drawn and not (start.around_centers or start.of_products)
        )
        yield Broken("init.shape", f'"{init.shape}" is {given}; use {others}', reads)
    for key, asked in (("claims", scenario.evaluate.claims), ("distance", scenario.evaluate.distance)):
        if asked and (key != "claims" or scenario.model.layered):
            yield Broken(f"evaluate.{key}", f"{given}: only for two-layer networks", reads)
    if scenario.model.common_threshold is not None:
        yield from _broken_threshold(scenario, scenario.model.common_threshold)
    if not scenario.model.two_layers:
        yield from _broken_function(scenario, scenario.model, given)
    elif scenario.loss.formulas.classes:
        yield Broken("loss.kind", f'"{scenario.loss.kind}" is {given}, which has one output', reads)


def _broken_optimizers(scenario: Scenario) -> Iterator[Broken]:
    """Which networks and losses know which descent."""
    threshold = scenario.model.common_threshold
    for key, flow in scenario.flows():
        if flow.label_noise and not scenario.loss.of_any_target:
            only = f'not with loss.kind = "{scenario.loss.kind}", whose targets are labels'
            yield Broken(f"{key}.label_noise", only, ("loss.kind",))
        if flow.optimized and threshold is not None and not threshold.constant:
            given = "not where the threshold moves or its noise is drawn"
            asked = [f"{key}.{name}" for name in sorted(flow.of_optimizers)]
            asked += [f"{key}.method"] if flow.method in ADAM else []
            asked += [f"{key}.rates"] if flow.rates is not None else []
            yield from (Broken(one, given, ("model",)) for one in asked)


def _broken_function(scenario: Scenario, model: NetworkSection, given: str) -> Iterator[Broken]:
    """What functions of a tree of arrays cannot have. given: that it is not for these, in words."""
    reads = ("model.kind",)
    yield from _broken_size(scenario, model)
    for key, flow in scenario.flows():
        yield from _broken_general(key, flow, given, reads)
        goals = (name for name in flow.until.goals if STOPS[name].of_neurons)
        none = (
            f"{given}, whose neurons have no target clusters" if model.has_neurons else f"{given}, which has no neurons"
        )
        yield from (Broken(f"{key}.until.{name}", none, reads) for name in goals)
        if flow.clock == "loss" and model.output_degree is None:
            yield Broken(f"{key}.clock", '"loss" needs a homogeneous network of a known degree', ("model",))
    if scenario.evaluate.limit:
        yield Broken("evaluate.limit", given, reads)


def _broken_general(key: str, flow: Flow, given: str, reads: tuple[str, ...]) -> Iterator[Broken]:
    """What is for the fast road of two layers of neurons alone. given: what it is not for, in words."""
    asked = {
        "solver": ("kvaerno5", "tsit5, dopri5 or dopri8"),
        "coordinates": ("polar", '"cartesian"'),
        "engine": ("numba", '"diffrax"'),
    }
    yield from (
        Broken(f"{key}.{name}", f'"{bad}" is {given}; use {instead}', reads)
        for name, (bad, instead) in asked.items()
        if getattr(flow, name) == bad
    )


def _broken_size(scenario: Scenario, model: NetworkSection) -> Iterator[Broken]:
    """Products of as many trained arrays as `factors` says are to be floats."""
    init, factors = scenario.init, model.factors
    mixed = any(flow.precision == "mixed" for _, flow in scenario.flows())
    smallest = SMALLEST_MIXED if mixed else SMALLEST_PRODUCT
    if isinstance(init, Shape) and factors * math.log(init.scale) < math.log(smallest):
        tiny = f"with {factors} layers, products of the weights would be below {smallest:g}; use a larger scale"
        yield Broken("init.scale", tiny, ("model",))


def _broken_distance(scenario: Scenario) -> Iterator[Broken]:
    if scenario.evaluate.distance is None:
        return
    if scenario.loss.formulas.classes:
        only = "for networks with a single output, not one for each cluster"
        yield Broken("evaluate.distance", only, ("loss.kind",))
    if scenario.observe.snapshots == "none":
        needed = 'needs weights: use "ends", "all" or a number with evaluate.distance'
        yield Broken("observe.snapshots", needed, ("evaluate.distance",))
    if scenario.is_ensemble:
        yield Broken("evaluate.distance", "for a run of a single seed, not an ensemble", ("seed",))


def _broken_robustness(scenario: Scenario) -> Iterator[Broken]:
    wanted = scenario.evaluate.robustness
    if wanted is None:
        return
    if not scenario.loss.formulas.classes:
        of_classes = _or(name for name, loss in LOSSES.items() if loss.of_classes)
        only = f"only for loss.kind = {of_classes}, which gives every cluster an output"
        for index, name in enumerate(wanted.compare):
            if name in OF_OUTPUTS:
                yield Broken(f"evaluate.robustness.compare[{index}]", f'"{name}" is {only}', ("loss.kind",))
    if scenario.observe.snapshots == "none":
        needed = 'needs weights: use "ends", "all" or a number with evaluate.robustness'
        yield Broken("observe.snapshots", needed, ("evaluate.robustness",))
    if scenario.is_ensemble:
        yield Broken("evaluate.robustness", "for a run of a single seed, not an ensemble", ("seed",))


def _broken_smoothing(scenario: Scenario) -> Iterator[Broken]:
    if scenario.evaluate.smoothing is None:
        return
    if scenario.observe.snapshots == "none":
        needed = 'needs weights: use "ends", "all" or a number with evaluate.smoothing'
        yield Broken("observe.snapshots", needed, ("evaluate.smoothing",))
    if scenario.is_ensemble:
        yield Broken("evaluate.smoothing", "for a run of a single seed, not an ensemble", ("seed",))


def _broken_kkt(scenario: Scenario) -> Iterator[Broken]:
    """There is a KKT point to go to only for homogeneous networks and losses of margins."""
    flows = list(scenario.flows())
    asked = [(f"{key}.until.{name}", flow) for key, flow in flows for name in flow.until.goals if STOPS[name].of_limit]
    if scenario.evaluate.limit:
        asked.append(("evaluate.limit", flows[-1][1]))
    for key, flow in asked:
        if scenario.loss.formulas.tail is None:
            of_margins = _or(name for name, loss in LOSSES.items() if loss.of_margins)
            only = f'needs loss.kind = {of_margins}, not "{scenario.loss.kind}"'
            yield Broken(key, only, ("loss.kind",))
        model = scenario.model
        if model.formulas.degree is None and "activation" in type(model).model_fields:
            none = f"needs a homogeneous network, and {model.formulas.name} makes none"
            yield Broken(key, none, ("model.activation",))
        if model.common_threshold is not None:
            none = f'needs a homogeneous network, and model.kind = "{model.kind}" is none'
            yield Broken(key, none, ("model.kind",))
        if scenario.loss.regularizer.used:
            yield Broken(key, "needs a loss without a regularizer", ("loss.regularizer",))
        if flow.fresh or scenario.data.augmented or (isinstance(flow, Stage) and (flow.attack or flow.noise)):
            yield Broken(key, "needs a flow on the samples themselves, without attack, noise or fresh batches")
        if scenario.is_ensemble and key == "evaluate.limit":
            yield Broken(key, "is for a run of a single seed, not an ensemble", ("seed",))


def _broken_ensemble(scenario: Scenario) -> Iterator[Broken]:
    first = {seed: index for index, seed in reversed(list(enumerate(scenario.seeds)))}
    for index, seed in enumerate(scenario.seeds):
        if first[seed] < index:
            yield Broken(f"seed[{index}]", f"{seed} is named twice")
    shared = "the members of an ensemble, one for each seed, share the instants that are kept"
    if scenario.flow.until.time is None:
        yield Broken("flow.until", f"{shared}: beside its other conditions it needs time", ("seed",))
    for name in scenario.flow.until.watched(Watched.KEPT):
        yield Broken(f"flow.until.{name}", "is for a run of a single seed, not an ensemble", ("seed",))
    if scenario.observe.spacing == "solver":
        yield Broken("observe.spacing", f'{shared}; use "linear" or "log"', ("seed",))
    moving = scenario.flow.method == "sgd" or scenario.flow.fresh or not scenario.model.has_neurons
    moving = moving or scenario.model.common_threshold is not None
    if scenario.data.alike and not scenario.init.drawn and not moving:
        same = "with these data and weights the members of an ensemble would be one and the same; give a single seed"
        yield Broken("seed", same, ("data.kind", "init.shape"))
    if scenario.data.alike and scenario.data.test is not None and scenario.data.test.fraction is not None:
        own = "each member would split the table in its own way; give path, or run the seeds as a sweep"
        yield Broken("data.test.fraction", own, ("seed", "data.kind"))
    if scenario.evaluate.claims:
        yield Broken("evaluate.claims", "a run of a single seed is held against claims, not an ensemble", ("seed",))
