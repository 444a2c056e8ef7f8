"""flowsim embed"""

from __future__ import annotations

import argparse
from pathlib import Path

from ..durable import claimed
from ..errors import UsageError
from .terminal import say

SUFFIX = ".npz"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("result", metavar="RUN.nc", help="a result of flowsim run")
    parser.add_argument("--layer", required=True, metavar="NAME", help="the hidden layer whose features are written")
    parser.add_argument(
        "-o", "--output", required=True, metavar="FEATURES.npz", help='the file to write, for data.kind = "table"'
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an existing file")
    parser.add_argument(
        "--samples", choices=("train", "test"), default="train", help="which samples (default: %(default)s)"
    )
    parser.add_argument("--at", type=int, default=-1, help="which of the kept weights, from 0 on (default: the last)")
    parser.add_argument("--seed", type=int, help="the member of an ensemble")


def execute(options: argparse.Namespace) -> int:
    from ..evaluate.embedding import write_embedding

    output = Path(options.output)
    if output.suffix != SUFFIX:
        raise UsageError(f"{output}: the name of a table of features ends with {SUFFIX}")
    asked = {name: getattr(options, name) for name in ("layer", "samples", "at", "seed")}
    with claimed(output, options.overwrite):
        samples, features = write_embedding(options.result, output, **asked)
    say(f"{output}: {samples} samples, {features} features")
    return 0
