"""The command line: argparse, printing and exit statuses; the only floor that prints.

Each command imports what it needs when it runs, so that help and version stay quick.
"""

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

DONE, FAILED, UNREACHABLE, INTERRUPTED = 0, 1, 3, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status.

    0 done; 1 it failed, with one line that says what, why and what to do; 2 the command line was
    wrong; 3 the appliance cannot be reached.
    """
    try:
        from tinkbox.cli.command_line import parse

        try:
            return _run(parse(sys.argv[1:] if arguments is None else arguments))
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has had enough; what is left of it must not be missed at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE


def _run(chosen: "argparse.Namespace") -> int:
    from tinkbox.cli.output.printable import Times, times_look
    from tinkbox.cli.output.refusals import tell_refusal
    from tinkbox.model.errors import Refusal

    times_look(Times.GO if chosen.as_2020 else Times.UTC if chosen.utc else Times.LOCAL)
    try:
        if hasattr(chosen, "selects"):
            from tinkbox.cli.selection import take_selected

            take_selected(chosen)
        return int(chosen.run(chosen) or DONE)
    except Refusal as refusal:
        tell_refusal(refusal)
        return UNREACHABLE if type(refusal).__name__ == "Unreachable" else FAILED
