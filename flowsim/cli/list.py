"""flowsim list"""

from __future__ import annotations

import argparse

from ..scenario.shipped import shipped, title
from .common import add_json, print_json


def configure(parser: argparse.ArgumentParser) -> None:
    add_json(parser)


def execute(options: argparse.Namespace) -> int:
    titles = {name: title(file) for name, file in shipped().items()}
    if options.json:
        print_json({"scenarios": titles})
        return 0
    width = max(map(len, titles), default=0)
    for name, line in titles.items():
        print(f"{name:<{width}}  {line}")
    return 0
