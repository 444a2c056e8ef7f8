"""until.alignment"""

from typing import Annotated

from pydantic import Field

from ..stop import STOPS, Stop, Watched

STOPS.register(
    "alignment",
    Stop(
        Annotated[float, Field(gt=0, lt=1)],
        "every targeted neuron's cosine with its target centre reaches this value",
        Watched.ALIGNMENT,
        of_neurons=True,
    ),
)
