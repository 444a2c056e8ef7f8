"""The command line. Each command is one module with `configure(parser)` and `execute(arguments) -> exit code`."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, TextIO

from ..signals import interrupt_on_signals
from .terminal import say

#: command -> one line of help; the module of the same name is imported only when the command is used
COMMANDS = {
    "run": "integrate a scenario and write its result",
    "check": "validate a scenario and say what would run",
    "list": "the scenarios that ship with flowsim",
    "new": "copy a shipped scenario to edit",
    "show": "a result as a page of text",
    "plot": "a picture of a result",
    "report": "a page that shows one result or several, for a browser",
    "compare": "runs of any width and kind beside each other, and how far their neurons are apart",
    "transfer": "whether perturbations of one network fool another one",
    "explore": "many KKT points of the margin problem of a scenario, as a dataset",
    "embed": "a trained network's features of its samples, to train on",
    "sweep": "many runs of a scenario on Dask, and one dataset of them",
    "warm": "compile ahead of time, for images of containers and for clusters",
    "schema": "the JSON Schema of a scenario, for editors",
    "completion": "a script that completes flowsim's words in a shell",
}

#: What stands below the list of commands.
EPILOG = """\
first steps:
  flowsim run quickstart        a scenario that ships with flowsim, such as this one
  flowsim new quickstart        a copy of it, to edit
  flowsim show quickstart.nc    what came out

exit codes:
  0  done
  2  a bad scenario, result or usage
  3  the integration failed; what was reached is in the file
  4  some points of a sweep failed
  5  something could not be written
  130  interrupted; --resume goes on

NO_COLOR=1 turns colours off. Every command has a --help of its own. The documentation is in docs/ of the
source, and `make docs` there builds its pages."""

#: The commands that read neither scenarios nor results: they need no plugins.
WITHOUT_PLUGINS = ("new", "warm", "completion")
#: The command that needs Dask.
ON_DASK = "sweep"
#: OpenBLAS's threads wait for work for 2^20 cycles, less than a millisecond, before they sleep. Left alone, they wait for
#: 2^26, and keep a second core busy after every product.
OPENBLAS_THREAD_TIMEOUT = "20"
#: The commands that show results, which may come from anywhere, and the options that name these.
SHOWING = {
    "show": ("result",),
    "plot": ("results",),
    "report": ("results",),
    "compare": ("results",),
    "transfer": ("a", "b"),
    "embed": ("result",),
}
#: The commands for which JAX may compile; what is kept of it: what took this many seconds, in so many bytes at most.
INTEGRATING = ("run", "sweep")
JAX_CACHE = {
    "PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": 0.1,
    "PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": -1,
    "COMPILATION_CACHE_MAX_SIZE": 2**30,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0 done, 2 bad scenario, result or usage, 3 failed integration, 4 points
    of a sweep failed, 5 something could not be written, 130 interrupted.

    arguments: by default those of the process, which is then the command's own to set up."""
    from ..errors import FULL, FlowsimError, NotWritten

    try:
        if arguments is None:
            interrupt_on_signals()
        code = _execute(sys.argv[1:] if arguments is None else arguments, alone=arguments is None)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except FlowsimError as error:
        say(str(error))
        return error.exit_code
    except MemoryError:
        say("there is not enough memory for this")
        return FlowsimError.exit_code
    except KeyboardInterrupt:
        say("interrupted")
        return 130
    except BrokenPipeError:  # who reads has enough
        _give_up(sys.stdout)
        return 0
    except OSError as error:
        say(f"{error.filename or 'standard output'}: {error.strerror}")
        _give_up(sys.stdout)
        return NotWritten.exit_code if error.errno in FULL else FlowsimError.exit_code
    finally:
        if arguments is None:
            gc.freeze()  # the process ends: a search for garbage among all modules would take it a seventh of a short run


def _execute(arguments: Sequence[str], alone: bool) -> int:
    """alone: whether the process is the command's own."""
    # not list(): the module of that command takes the name as soon as it is imported
    given = [*arguments]
    command = next((word for word in given if word in COMMANDS), None)
    if alone and command is not None:
        _set_up_process(command)  # some words are understood by what imports xarray
    parser, commands = parser_of(command)
    options = parser.parse_args(given)
    if options.command is None:
        parser.print_help()
        return 0
    for assignment in getattr(options, "limits", ()):
        from ..gate import set_limit

        set_limit(assignment)
    for path in getattr(options, "plugins", ()):
        from ..kinds.plugins import plugin

        plugin(path)
    return _executed(options, commands[options.command])


def _give_up(stream: TextIO) -> None:
    """Leave what a stream still holds unwritten, about which Python would complain as it ends."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def parser_of(*wanted: str | None) -> tuple[argparse.ArgumentParser, dict[str, Any]]:
    """(the parser of flowsim's words, command -> its module): with the options of these commands alone, as others are not
    imported."""
    parser = argparse.ArgumentParser(
        prog="flowsim",
        description="Simulates the gradient flow of neural networks.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version)
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    modules: dict[str, Any] = {}
    for name, line in COMMANDS.items():
        subparser = subparsers.add_parser(name, help=line, description=line, allow_abbrev=False)
        if name in wanted:
            modules[name] = import_module(f".{name}", __name__)
            modules[name].configure(subparser)
            if name not in WITHOUT_PLUGINS:
                _add_plugins_and_limits(subparser)
    return parser, modules


def _add_plugins_and_limits(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--plugin",
        dest="plugins",
        action="append",
        default=[],
        metavar="FILE.py",
        help="run a Python file that registers kinds of its own, first of all; may be repeated",
    )
    parser.add_argument(
        "--limit",
        dest="limits",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="give a bound on what is read and run another value, such as memory=64GiB; may be repeated",
    )


def _executed(options: argparse.Namespace, command: Any) -> int:
    if options.command not in SHOWING:
        return int(command.execute(options))
    from ..results.damage import reading

    named = [getattr(options, name) for name in SHOWING[options.command]]
    files = [file for given in named for file in ([given] if isinstance(given, str) else given)]
    with reading(*files):
        return int(command.execute(options))


def _set_up_process(command: str) -> None:
    """What is decided for a whole process, before NumPy, SciPy and xarray are imported."""
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", OPENBLAS_THREAD_TIMEOUT)
    if not sys.warnoptions:
        import warnings

        warnings.simplefilter("ignore")  # what a user is to know is said in words, not by NumPy in lines of its code
    if command != ON_DASK:
        # `import dask` fails: xarray would import it, with its arrays and its cluster, wherever it is installed, only to
        # ask of each array whether it is one of Dask's
        sys.modules.setdefault("dask", None)  # type: ignore[arg-type]
    if command in INTEGRATING:
        _keep_what_jax_compiles()


def _keep_what_jax_compiles() -> None:
    """In flowsim's folder on the machine, unless somebody has named another one. In a process of somebody else's, where
    JAX's settings are not flowsim's, it is kept where they say."""
    from ..machine import folder, writable

    place = folder() / "jax"
    if "JAX_COMPILATION_CACHE_DIR" not in os.environ and writable(place):
        settings = {"COMPILATION_CACHE_DIR": place, **JAX_CACHE}
        os.environ.update({f"JAX_{name}": str(value) for name, value in settings.items()})


class _Version(argparse.Action):
    def __init__(self, option_strings: Sequence[str], dest: str):
        super().__init__(option_strings, dest, nargs=0, help="the version of flowsim")

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from .. import __version__

        print(f"flowsim {__version__}")
        parser.exit()
