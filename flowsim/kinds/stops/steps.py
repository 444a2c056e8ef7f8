"""until.steps"""

from ..section import Count
from ..stop import STOPS, Stop, Watched

STOPS.register("steps", Stop(Count, "accepted solver steps; beside other conditions, a budget", Watched.STEPS))
