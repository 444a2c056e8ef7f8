"""How far a run's way through the package is: the quickstart from its TOML file to the page of its report, traced.

    python benchmarks/trace.py [--package FOLDER]

A change of folder is a call from a function in one folder of the package to one in another. They are counted as often as
they are made, and once for each pair of functions; files are those of which any function was called. A first run, which
imports what it needs, is not traced. FOLDER holds another version of the package, to be compared with.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(description="folder changes and files of a run from TOML to report")
    parser.add_argument("--package", type=Path, default=ROOT, help="the folder that holds flowsim (default: this one)")
    root = parser.parse_args().package.resolve()
    sys.path.insert(0, str(root))
    from flowsim.cli import main as flowsim

    package = f"{root / 'flowsim'}/"
    calls: Counter[tuple[CodeType, CodeType]] = Counter()
    files: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or not (here := frame.f_code.co_filename).startswith(package):
            return
        files.add(here)
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(package):
            caller = caller.f_back
        if caller is not None:
            calls[caller.f_code, frame.f_code] += 1

    with tempfile.TemporaryDirectory() as folder:
        for profile in (None, note):
            result, page = f"{folder}/run_{profile is note}.nc", f"{folder}/report_{profile is note}.html"
            sys.setprofile(profile)
            try:
                flowsim(["run", str(root / "scenarios" / "quickstart.toml"), "-o", result])
                flowsim(["report", result, "-o", page])
            finally:
                sys.setprofile(None)
    made, pairs = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for (one, other), count in calls.items():
        between = _folder(one, package), _folder(other, package)
        if between[0] != between[1]:
            made[between] += count
            pairs[between] += 1
    print(f"{made.total()} changes of folder, by {pairs.total()} pairs of functions in {len(files)} files")
    for (begin, end), count in made.most_common(12):
        print(f"{count:6}  {begin} -> {end}, by {pairs[begin, end]}")


def _folder(code: CodeType, package: str) -> str:
    """The folder of a function below the package, such as "solve/numba"; "" at its root."""
    return code.co_filename.removeprefix(package).rpartition("/")[0]


if __name__ == "__main__":
    main()
