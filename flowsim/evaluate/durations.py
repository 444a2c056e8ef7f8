"""How long what [evaluate] asks for takes, before it is computed: to an order of magnitude, and rather too long."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..problem.operations import Part, Work
from ..scenario import Scenario
from ..scenario.evaluate import Robustness
from . import sphere
from .claim import CLAIMS, selected
from .density import SHOWN
from .evidence import TEST_SAMPLES
from .placements import STEPS as STEPS_OF_LASSO
from .requested import wanted
from .robustness import IDEALS, bounds, certified, exact
from .robustness.attacks import ATTACKS, STRONG
from .robustness.attacks.minimal import RAYS, STEPS, WALKS
from .robustness.attacks.target import HALVINGS, PLACES
from .robustness.attacks.targeted import GOALS, REFINED

#: Seconds of a step of an attack beside its operations.
BESIDE_ATTACK = 1e-4
#: Operations for each normal number that is drawn.
DRAWN = 50
#: Gradients that cutting a move short at the boundary takes: looks at the value alone, half of one each, by the half
#: of the samples that cross it.
SHORTENED = (PLACES + HALVINGS) / 4
#: Seconds that a proven radius of a sample takes, by a search and by a formula.
SEARCHED, EXACT = 0.2, 5e-3
#: Of the asymptotic flow: samples that support a margin, rather many; steps, and of each seconds beside its
#: operations; operations of its quadratic program over the third power of the samples.
SUPPORT, ASYMPTOTIC, STEP, INTERIOR = 200, 300, 3e-3, 40
#: Scales, and steps of a walk, that are enough as a rule.
SCALES, WALKED = sphere.ROUNDS / 3, STEPS / 2


def times(scenario: Scenario, work: Work) -> Iterator[Part]:
    """Each part of what is asked for, of one member; several may be of one name."""
    for name in wanted(scenario):
        yield from TIMES[name](scenario, work)


def _robustness(scenario: Scenario, work: Work) -> Iterator[Part]:
    asked = scenario.evaluate.robustness
    assert asked is not None
    classifiers, samples = 1.0 + len(asked.compare), float(asked.samples)
    of = "evaluate.robustness"
    radii = float(len(asked.radii))
    for attack in ATTACKS if STRONG in asked.attacks else asked.attacks:
        count, keys = _gradients_of(attack, asked)
        every = {f"{of}.samples": samples, f"{of}.radii": radii}
        yield _attack(work, "robustness", classifiers * count, samples, {**keys, **every})
    if STRONG in asked.attacks:
        again = classifiers * (len(ATTACKS) - 1) * WALKED * (1 + SHORTENED)
        yield _attack(work, "robustness", again, samples, {f"{of}.samples": samples})
    if asked.norm == "l2" and scenario.model.two_layers:
        yield _bounds(asked, work)


def _gradients_of(attack: str, asked: Robustness) -> tuple[float, dict[str, float]]:
    """(gradients at each sample, keys that multiply their number)"""
    of, radii, steps, starts = "evaluate.robustness", len(asked.radii), float(asked.steps), float(asked.restarts + 1)
    descent = {f"{of}.steps": steps}
    if attack == "fgm":
        return 2 * radii, {}
    if attack == "pgd":
        return radii * starts * (steps + 1), {**descent, f"{of}.restarts": starts}
    if attack == "targeted":
        return radii * (GOALS / 2 + REFINED * (steps + 1)), descent
    if attack == "universal":
        return radii * (steps + 2), descent
    walks = (GOALS + 4 * RAYS) * SHORTENED + (WALKS + 1) * WALKED * (1 + SHORTENED)
    return walks + steps / 2, descent


def _attack(work: Work, name: str, count: float, samples: float, keys: dict[str, float]) -> Part:
    """So many gradients at each of so many samples that are moved."""
    return work.part(name, count * samples * work.of_move, count * BESIDE_ATTACK, keys)


def _bounds(asked: Robustness, work: Work) -> Part:
    """Radii that are proven: by the bound of a ball again and again; of few samples and neurons by a search; of rules
    by a formula."""
    samples, classifiers = float(asked.samples), 1.0 + len(asked.compare)
    multiplier = (4 * work.span + 3 * certified.MULTIPLIER_HALVINGS) * work.span
    of_bound = 2 * certified.ITERATIONS * (2 * work.of_move + multiplier)
    operations = classifiers * samples * (certified.HALVINGS + certified.DOUBLINGS) * of_bound
    few = samples <= bounds.SEARCHED and work.first <= 2 * exact.FEW * work.features
    seconds = (SEARCHED if few else 0.0) + EXACT * sum(name in IDEALS for name in asked.compare)
    return work.part("robustness", operations, samples * seconds, {"evaluate.robustness.samples": samples})


def _smoothing(scenario: Scenario, work: Work) -> Iterator[Part]:
    asked = scenario.evaluate.smoothing
    assert asked is not None
    samples, copies = float(asked.samples), float(asked.draws + asked.select)
    keys = {f"evaluate.smoothing.{key}": float(getattr(asked, key)) for key in ("samples", "draws", "select")}
    operations = samples * copies * (work.of_one / 2 + DRAWN * work.features)
    yield work.part("smoothing", operations, samples * BESIDE_ATTACK, keys)


def _density(scenario: Scenario, work: Work) -> Iterator[Part]:
    asked = scenario.evaluate.density
    assert asked is not None
    ends, samples, penalties = 1.0 + len(scenario.stages), float(asked.samples), float(len(asked.penalties))
    steps = 1.0 if asked.attack == "fgm" else asked.steps + 1.0
    of = "evaluate.density"
    yield _attack(work, "density", ends * steps, samples, {f"{of}.samples": samples, f"{of}.steps": steps})
    # perturbations and inputs, each made of features again and again
    operations = ends * (samples * 2 * penalties + SHOWN) * STEPS_OF_LASSO * 2 * work.first
    yield work.part("density", operations, 0.0, {f"{of}.samples": samples, f"{of}.penalties": penalties})


def _features(scenario: Scenario, work: Work) -> Iterator[Part]:
    asked = scenario.evaluate.features
    assert asked is not None
    ends, layers = 1.0 + len(scenario.stages), len(asked.layers) or work.layers
    keys = {"steps": float(asked.steps), "starts": float(asked.starts), "units": float(asked.units)}
    count = ends * layers * keys["steps"]
    named = {f"evaluate.features.{key}": value for key, value in keys.items()}
    yield work.gradients("features", count, keys["starts"] * keys["units"], named)
    seen = min(float(asked.samples), work.samples)
    yield work.gradients("features", _kept(scenario), seen / 2, {"evaluate.features.samples": seen})


def _distance(scenario: Scenario, work: Work) -> Iterator[Part]:
    asked = scenario.evaluate.distance
    assert asked is not None
    instants = _kept(scenario) if asked.over_time else 1.0
    ascents = 2 * sphere.STEPS * 5 * sphere.STARTS + sphere.KEPT * sphere.REFINED
    operations = instants * SCALES * ascents * 2 * work.of_move
    key = "observe.snapshots" if asked.over_time else "evaluate.distance"
    yield work.part("distance", operations, 0.0, {key: instants})


def _limit(scenario: Scenario, work: Work) -> Iterator[Part]:
    """Each step of the asymptotic flow solves a quadratic program, with an unknown or two for a sample."""
    support = float(min(work.samples, SUPPORT))
    operations = INTERIOR * support**3 + 2 * work.operations
    yield work.part("limit", ASYMPTOTIC * operations, ASYMPTOTIC * STEP, {"evaluate.limit": 1.0})


def _claims(scenario: Scenario, work: Work) -> Iterator[Part]:
    """Most of them look at test samples once."""
    count = float(len(selected(CLAIMS, scenario.evaluate.claims)))
    yield work.gradients("claims", count, TEST_SAMPLES / 2, {"evaluate.claims": count})


def _kept(scenario: Scenario) -> float:
    """Instants whose weights are kept."""
    asked, times = scenario.observe.snapshots, scenario.observe.times
    if asked == "all":
        return float(times if isinstance(times, int) else len(times))
    return float(asked) if isinstance(asked, int) else 2.0


#: key of [evaluate] -> function of the scenario and its work
TIMES: dict[str, Callable[[Scenario, Work], Iterator[Part]]] = {
    "claims": _claims,
    "distance": _distance,
    "limit": _limit,
    "robustness": _robustness,
    "features": _features,
    "density": _density,
    "smoothing": _smoothing,
}
