"""The memory that a run of many samples and neurons takes, whose pre-activations alone would take more than there is.

    python benchmarks/memory.py [--samples 1000000] [--neurons 1000] [--dimension 20] [--block auto] [--table]

A run of a single step is started as a process of its own, whose peak of resident memory is told at its end. With --table
its samples are in `.npy` files, which stay on the disk. A minute or two of processor time at full size, nearly all of it
for the products and activations of ten passes through the samples.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tables import claim, machine, text_table

#: What is asked for at full size.
GIGABYTES = 4.0
FULL = 10**6 * 1000
COLUMNS = ("until", "peak, MiB", "processor seconds")


def peak() -> float:
    """Of this process, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measured(samples: int, neurons: int, dimension: int, block: int | str, table: bool) -> dict[str, Any]:
    """What a process of its own tells."""
    command = [
        sys.executable,
        __file__,
        "--alone",
        "--samples",
        samples,
        "--neurons",
        neurons,
        "--dimension",
        dimension,
    ]
    command += ["--block", block, *(["--table"] if table else [])]
    told = subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout
    return dict(json.loads(told.splitlines()[-1]))


def alone(samples: int, neurons: int, dimension: int, block: int | str, table: bool) -> dict[str, Any]:
    """Run it here. Name of a moment -> (peak until then, processor seconds until then); evaluations, blocks."""
    import numpy as np

    import flowsim
    from flowsim.run.prepare import Prepared

    found: dict[str, Any] = {}

    def note(moment: str) -> None:
        found[moment] = peak(), time.process_time()

    with TemporaryDirectory() as folder:
        data: dict[str, Any] = {"samples": samples, "dimension": dimension, "positive": 1, "negative": 1}
        if table:
            generator, inputs = np.random.default_rng(0), Path(folder) / "x.npy"
            mapped = np.lib.format.open_memmap(inputs, "w+", float, (samples, dimension))
            for begin in range(0, samples, 10_000):
                mapped[begin : begin + 10_000] = generator.standard_normal(
                    (len(mapped[begin : begin + 10_000]), dimension)
                )
            np.save(inputs.with_name("y.npy"), np.sign(mapped[:, 0]))
            del mapped
            data = {"kind": "table", "path": str(inputs)}
        flow = {"engine": "diffrax", "solver": "tsit5", "block": block, "until": {"time": 1e-3}}
        sections = {"data": data, "model": {"width": neurons}, "init": {"scale": 1e-3}, "flow": flow}
        scenario = flowsim.Scenario({**sections, "observe": {"times": 2}})
        note("imports")
        prepared = Prepared(scenario)
        found["blocks"] = prepared.plan.shares.block
        note("the problem is reduced")
        del prepared
        tree = flowsim.run(scenario, Path(folder) / "run.nc", progress=False)
        note("the result is written")
    found["evaluations"] = int(tree["numerics"]["evaluations"].values[-1])
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=10**6)
    parser.add_argument("--neurons", type=int, default=1000)
    parser.add_argument("--dimension", type=int, default=20)
    parser.add_argument("--block", type=lambda text: text if text == "auto" else int(text), default="auto")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    sizes = asked.samples, asked.neurons, asked.dimension, asked.block, asked.table
    if asked.alone:
        print(json.dumps(alone(*sizes)))
        return 0
    found = measured(*sizes)
    blocks, evaluations = found.pop("blocks"), found.pop("evaluations")
    for line in (
        *machine(("flowsim", "numpy", "jax", "jaxlib")),
        f"{asked.samples} samples, {asked.neurons} neurons, {asked.dimension} dimensions; in blocks of {blocks or 'all'}",
        *text_table(COLUMNS, [(name, f"{mib:.0f}", f"{seconds:.1f}") for name, (mib, seconds) in found.items()]),
    ):
        print(line)
    most = found["the result is written"][0] / 1024
    everything = 8 * asked.samples * asked.neurons / 2**30
    words = f"a run of {evaluations} evaluations takes {most:.2f} GiB, all pre-activations would take {everything:.2f}"
    if asked.samples * asked.neurons < FULL:
        print(words)
        return 0
    print(claim(f"{words}; at most {GIGABYTES:g}", most <= GIGABYTES))
    return 0 if most <= GIGABYTES else 1


if __name__ == "__main__":
    sys.exit(main())
