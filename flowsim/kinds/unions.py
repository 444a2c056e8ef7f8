"""The sections of a scenario that are one of several kinds: their annotations, made of what is registered."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Union

from pydantic import Field

from .data import DATA
from .inits import INITS
from .losses import LOSSES
from .networks import NETWORKS
from .registry import Registry
from .section import Section

#: The registries that sections of a scenario are made of.
SORTS: dict[str, Registry[Any]] = {"data": DATA, "model": NETWORKS, "init": INITS, "loss": LOSSES}


def annotation(section: str) -> Any:
    """What stands at a section: one of the kinds, told by their tags. Kinds that have variants of their own, which another
    tag tells, are unions within it."""
    if section != "model":
        return _union(SORTS[section].values())
    families = (kind.variants() for kind in NETWORKS.values())
    return _union(_nested(variants) for variants in families)


def _nested(variants: tuple[type[Section], ...]) -> Any:
    if len(variants) == 1:
        return variants[0]
    return Annotated[_union(variants), Field(discriminator=variants[0].TAG)]


def _union(members: Iterable[Any]) -> Any:
    return Union[tuple(members)]  # noqa: UP007
