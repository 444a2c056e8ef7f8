"""until.time"""

from ..section import Positive
from ..stop import STOPS, Stop, Watched

STOPS.register("time", Stop(Positive, "flow time", Watched.TIME))
