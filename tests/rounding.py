"""The suite as other processors round: `python tests/rounding.py [--short] [NAME …] [-- pytest's arguments]`.

Each rounding has the kernels of another processor in BLAS, NumPy, XLA and Numba, its own number of threads, its own draws
of hypothesis, and caches of its own. One that this processor has no instructions for is left out, and said to be.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: What a short run tries: files in which most of what rounds differently is looked at closely.
SHORT = (
    "tests/properties",
    "tests/unit/solve/test_restart.py",
    "tests/unit/observe",
    "tests/unit/problem",
    "tests/unit/evaluate/test_radii.py",
    "tests/conformance/test_exactness.py",
    "tests/conformance/test_limit.py",
)


@dataclass(frozen=True)
class Rounding:
    """blas, numba: names of the processor there. xla: the highest instruction set of XLA. numpy: the features that NumPy
    may have, beyond those that it is built on. threads: of BLAS and Numba. seed: of hypothesis. needs: flags of Linux."""

    blas: str
    numba: str
    xla: str
    numpy: tuple[str, ...]
    threads: int
    seed: int
    needs: frozenset[str]

    def environment(self, cache: Path) -> dict[str, str]:
        threads, without = str(self.threads), numpy_features() - {*self.numpy}
        return {
            **os.environ,
            "OPENBLAS_CORETYPE": self.blas,
            "OPENBLAS_NUM_THREADS": threads,
            "NUMBA_CPU_NAME": self.numba,
            # without these, Numba takes the name of the one and the instructions of the other
            "NUMBA_CPU_FEATURES": "",
            "NUMBA_NUM_THREADS": threads,
            "XLA_FLAGS": f"--xla_cpu_max_isa={self.xla}",
            "FLOWSIM_CACHE": str(cache),
            **({"NPY_DISABLE_CPU_FEATURES": " ".join(sorted(without))} if without else {}),
        }


AVX2 = frozenset({"avx2", "fma"})
ROUNDINGS = {
    "nehalem": Rounding("Nehalem", "nehalem", "SSE4_2", (), 1, 1, frozenset({"sse4_2"})),
    "sandybridge": Rounding("Sandybridge", "sandybridge", "AVX", (), 2, 2, frozenset({"avx"})),
    "haswell": Rounding("Haswell", "haswell", "AVX2", ("X86_V3",), 1, 3, AVX2),
    "skylakex": Rounding(
        "SkylakeX",
        "skylake-avx512",
        "AVX512",
        ("X86_V3", "X86_V4"),
        2,
        4,
        AVX2 | {"avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512cd"},
    ),
}


def numpy_features() -> set[str]:
    """What NumPy chooses by at run time, and this processor has."""
    import numpy

    return {*numpy.show_config(mode="dicts")["SIMD Extensions"]["found"]}


def processor_flags() -> set[str]:
    if platform.machine() != "x86_64":
        return set()
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return {*next(line for line in lines if line.startswith("flags")).partition(":")[2].split()}


def main(arguments: list[str]) -> int:
    end = arguments.index("--") if "--" in arguments else len(arguments)
    own, passed = arguments[:end], arguments[end + 1 :]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(ROUNDINGS)}; all without a name")
    parser.add_argument("--short", action="store_true", help="a choice of the tests")
    asked = parser.parse_args(own)
    flags, failed = processor_flags(), []
    for name in asked.names or ROUNDINGS:
        rounding = ROUNDINGS[name]
        if missing := rounding.needs - flags:
            print(f"{name}: left out, this processor has no {', '.join(sorted(missing))}", flush=True)
            continue
        print(f"{name}: {rounding.threads} thread{'s' * (rounding.threads > 1)}, seed {rounding.seed}", flush=True)
        command = [sys.executable, "-m", "pytest", "-n", "auto", "-q", "--hypothesis-profile=drawn"]
        command += [f"--hypothesis-seed={rounding.seed}", *(SHORT if asked.short else ()), *passed]
        environment = rounding.environment(ROOT / "build" / "rounding" / name)
        if subprocess.run(command, cwd=ROOT, env=environment).returncode:
            failed.append(name)
    print(f"failed under {', '.join(failed)}" if failed else "passed under every rounding that was tried")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
