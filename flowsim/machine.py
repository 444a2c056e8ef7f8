"""The machine: its memory, and what flowsim keeps there, compiled code and how long compiling took."""

from __future__ import annotations

import json
import math
import os
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile

#: The environment variable that names the folder.
VARIABLE = "FLOWSIM_CACHE"


def folder() -> Path:
    """FLOWSIM_CACHE, or flowsim's own in the user's cache folder. It can be deleted at any time, and many processes may
    use it at once."""
    asked = os.environ.get(VARIABLE)
    if asked:
        return Path(asked).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("flowsim", appauthor=False)


def memory() -> float:
    """Bytes of memory of this machine; inf where the system does not tell."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return math.inf


def writable(place: Path) -> bool:
    """Whether files can be made in a folder, which is made where it does not exist."""
    try:
        place.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=place):
            return True
    except OSError:
        return False


def measured() -> dict[str, float]:
    """name -> the processor seconds that compiling it took here the last time."""
    try:
        found = json.loads(_times().read_text(encoding="utf-8"))
        return {str(name): float(seconds) for name, seconds in found.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def remember(name: str, seconds: float) -> None:
    """For `measured`; nothing where nothing can be kept."""
    aside = _times().with_name(f"seconds.json.{os.getpid()}")
    with suppress(OSError):
        aside.parent.mkdir(parents=True, exist_ok=True)
        aside.write_text(json.dumps({**measured(), name: round(seconds, 2)}, indent=1), encoding="utf-8")
        os.replace(aside, _times())


def _times() -> Path:
    return folder() / "seconds.json"
