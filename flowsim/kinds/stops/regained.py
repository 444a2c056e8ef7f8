"""until.regained"""

from ..section import Positive
from ..stop import STOPS, Stop

STOPS.register(
    "regained",
    Stop(
        Positive,
        "`test_accuracy` and `robust_accuracy`, each over what it was where the first stages with an attacker ended, both "
        "reach this value at an instant that is kept",
        falls=False,
        regains=("test_accuracy", "robust_accuracy"),
    ),
)
