"""until.kkt"""

from ..section import Positive
from ..stop import STOPS, Stop

STOPS.register(
    "kkt",
    Stop(
        Positive,
        "the residual of the KKT conditions, `kkt_residual`, falls to this value at an instant that is kept",
        observable="kkt_residual",
        late=True,
        of_limit=True,
    ),
)
