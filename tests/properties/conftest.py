"""Properties may take as long as they take: no example is slow, only machines are."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("flowsim")
settings.load_profile("flowsim")
