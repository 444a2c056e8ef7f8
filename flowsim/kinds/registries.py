"""The registries of kinds that live higher up in the house, for those below who name them."""

from __future__ import annotations

from typing import Any

from .registry import Registry


class Claims(Registry[Any]):
    """Claims are named by paper.theorem or paper.theorem.part; a scenario names a paper, or one of its theorems."""

    def _words(self) -> tuple[str, ...]:
        theorems = [name.split(".")[:2] for name in self]
        return tuple(dict.fromkeys(".".join(theorem[:count]) for theorem in theorems for count in (1, 2)))

    def _named(self, word: str) -> tuple[str, ...]:
        if word not in self._words():
            return ()
        return tuple(name for name in self if name == word or name.startswith(f"{word}."))


#: name -> flowsim.observe.Observable
OBSERVABLES: Registry[Any] = Registry(
    "observable", "flowsim.observe.kinds", ("observe.variables", "sweep.trajectories")
)
#: name -> flowsim.evaluate.claim.Claim
CLAIMS: Registry[Any] = Claims("claim", "flowsim.papers", ("evaluate.claims",))
