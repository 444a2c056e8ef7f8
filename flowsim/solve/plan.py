"""What will integrate a problem, and why: the meaning of every "auto" in [flow]."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np

from ..kinds.names import nearest
from ..kinds.stop import STOPS, Watched
from ..problem import Problem, Reduced
from ..scenario import Scenario
from ..scenario.flow import Stage
from .shares import UNSHARED, Shares, check_processes, shares
from .targets import target_cluster

#: engine -> its solvers
SOLVERS = {"diffrax": ("tsit5", "dopri5", "dopri8", "rkc2", "kvaerno5"), "numba": ("dopri5", "dop853", "rkc2")}
#: What "auto" puts behind pairs, numba's on the loss clock alone: this solver takes over where stability holds them back.
THEN_STIFF = "+rkc2"
AS_ASKED = "as the scenario says"
#: Whose iterations those without a compiled kernel are.
OPTAX = "optax's"
#: The clock of a flow that goes by time until the samples are separated, and by the loss clock from then on.
GOING_OVER = "time+loss"
#: Seconds of compiling: numba's are spent once on a machine, and counted over so many runs; diffrax's in every run.
#: What is compiled on this machine already is not asked: a scenario is integrated alike wherever it runs.
COMPILED_ONCE, RUNS, COMPILED_EACH_TIME = 6.0, 30, 0.5
#: By how many seconds diffrax is faster per operation, and evaluations of a typical run: benchmarks/engines.py.
GAIN, EVALUATIONS = 3e-12, 1000
#: Operations per evaluation up to which numba is the cheaper one, compiling included.
SMALL = (COMPILED_EACH_TIME - COMPILED_ONCE / RUNS) / (GAIN * EVALUATIONS)
COMPILES_ONCE = "what it needs is compiled once for a machine, not for every shape"
#: engine -> down to which tolerance its pair of order 5 takes less to an accuracy than that of order 8
LOW_ORDER_RTOL = {"diffrax": 1e-5, "numba": 1e-6}
#: Implicit solvers form a dense Jacobian: states beyond this many entries are refused.
IMPLICIT_LIMIT = 2000
#: What float32 products can give: a few times their rounding error.
MIXED_RTOL = 1e-6
#: From this tolerance on, their rounding is below a tenth of the error: benchmarks/precision.py.
AUTO_MIXED_RTOL = 1e-5
#: Below this norm the velocities of Cartesian weights, which are products with output weights as small, underflow.
SMALLEST_CARTESIAN = 1e-250


@dataclass(frozen=True, repr=False)
class Plan:
    """engine, solver, coordinates: never "auto". reasons: one sentence for each choice. warnings: what to be wary of.
    follows_sliding: whether the network has a kink and the engine follows its neurons along it. clock: "time", "loss" or
    GOING_OVER. reading: what the schedule's instants are named by, "time", "clock" or "log10_time". origin, iterations:
    time and iterations at which the flow begins, where others came before it. by_optax: whether descent is by optax's
    iterations, rather than compiled ones. shares: of the samples, on the engine diffrax. precision: "float64", "mixed"."""

    engine: str
    solver: str
    coordinates: str
    reasons: tuple[str, ...]
    warnings: tuple[str, ...]
    follows_sliding: bool = False
    clock: str = "time"
    reading: str = "time"
    origin: float = 0.0
    iterations: int = 0
    by_optax: bool = False
    shares: Shares = UNSHARED
    precision: str = "float64"

    def __repr__(self) -> str:
        told = (*self.reasons, *(f"warning: {warning}" for warning in self.warnings))
        return "\n  ".join((f"<flowsim Plan: {self.engine}, {self.solver}, {self.coordinates}>", *told))


def choose(scenario: Scenario, reduced: Reduced) -> Plan:
    """Resolve engine, solver and coordinates. Raises ScenarioError where what was asked for cannot work."""
    flow, problem = scenario.flow, reduced.problem
    _check_arrays(scenario, problem)
    check_processes(scenario)
    if flow.descends:
        return _descent(scenario, reduced)
    coordinates, why_coordinates = _coordinates(problem, flow.rates)
    if flow.coordinates != "auto":
        coordinates, why_coordinates = flow.coordinates, AS_ASKED
    engine, why_engine = _engine(scenario, reduced)
    if flow.engine != "auto":
        engine, why_engine = flow.engine, AS_ASKED
    clock, why_clock = _clock(scenario)
    solver, why_solver = _solver(engine, reduced, flow.rtol, clock)
    if flow.solver != "auto":
        solver, why_solver = flow.solver, AS_ASKED
    _check(scenario, engine, solver.removesuffix(THEN_STIFF), coordinates, reduced)
    precision, why_precision = _precision(scenario, engine, reduced, clock)
    if flow.precision != "auto":
        precision, why_precision = flow.precision, AS_ASKED
    shared = shares(scenario, reduced) if engine == "diffrax" else UNSHARED
    return Plan(
        engine=engine,
        solver=solver,
        coordinates=coordinates,
        reasons=(
            f"engine {engine}: {why_engine}",
            f"solver {solver}: {why_solver}",
            f"coordinates {coordinates}: {why_coordinates}",
            f"clock {clock}: {why_clock}",
            f"precision {precision}: {why_precision}",
            *shared.reasons,
        ),
        warnings=tuple(_warnings(scenario, engine, problem)),
        follows_sliding=engine == "numba" and not problem.activation.smooth,
        clock=clock,
        reading=reading(scenario, clock),
        shares=shared,
        precision=precision,
    )


def _check_arrays(scenario: Scenario, problem: Problem) -> None:
    """Raise ScenarioError where a learning rate, or a new draw, is of an array that is not there, or nothing would move."""
    flow = scenario.flow
    rates, redraw = flow.rates or {}, flow.redraw if isinstance(flow, Stage) else ()
    named = {f"flow.rates.{name}": name for name in rates} | {
        f"flow.redraw[{index}]": name for index, name in enumerate(redraw)
    }
    if not named:
        return
    from .function import network_of  # with JAX, which the fast road does without

    network = network_of(problem)
    unknown = {key: name for key, name in named.items() if not any(network.fits(leaf, name) for leaf in network.leaves)}
    if unknown:
        names = [leaf.name for leaf in network.leaves]
        allowed = f"unknown array; {{}}allowed: {', '.join(names)}"
        raise scenario.error(*((key, allowed.format(nearest(name, names))) for key, name in unknown.items()))
    if not any(network.rates(rates)):
        raise scenario.error(("flow.rates", "every array has the rate 0, so nothing would move"))


def reading(scenario: Scenario, clock: str) -> str:
    """What instants are named by. Without an end in time, that of the loss clock may be no float."""
    if clock == "time" or scenario.flow.until.time is not None or scenario.observe.listed:
        return "time"
    if scenario.observe.spacing == "log":
        return "log10_time"
    return "time" if clock == GOING_OVER else "clock"


def _clock(scenario: Scenario) -> tuple[str, str]:
    flow, model = scenario.flow, scenario.model
    if flow.clock != "auto":
        return flow.clock, AS_ASKED
    if not model.two_layers and model.output_degree is None:
        return "time", "the one for networks that are not known to be homogeneous"
    if isinstance(flow, Stage):
        return "time", "the one for stages"
    if model.common_threshold is not None:
        return "time", "the one for thresholds that change with time"
    if scenario.loss.regularizer.used:
        return "time", "a loss with a regularizer has no limit at infinity"
    if not scenario.loss.formulas.endless:
        return "time", f"{scenario.loss.kind} loss has no limit at infinity"
    late = next((goal for goal in flow.until.goals if STOPS[goal].late), None)
    if late is not None:
        return "loss", f"until names {late}, which falls like the logarithm of time"
    if flow.until.time is not None:
        return "time", "until names a time"
    return GOING_OVER, "time until all samples are on their own side; from then on all goes by its logarithm"


def _descent(scenario: Scenario, reduced: Reduced) -> Plan:
    """Descent is what it is: nothing is to be chosen, but it may be impossible."""
    flow, problem, samples = scenario.flow, reduced.problem, len(reduced.problem.targets)
    _check_aligns(scenario, reduced)
    if flow.batch is not None and flow.batch > samples and not flow.fresh:
        raise scenario.error(("flow.batch", f"{flow.batch} samples of {samples}; at most all of them"))
    if _underflows(problem):
        small = f"neurons of norm below {SMALLEST_CARTESIAN:g} cannot be resolved by descent"
        raise scenario.error(("init.scale", f'{small}; use a larger scale, or flow.method = "gradient_flow"'))
    by_optax = flow.optimized or not problem.compiled
    if by_optax and problem.two_layers and flow.precision == "mixed":
        raise scenario.error(("flow.precision", f'{OPTAX} iterations of neurons compute in "float64"'))
    if problem.two_layers and problem.uncompiled and scenario.model.common_threshold is not None:
        raise scenario.error(("loss.kind", f"there is no compiled kernel for {problem.uncompiled}, which this needs"))
    seen = f"{flow.batch} of {samples} samples" if flow.batch is not None else f"all {samples} samples"
    if flow.fresh:
        seen = f"{flow.batch} new samples"
    narrow = "the network" if by_optax else "matrix products"
    products = f", {narrow} in float32" if flow.precision == "mixed" else ""
    length = f"at most {round(flow.until.time / flow.step)}" if flow.until.time and flow.step else "any number of"
    return Plan(
        engine="descent",
        solver=flow.method,
        coordinates="cartesian",
        reasons=(
            f"engine descent: {OPTAX if by_optax else 'compiled'} iterations; time is step x iteration{products}",
            f"solver {flow.method}: {length} iterations of step {flow.step:g}, each over {seen}",
            "coordinates cartesian: descent moves the weights themselves",
        ),
        warnings=(),
        by_optax=by_optax,
        precision="mixed" if flow.precision == "mixed" else "float64",
    )


def _engine(scenario: Scenario, reduced: Reduced) -> tuple[str, str]:
    """What "auto" means for this problem."""
    flow, activation = scenario.flow, reduced.problem.activation
    if reduced.problem.network is not None:
        return "diffrax", "the one with networks that are functions of JAX"
    if flow.rates is not None:
        return "diffrax", "the one with rates"
    if reduced.problem.uncompiled:
        return "diffrax", f"there is no compiled kernel for {reduced.problem.uncompiled}"
    if scenario.model.common_threshold is not None:
        return "numba", "the one with thresholds that change with time"
    if isinstance(flow, Stage) and flow.attack is not None:
        return "numba", "the one with attacks"
    if flow.precision == "mixed":
        return "diffrax", "the one with mixed precision"
    if flow.shared:
        return "diffrax", "the one with devices and blocks"
    able = [engine for engine, solvers in SOLVERS.items() if flow.solver in ("auto", *solvers)]
    if len(able) == 1:
        return able[0], f"the one with {flow.solver}"
    if not activation.smooth:
        return "numba", f"{activation.name} has a kink, and only this engine follows sliding along it"
    if not _installed("diffrax"):
        return "numba", "diffrax is not installed"
    operations = reduced.operations
    if operations <= SMALL:
        return "numba", f"{operations / 1e6:.3g} Mflop per evaluation is little; {COMPILES_ONCE}"
    return "diffrax", f"the field is smooth and {operations / 1e6:.4g} Mflop per evaluation is much"


def _solver(engine: str, reduced: Reduced, rtol: float, clock: str) -> tuple[str, str]:
    problem = reduced.problem
    stiff, why_stiff = "", ""
    if engine == "numba" and clock != "time":
        stiff, why_stiff = THEN_STIFF, "; equalising margins are stiff, and then rkc2 takes over"
    if not problem.activation.smooth:
        pair = {"diffrax": "tsit5", "numba": "dopri5"}[engine]
        return pair + stiff, "the field has jumps, so a high order would not pay" + why_stiff
    if problem.network is not None and not problem.network.smooth:
        return "tsit5", "the network takes maxima or cases, where its gradient may jump"
    if engine == "diffrax" and (clock != "time" or reduced.operations > SMALL):  # or it would not pay its compiling
        stiff, why_stiff = THEN_STIFF, "; where stability holds it back, rkc2 takes over"
    low, high = {"diffrax": ("tsit5", "dopri8"), "numba": ("dopri5", "dop853")}[engine]
    if rtol >= LOW_ORDER_RTOL[engine]:
        return low + stiff, f"order 5 is cheaper down to rtol = {LOW_ORDER_RTOL[engine]:g}" + why_stiff
    return high + stiff, "the field is smooth and the tolerance tight" + why_stiff


def _precision(scenario: Scenario, engine: str, reduced: Reduced, clock: str) -> tuple[str, str]:
    """What "auto" means: float32 products where they are most of the cost, and their rounding is no part of the error."""
    rtol, operations = scenario.flow.rtol, reduced.operations
    if engine != "diffrax":
        return "float64", "the one of this engine"
    if not reduced.problem.two_layers or scenario.flow.rates is not None:
        return "float64", "float32 would be for the network as a whole, not for two products"
    if clock != "time":
        return "float64", "on the loss clock differences of large margins count"
    if rtol < AUTO_MIXED_RTOL:
        return "float64", f"below rtol = {AUTO_MIXED_RTOL:g} float32 products would be seen in the error"
    if operations <= SMALL:
        return "float64", f"{operations / 1e6:.3g} Mflop of products per evaluation are not most of its cost"
    return "mixed", f"products are most of the cost, and rounding of float32 is far below rtol = {rtol:g}"


def _installed(package: str) -> bool:
    return find_spec(package) is not None


def _coordinates(problem: Problem, rates: Mapping[str, float] | None) -> tuple[str, str]:
    if not problem.two_layers:
        return "cartesian", "only neurons with an output weight each have a polar form"
    if rates is not None:
        return "cartesian", "rates are those of the arrays themselves"
    if not problem.trained_output:
        return "cartesian", "with fixed output weights a neuron may pass through zero"
    weights = problem.weights
    power = problem.activation.homogeneity
    if power >= 2:
        return "polar", "neurons of a higher power take forever to reach zero"
    # |w|^2 - power v^2 is conserved (for tanh, while its neurons are small)
    if power > 0 and (weights.output_log + 0.5 * np.log(power) <= weights.log_norm).all():
        return (
            "polar",
            "no output weight outweighs its neuron at the start, which keeps neurons from passing through zero",
        )
    if weights.log_norm.min() < np.log(SMALLEST_CARTESIAN):
        return "polar", "the weights are too small for cartesian coordinates"
    return "cartesian", "a neuron that its output weight outweighs may pass through zero"


def _check(scenario: Scenario, engine: str, solver: str, coordinates: str, reduced: Reduced) -> None:
    size, problem = reduced.direction.size, reduced.problem
    _check_aligns(scenario, reduced)
    if isinstance(scenario.flow, Stage) and scenario.flow.attack is not None and not problem.activation.smooth:
        kink = (
            f"{problem.activation.name} has a kink, and attackers move samples across it; use gradient_descent or sgd"
        )
        raise scenario.error(("flow.method", kink))
    if engine == "diffrax" and not _installed("diffrax"):
        asked = {"flow.engine": scenario.flow.engine == "diffrax", "flow.precision": scenario.flow.precision == "mixed"}
        wanted = next((key for key, so in asked.items() if so), "flow.solver" if problem.two_layers else "model.kind")
        raise scenario.error((wanted, "needs diffrax, which is not installed; pip install diffrax"))
    attacked = isinstance(scenario.flow, Stage) and scenario.flow.attack is not None
    if problem.uncompiled and (engine == "numba" or attacked or scenario.model.common_threshold is not None):
        key = "flow.engine" if engine == "numba" else "flow.method" if attacked else "model.kind"
        raise scenario.error((key, f"there is no compiled kernel for {problem.uncompiled}, which this needs"))
    if engine == "numba" and scenario.flow.precision == "mixed":
        raise scenario.error(("flow.precision", 'the numba engine computes in "float64"; use flow.engine = "diffrax"'))
    if engine == "numba" and scenario.flow.shared:
        alone = 'the numba engine has all samples on one processor; only flow.engine = "diffrax" shares them'
        raise scenario.error(*((f"flow.{key}", alone) for key in scenario.flow.shared))
    if solver not in SOLVERS[engine]:
        raise scenario.error(
            ("flow.solver", f"the {engine} engine has {', '.join(SOLVERS[engine])}; {solver} is not among them")
        )
    if solver == "kvaerno5" and size > IMPLICIT_LIMIT:
        raise scenario.error(
            (
                "flow.solver",
                f"kvaerno5 forms a dense Jacobian and is for up to {IMPLICIT_LIMIT} weights; "
                f"this problem has {size} after reduction; use dopri8 or tsit5",
            )
        )
    if coordinates == "cartesian" and _underflows(problem):
        raise scenario.error(
            ("flow.coordinates", f"cartesian cannot resolve neurons of norm below {SMALLEST_CARTESIAN:g}; use polar")
        )


def _check_aligns(scenario: Scenario, reduced: Reduced) -> None:
    aligning = scenario.flow.until.watched(Watched.ALIGNMENT)
    if aligning and (target_cluster(reduced) < 0).all():
        none = "no neuron has a target cluster, so none can align"
        raise scenario.error(*((f"flow.until.{name}", none) for name in aligning))


def _underflows(problem: Problem) -> bool:
    """Whether Cartesian weights are too small."""
    return problem.trained_output and bool(problem.weights.log_norm.min(initial=0.0) < np.log(SMALLEST_CARTESIAN))


def _warnings(scenario: Scenario, engine: str, problem: Problem) -> Iterator[str]:
    flow = scenario.flow
    if flow.precision == "mixed" and flow.rtol < MIXED_RTOL:
        yield (
            f"precision mixed cannot keep rtol = {flow.rtol:g}: float32 products are good for about {MIXED_RTOL:g}. "
            "Steps will shrink to push rounding below the tolerance; use float64 or a larger rtol."
        )
    if engine == "diffrax" and not problem.activation.smooth:
        at = "<w_j, x_i> = 0" if problem.two_layers else "what a neuron sees is 0"
        followed = (
            "The numba engine follows them." if problem.two_layers else "No engine follows them above the first layer."
        )
        if problem.uncompiled:
            followed = f"No engine follows them without a compiled kernel for {problem.uncompiled}."
        yield (
            f"{problem.activation.name} has a kink, so the field jumps where {at}. This engine takes the "
            "derivative at the kink from the inactive side and does not follow sliding along such a boundary (Clarke's "
            "subdifferential): the solver may chatter with tiny steps, and trajectories near boundaries are approximate. "
            f"{followed}"
        )
