"""What a paper states of a run: a number that is measured, its bound, and everything that the statement assumes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import xarray as xr

from ..arrays import Floats
from ..kinds import registries
from ..kinds.registry import Registry
from ..observe import Setting
from ..scenario import Scenario
from .evidence import Evidence

Origin = Literal["paper", "fitted", "chosen"]
Number = float | Callable[[Evidence], float]
#: A premise is met, and the end of a window reached, up to this relative error of rounding.
ROUNDING = 1e-9


def number(value: Number, evidence: Evidence) -> float:
    """A number, or what a function of the evidence makes of it"""
    return float(value(evidence) if callable(value) else value)


@dataclass(frozen=True)
class Premise:
    """An assumption of a statement as an inequality. name: the inequality in the paper's symbols, such as "D >= alpha^-2".
    value: of the left side in this run. at_least: whether `bound` is a lower bound.

    What spans orders of magnitude is better stated in logarithms, so that the margin says something.
    """

    name: str
    value: float
    bound: float
    at_least: bool = False

    @classmethod
    def fact(cls, name: str, true: bool) -> Premise:
        """What is so or not, such as "gradient flow": 1 or 0, and at least 1."""
        return cls(name, float(true), 1.0, at_least=True)

    @property
    def margin(self) -> float:
        """How far the value is on the right side of the bound; negative where the premise is not met."""
        if self.value == self.bound:
            return 0.0
        return self.value - self.bound if self.at_least else self.bound - self.value

    @property
    def met(self) -> bool:
        return self.margin >= -ROUNDING * max(abs(self.bound), abs(self.value) if math.isfinite(self.value) else 0.0)

    def __str__(self) -> str:
        return f"{self.name}: {self.value:.4g} {'>=' if self.at_least else '<='} {self.bound:.4g}"

    @property
    def refusal(self) -> str:
        """In words, where it is not met: by how much"""
        return f"{self.name}: {self.value:.4g}, off by {-self.margin:.4g} from {self.bound:.4g}"


@dataclass(frozen=True)
class Constant:
    """A number in a statement. origin: "paper" where the paper gives it, "chosen" where the paper leaves it open and
    flowsim takes one, "fitted" where the run says it. value: None of a fitted one that is the measured number itself, the
    least with which the statement holds."""

    name: str
    value: Number | None
    origin: Origin


@dataclass(frozen=True)
class Window:
    """The span that a statement speaks of, from begin to end on a clock. instants: what the run has kept on that clock.
    parts: in how many parts of equal length, at least, the instants have to divide the span. clock: its unit in words.

    A window of length 0 is a single instant, at which something has to be kept."""

    begin: float
    end: float
    instants: Floats
    parts: int = 10
    clock: str = "time"

    @classmethod
    def of(cls, evidence: Evidence, begin: float, end: float, parts: int = 10) -> Window:
        """On the clock of the run, in flow time"""
        return cls(begin, end, evidence.trajectory["time"].values, parts)

    @property
    def inside(self) -> Floats:
        """The kept instants in the window"""
        slack = ROUNDING * max(abs(self.begin), abs(self.end))
        return self.instants[(self.instants >= self.begin - slack) & (self.instants <= self.end + slack)]

    @property
    def gap(self) -> float:
        """The longest stretch of the window that has no instant within"""
        marks = np.concatenate([[self.begin], np.clip(self.inside, self.begin, self.end), [self.end]])
        return float(np.diff(marks).max())

    @property
    def reached(self) -> bool:
        """Whether the run went on to the end of the window"""
        slack = ROUNDING * max(abs(self.begin), abs(self.end))
        return bool(len(self.instants)) and float(self.instants[-1]) >= self.end - slack

    @property
    def missing(self) -> str:
        """What is not covered, in words; "" where nothing is missing"""
        if not self.reached:
            last = float(self.instants[-1]) if len(self.instants) else math.nan
            return f"it speaks of {self}, and the run ends at {last:.4g}"
        if not len(self.inside):
            return f"it speaks of {self}, and nothing was kept there (see observe.times)"
        allowed = (self.end - self.begin) / self.parts
        if self.gap > allowed * (1 + 1e-6):
            there = f"{self.gap:.4g} of it are without a kept instant, more than {allowed:.4g}"
            return f"it speaks of {self}, and {there} (see observe.times)"
        return ""

    def __str__(self) -> str:
        """Such as "[71.5, 81.5] in time" """
        return f"[{self.begin:.4g}, {self.end:.4g}] in {self.clock}"


@dataclass(frozen=True)
class Rate:
    """What a claim says of a sweep: a number goes like a power of a swept key, or like its logarithm.

    over: the key. exponent: what is predicted. of: a number of the sweep's points, by default what the claim measures.
    one_sided: "at_least" or "at_most" where the prediction bounds the exponent on one side.
    """

    over: str
    exponent: float
    of: str = ""
    law: Literal["power", "log"] = "power"
    one_sided: Literal["", "at_least", "at_most"] = ""


def no_premises(evidence: Evidence) -> Iterable[Premise]:
    return ()


@dataclass(frozen=True)
class Claim:
    """A statement of a paper that bounds a number of a run; docs/claims.md says how one is written.

    where: its place in the paper. statement: as the paper prints it. measure: the number; it raises NotApplicable where the
    run has nothing to say, and NotCovered where it did not keep what the statement speaks of.
    bound: and at_least, whether it is a lower one. observables: what `measure` follows over time, so that it is kept.
    measures: what the number is, where the statement does not say it. premises: everything that the statement assumes and a
    run can be asked. constants: every constant in it. span: the window that it speaks of, where it speaks of one.
    trivial: what the number can never pass, whatever was trained; a bound beyond that says nothing. rates: what it says of
    sweeps. every_point: whether it is about every KKT point (`Evidence.kkt_point`), so that any can be asked.
    """

    where: str
    statement: str
    measure: Callable[[Evidence], float]
    bound: Number
    at_least: bool = False
    observables: tuple[str, ...] = ()
    measures: str = ""
    premises: Callable[[Evidence], Iterable[Premise]] = no_premises
    constants: tuple[Constant, ...] = ()
    span: Callable[[Evidence], Window] | None = None
    trivial: Number | None = None
    rates: tuple[Rate, ...] = ()
    every_point: bool = False

    def kept_by(self, measured: float, bound: float) -> bool:
        """Whether a number is on the right side of a bound; what is no number is not"""
        return measured >= bound if self.at_least else measured <= bound

    def prediction(self, bound: float) -> str:
        if math.isnan(bound):
            return ""
        if bound == math.nextafter(0.0, 1.0) and self.at_least:
            return "more than 0"
        return f"{'at least' if self.at_least else 'at most'} {bound:.4g}"


#: paper.theorem or paper.theorem.part -> Claim
CLAIMS: Registry[Claim] = registries.CLAIMS


def register_all(paper: str, claims: Mapping[str, Claim]) -> None:
    """Register a paper's claims; theorem or theorem.part -> Claim."""
    for name, claim in claims.items():
        CLAIMS.register(f"{paper}.{name}", claim)


def selected(claims: Mapping[str, Claim], names: Iterable[str]) -> dict[str, Claim]:
    """The claims that these names stand for: a paper, a theorem of it, or a part of a theorem."""
    wanted = tuple(names)
    return {
        name: claim
        for name, claim in claims.items()
        if any(name == chosen or name.startswith(f"{chosen}.") for chosen in wanted)
    }


def followed(scenario: Scenario) -> tuple[str, ...]:
    """The observables that a scenario's [evaluate] looks at: the sizes of the weights, and what each claim follows over
    time."""
    claims = selected(CLAIMS, scenario.evaluate.claims).values()
    names = [name for claim in claims for name in claim.observables]
    evaluate = scenario.evaluate
    if not claims and evaluate.distance is None and evaluate.robustness is None:
        return ()
    return tuple(dict.fromkeys(["log_norm", "output_weight", *names]))


def evidence_of(
    scenario: Scenario,
    setting: Setting,
    trajectory: xr.Dataset,
    say: Callable[[str], None] | None = None,
    companion: xr.Dataset | None = None,
) -> Evidence:
    """A run as claims see it. say: told how far what takes long is. companion: the trajectory of its companion, if it is
    certified."""
    other = None if companion is None else Evidence(scenario, setting, companion, scenario.flow.step, say=say)
    return Evidence(scenario, setting, trajectory, scenario.flow.step, say=say, companion=other)
