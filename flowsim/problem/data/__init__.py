"""Training data. A kind of data is one module here and one line in SOURCES."""

from . import gaussian_mixture, table
from .samples import Samples

#: data.kind -> function of the scenario that gives its Samples
SOURCES = {"gaussian_mixture": gaussian_mixture.draw, "table": table.read}

__all__ = ["SOURCES", "Samples"]
