"""Which parts of the engine a problem needs: no others are compiled for it.

Compiled code asks the constants; `compiled.specialised` makes a copy of it for each regime, in which they have its values.
"""

from __future__ import annotations

from typing import NamedTuple

from ...kinds.kernel import SYMMETRIC
from .layout import NO_ATTACK, Network
from .tableau import Solver

#: Whether there are gates, steps of rkc2, a loss clock now or later, and what feature purification has: attackers,
#: thresholds, noise.
WITH_GATES = WITH_CHEBYSHEV = WITH_LOSS_CLOCK = WITH_PURIFICATION = True


def purifies(network: Network) -> bool:
    return network.attack != NO_ATTACK or network.activation == SYMMETRIC


class Regime(NamedTuple):
    """The constants' values for a problem."""

    gates: bool
    chebyshev: bool = False
    loss_clock: bool = False
    purification: bool = False

    @classmethod
    def of(cls, network: Network, solver: Solver, loss_clock: bool) -> Regime:
        return cls(network.kinked, solver.late.chebyshev, loss_clock, purifies(network))

    @property
    def name(self) -> str:
        return "_".join(part for part, needed in self._asdict().items() if needed) or "smooth"

    @property
    def constants(self) -> dict[str, bool]:
        return {f"WITH_{part.upper()}": needed for part, needed in self._asdict().items()}
