"""Numbers that words state, held against what comes out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal

#: What is stated as the size of an error may come out larger by this factor: it is made of rounding.
ERRORS = 1.5


def disagreeing(stated: Mapping[str, float]) -> Iterator[str]:
    """The numbers that are not what came out: more than 0.6 of their last digit apart. stated: as they are written -> the
    value."""
    for number, value in stated.items():
        digit = Decimal(number).as_tuple().exponent
        assert isinstance(digit, int)
        if not abs(float(number) - float(value)) <= 0.6 * 10.0**digit:
            yield f"{number} is stated, {float(value):.6g} came out"


def exceeded(stated: Mapping[str, float]) -> Iterator[str]:
    """The numbers that are stated as bounds of an error, and are not."""
    for number, value in stated.items():
        if not abs(float(value)) <= ERRORS * float(number):
            yield f"within {number} is stated, {float(value):.3g} came out"


def unwritten(stated: Mapping[str, float], words: str) -> list[str]:
    """The numbers that the words do not have."""
    return [number for number in stated if not re.search(rf"(?<![\w.]){re.escape(number)}(?![\w]|\.\d)", words)]
