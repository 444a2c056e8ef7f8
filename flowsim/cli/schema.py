"""flowsim schema"""

from __future__ import annotations

import argparse

from ..scenario.schema import schema
from .common import print_json


def configure(parser: argparse.ArgumentParser) -> None:
    del parser  # the command takes no options


def execute(options: argparse.Namespace) -> int:
    del options
    print_json(schema())
    return 0
