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
    from tinkbox.cli.command_line import parse

    try:
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
    from tinkbox.cli.output.printable import clean
    from tinkbox.model.errors import Invalid, Refusal

    try:
        return int(chosen.run(chosen) or DONE)
    except Refusal as refusal:
        print(clean(f"tinkbox: {refusal}"), file=sys.stderr)
        for problem in refusal.problems if isinstance(refusal, Invalid) else ():
            print(clean(f"  {problem}"), file=sys.stderr)
        return UNREACHABLE if type(refusal).__name__ == "Unreachable" else FAILED
