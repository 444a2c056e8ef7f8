"""The machine: its memory, and what flowsim keeps there, compiled code and how long compiling took."""

from __future__ import annotations

import json
import math
import os
import shutil
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


def available() -> float:
    """Bytes of memory that this process may still take: what the system has available, and what is left of the limits that
    were set to the process and to its control group."""
    return max(min(_system_has(), _group_leaves(), _process_leaves()), 0.0)


def free(place: Path) -> float:
    """Bytes that are free on the disk of a folder; inf where the system does not tell."""
    try:
        return float(shutil.disk_usage(place).free)
    except (OSError, ValueError):
        return math.inf


def _system_has() -> float:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        told = next(line for line in lines if line.startswith("MemAvailable:"))
        return 1024.0 * int(told.split()[1])
    except (OSError, ValueError, StopIteration):
        return memory()


def _group_leaves() -> float:
    group = Path("/sys/fs/cgroup")
    try:
        most, taken = ((group / name).read_text(encoding="ascii").strip() for name in ("memory.max", "memory.current"))
        return math.inf if most == "max" else float(int(most) - int(taken))
    except (OSError, ValueError):
        return math.inf


def _process_leaves() -> float:
    try:
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        if most == resource.RLIM_INFINITY:
            return math.inf
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        return float(most - pages * os.sysconf("SC_PAGE_SIZE"))
    except (ImportError, OSError, ValueError):
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
