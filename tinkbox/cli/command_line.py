"""The whole command line: the program's own flags, and the noun that is named (`nouns`)."""

import argparse
from collections.abc import Sequence
from importlib import import_module

from tinkbox.cli import read_process, render_process
from tinkbox.cli.flags import folder
from tinkbox.cli.nouns import NOUNS, version, worker

DESCRIPTION = "Takes machines from bare metal to installed system."
DATA = f"the data directory of an appliance on this host; with --worker, the worker's folder (default {worker.FOLDER})"


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The chosen command: `run` carries it out (`flags.carry_out`).

    Exits with status 2 when the command line is wrong.
    """
    words, command = command_apart(arguments)
    parser = command_line(words)
    chosen = parser.parse_args(words)
    if command and not hasattr(chosen, "command"):
        parser.error(f"what follows -- is a command to run, and {' '.join(words)} runs none")
    if hasattr(chosen, "command"):
        chosen.command = command
    if chosen.worker:
        chosen.run = worker.work
    if chosen.read_image:
        chosen.run = read_process.read
    return chosen


def command_line(words: Sequence[str]) -> argparse.ArgumentParser:
    """A parser for these words: no other noun than those among them is declared, nor its module imported."""
    parser = argparse.ArgumentParser(prog="tinkbox", description=DESCRIPTION, allow_abbrev=False)
    parser.set_defaults(run=lambda _: parser.print_help())
    parser.add_argument(
        "--version",
        action="store_const",
        const=version.show_version,
        dest="run",
        help="the same as `tinkbox version`",
    )
    parser.add_argument("--data", type=folder, metavar="DIR", help=DATA)
    # What the appliance starts to render a template apart from itself.
    parser.add_argument(
        "--render", action="store_const", const=render_process.render, dest="run", help=argparse.SUPPRESS
    )
    # What takes a disk image apart, apart from what was started by a person.
    parser.add_argument("--read-image", metavar="KIND", help=argparse.SUPPRESS)
    worker.add_flags(parser)
    nouns = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name, about in NOUNS.items():
        noun = nouns.add_parser(
            name,
            help=about,
            description=about,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        if name in words:
            import_module(f"tinkbox.cli.nouns.{name}").declare(noun)
    return parser


def command_apart(arguments: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """The arguments, and apart from them the command behind the first `--` of a verb of `breakpoint`.

    argparse would take the command's first word for one of the verb's own.
    """
    if "--" in arguments and "breakpoint" in arguments[: arguments.index("--")]:
        place = arguments.index("--")
        return arguments[:place], arguments[place + 1 :]
    return arguments, ()
