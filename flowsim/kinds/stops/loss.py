"""until.loss"""

import numpy as np

from ..section import Positive
from ..stop import STOPS, Stop, Watched

STOPS.register("loss", Stop(Positive, "training loss falls to this value", Watched.LOSS, level=np.log))
