"""Training data. A kind of data is one module here and one line in SOURCES."""

from . import digits, gaussian_mixture, sparse_coding, table, xor
from .samples import Samples

#: data.kind -> function of (scenario, sibling, arrays) that gives the scenario's Samples. sibling: those of the same
#: scenario with another seed, from which to take what does not depend on the seed, or None: members of an ensemble read a
#: file once.
#: arrays: what to take in place of what the scenario's file holds, by name, or None.
SOURCES = {
    "gaussian_mixture": gaussian_mixture.draw,
    "xor": xor.draw,
    "sparse_coding": sparse_coding.draw,
    "digits": digits.draw,
    "table": table.read,
}

__all__ = ["SOURCES", "Samples"]
