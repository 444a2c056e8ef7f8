"""What those who draw data and weights ask of a scenario."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import ScenarioError

if TYPE_CHECKING:
    from .data import DataSection
    from .inits import InitSection
    from .losses import LossSection
    from .network import Handed
    from .networks import NetworkSection


class Drawing(Protocol):
    """A scenario, as a kind sees it."""

    @property
    def data(self) -> DataSection: ...

    @property
    def init(self) -> InitSection: ...

    @property
    def model(self) -> NetworkSection: ...

    @property
    def loss(self) -> LossSection: ...

    @property
    def handed(self) -> Handed | None:
        """The network that Python has handed over."""

    @property
    def single_seed(self) -> int:
        """What random streams start from: ``stream(scenario.single_seed, "data.noise")``."""

    @property
    def distribution_seed(self) -> int:
        """What those start from of which all that is the same for all samples is drawn, such as centres."""

    @property
    def folder(self) -> Path:
        """What relative paths start from."""

    @property
    def files(self) -> Mapping[str, Path]:
        """The files that the scenario names, by their keys."""

    def arrays(self, name: str) -> Mapping[str, Any] | None:
        """What the section of this name has with it in place of a file; None where it reads the file."""

    def error(self, *problems: tuple[str, str]) -> ScenarioError:
        """An error about these keys, as (dotted key, message) pairs."""
