"""The stop conditions that flowsim has, one file each."""

from ..registry import import_modules

#: The order of the keys in `until`; any other key follows.
ORDER = ("time", "loss", "log10_loss", "alignment", "kkt", "regained", "steps")

import_modules(__name__, ORDER)
