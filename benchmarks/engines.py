"""Which engine is faster on what size: seconds to the first step, and per evaluation, of smooth problems of growing size.

    python benchmarks/engines.py [--rounds 3] [--quick]

Each measurement is a process of its own with warm caches; of its chunks of steps, and of the rounds, the fastest counts.
An evaluation of the field takes 4 n r m operations in two matrix products, for n samples, r coordinates and m neurons.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import time
from contextlib import nullcontext
from typing import Any

from tables import machine, say, text_table

SCENARIO = """
seed = 0

[data]
positive = 5
negative = 5
noise = { total = 0.1 }

[model]
activation = "prelu"
degree = 3

[init]
scale = 1e-7

[flow]
coordinates = "polar"
until = { time = 1e4 }
"""
#: samples, dimension, neurons
SIZES = (
    (100, 50, 50),
    (250, 100, 50),
    (500, 100, 100),
    (1000, 125, 100),
    (1250, 200, 100),
    (2000, 250, 100),
    (2500, 500, 100),
    (2500, 1000, 100),
    (5000, 1000, 100),
    (6250, 1000, 200),
)
QUICK = 4
#: name -> engine, and whether BLAS may use several threads
WAYS = {"numba": ("numba", False), "numba, BLAS threads": ("numba", True), "diffrax": ("diffrax", True)}
#: Evaluations of a typical run, for the totals.
TYPICAL = 1000
CHUNK_SECONDS, CHUNKS = 0.3, 8
#: Of a chunk, which begins at time 0: far fewer than the run has.
MOST_STEPS = 40
LIBRARIES = ("flowsim", "numpy", "numba", "jax", "diffrax")
COLUMNS = (
    "Mflop an evaluation",
    *(f"{way}: start, s" for way in WAYS if way != "numba, BLAS threads"),
    *(f"{way}: ms" for way in WAYS),
    f"{TYPICAL} evaluations: numba / diffrax",
)


def main() -> None:
    parser = argparse.ArgumentParser(description="which engine is faster on what size")
    parser.add_argument("--rounds", type=int, default=3, help="processes for each measurement (default: 3)")
    parser.add_argument("--quick", action="store_true", help="the smaller sizes only, once")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(SIZES[int(options.measure[0])], *WAYS[options.measure[1]])))
        return
    rows = []
    for place, (samples, dimension, neurons) in enumerate(SIZES[: QUICK if options.quick else None]):
        operations = 4 * samples * dimension * neurons
        found = {}
        for way in WAYS:
            say(f"{operations / 1e6:g} Mflop: {way}")
            rounds = [_measured(place, way) for _ in range(1 if options.quick else options.rounds)]
            found[way] = {name: min(each[name] for each in rounds) for name in rounds[0]}
        total = {way: each["start"] + TYPICAL * each["evaluation"] for way, each in found.items()}
        best = min(total["numba"], total["numba, BLAS threads"])
        rows.append(
            (
                f"{operations / 1e6:g}",
                *(f"{found[way]['start']:.2f}" for way in ("numba", "diffrax")),
                *(f"{1e3 * found[way]['evaluation']:.3f}" for way in WAYS),
                f"{best / total['diffrax']:.2f}",
            )
        )
    print(*machine(LIBRARIES), "", *text_table(COLUMNS, rows), sep="\n")


def _measured(place: int, way: str) -> dict[str, float]:
    begun = time.time()
    command = [sys.executable, __file__, "--measure", str(place), way]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return {"start": found["ready"] - begun, "evaluation": found["evaluation"]}


def measure(size: tuple[int, int, int], engine: str, threads: bool) -> dict[str, float]:
    """ready: when the first step was done; evaluation: seconds of one, in the fastest chunk."""
    import flowsim
    from flowsim.run.prepare import Prepared
    from flowsim.solve import make
    from flowsim.threads import one_blas_thread

    samples, dimension, neurons = size
    overrides = {"data.samples": samples, "data.dimension": dimension, "model.width": neurons, "flow.engine": engine}
    scenario = flowsim.loads(SCENARIO, overrides=overrides)
    prepared = Prepared(scenario)
    integrator: Any = make(scenario, prepared.reduced, prepared.plan)
    with nullcontext() if threads else one_blas_thread():
        integrator.report(integrator.advance(integrator.begin(), math.inf, 1))
        ready, attempts, best = time.time(), 1, math.inf
        for _ in range(CHUNKS):
            carry = integrator.begin()
            before, begun = integrator.report(carry).evaluations, time.perf_counter()
            evaluations = integrator.report(integrator.advance(carry, math.inf, attempts)).evaluations - before
            seconds = time.perf_counter() - begun
            best = min(best, seconds / evaluations)
            attempts = min(max(1, math.ceil(attempts * CHUNK_SECONDS / seconds)), MOST_STEPS)
    return {"ready": ready, "evaluation": best}


if __name__ == "__main__":
    main()
