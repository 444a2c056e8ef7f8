"""flowsim completion"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from ..scenario.shipped import shipped


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "shell",
        choices=("bash", "zsh", "fish", "tcsh", "powershell"),
        help='the shell; in bash, eval "$(flowsim completion bash)" tries it out',
    )


def execute(options: argparse.Namespace) -> int:
    import shtab

    from . import COMMANDS, parser_of

    parser, _ = parser_of(*COMMANDS)
    for action in _arguments(parser):
        metavar = action.metavar if isinstance(action.metavar, str) else ""
        if "." in metavar and "=" not in metavar:  # such as RUN.nc
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif metavar == "DIR":
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
        elif metavar == "NAME":
            action.choices = [*shipped()]
    print(shtab.complete(parser, options.shell))
    return 0


def _arguments(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Those of all commands."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _arguments(command)
        else:
            yield action
