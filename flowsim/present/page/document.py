"""The file that a page is: words and tables as HTML, the numbers that a script draws and the plotting library compressed
within it, nothing from elsewhere."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np

from ...errors import UsageError
from ...markup import escape

#: Numbers travel with so many significant digits, more than a screen can show.
DIGITS = 6
#: What is smaller is shown as 0: Plotly divides by it.
TINY = 1e-200


def document(title: str, heads: str, main: str, script: str, numbers: Mapping[str, Any], runs: int = 1) -> str:
    """The whole file.

    heads, main: HTML. script: the asset that draws, after drawing.js. numbers: what it unpacks, by the id; in JSON, so
    without arrays of NumPy, NaN and infinity. runs: how many columns the page has. Raises UsageError without Plotly.
    """
    texts = {key: json.dumps(value, allow_nan=False, separators=(",", ":")) for key, value in numbers.items()}
    return Template(_asset("page.html")).substitute(
        title=escape(title),
        style=_asset("page.css"),
        runs=runs,
        heads=heads,
        main=main,
        data="\n".join(_packed(key, text) for key, text in {**texts, "plotly": _plotly()}.items()),
        drawing=_asset("drawing.js"),
        script=_asset(script),
    )


def jsonable(value: Any, digits: int = DIGITS, tiny: float = TINY) -> Any:
    """The value as JSON can have it, numbers rounded to so many digits, and to 0 below `tiny`; what is not finite becomes
    None."""
    if isinstance(value, dict):
        return {key: jsonable(item, digits, tiny) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return jsonable(value.tolist(), digits, tiny)
    if isinstance(value, list | tuple):
        return [jsonable(item, digits, tiny) for item in value]
    if isinstance(value, float):
        if not np.isfinite(value):
            return None
        return float(f"{value:.{digits}g}") if abs(value) >= tiny else 0.0
    return value


def _plotly() -> str:
    """The source of plotly.js, as the Python package Plotly has it."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise UsageError("a report needs Plotly: pip install 'flowsim[report]'") from None
    return str(get_plotlyjs())


def _packed(key: str, text: str) -> str:
    """Text that drawing.js unpacks; nothing in it means anything to HTML."""
    packed = base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()
    return f'<script type="application/gzip" id="{key}">{packed}</script>'


def _asset(name: str) -> str:
    return files(__package__).joinpath("assets", name).read_text(encoding="utf-8")
