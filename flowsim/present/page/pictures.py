"""What layers of a network of images have learned, as pictures in the page."""

from __future__ import annotations

import base64
from html import escape
from importlib.util import find_spec
from io import BytesIO

from ...errors import FlowsimError
from ...kinds.data import DATA
from ...results.stored import keys_of
from ..kinds import KINDS, plot
from ..run import Run

#: The kind that a run has to have, and the others that are then shown, too.
FIRST = "filters"
OTHERS = ("correlations", "exciting_inputs", "active_units", "density", "reconstructions", "lottery", "purity")
#: Of any network, where samples are no draws around clusters that are known, and there are as many clusters.
OF_CLASSES, SEVERAL = ("class_cosines", "data_cosines"), 3
DOTS = 80


def pictures(run: Run) -> str:
    """Those kinds that the run has what it takes for; "" without Matplotlib."""
    if find_spec("matplotlib") is None:
        return ""
    found = _drawn(run, FIRST)
    kinds = (*(OTHERS if found else ()), *(OF_CLASSES if _of_real_classes(run) else ()))
    drawn = found + "".join(_drawn(run, kind) for kind in kinds)
    return f'<div class="grid">{drawn}</div>' if drawn else ""


def _of_real_classes(run: Run) -> bool:
    kind = DATA.get(keys_of(run.trajectory.attrs).get("data", {}).get("kind", ""))
    return kind is not None and not kind.drawn and run.trajectory.sizes.get("cluster", 0) >= SEVERAL


def _drawn(run: Run, kind: str) -> str:
    """ "" where the run lacks something."""
    try:
        axes = plot(run.first.source, kind, interactive=False)
    except FlowsimError:
        return ""
    written, figure = BytesIO(), axes.get_figure(root=True)
    assert figure is not None
    figure.savefig(written, dpi=DOTS, bbox_inches="tight")
    text, encoded = escape(KINDS[kind]), base64.b64encode(written.getvalue()).decode()
    image = f'<img src="data:image/png;base64,{encoded}" alt="{text}">'
    return f'<figure class="picture">{image}<figcaption>{text}</figcaption></figure>'
