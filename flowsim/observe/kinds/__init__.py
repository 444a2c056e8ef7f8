"""The observables that flowsim has, one file for each theme, each beside its formula."""

from ...kinds.registry import import_modules

#: Results hold their variables in this order of files; those of any other file follow.
ORDER = (
    "alignment",
    "norms",
    "losses",
    "accuracy",
    "margins",
    "masses",
    "gates",
    "balance",
    "coefficients",
    "regions",
    "xor",
    "features",
    "leaves",
    "sharpness",
    "tangent_kernel",
    "probes",
    "kkt",
)

import_modules(__name__, ORDER)
