"""until.log10_loss"""

from typing import Annotated

import numpy as np
from pydantic import Field

from ..stop import STOPS, Stop, Watched


def _natural(log10: float) -> float:
    return float(log10 * np.log(10))


STOPS.register(
    "log10_loss",
    Stop(
        Annotated[float, Field(allow_inf_nan=False)],
        "log10 of the training loss falls to this value",
        Watched.LOSS,
        level=_natural,
        late=True,
    ),
)
