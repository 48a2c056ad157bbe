"""The command line: argparse, printing and exit statuses; the only floor that prints.

Each command imports what it needs when it runs, so that help and version stay quick.
"""

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tinkbox.cli.exit_statuses import DONE, FAILED, INTERRUPTED, UNREACHABLE, UNREAD, WRONG

if TYPE_CHECKING:
    import argparse


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status (`exit_statuses`)."""
    from tinkbox.cli.done_so_far import begin
    from tinkbox.cli.interruptions.breaking_off import is_unwritten, tell, unwritten

    _have_streams()
    begin()
    try:
        from tinkbox.cli.command_line import parse

        try:
            return _run(parse(sys.argv[1:] if arguments is None else arguments))
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        if not is_unwritten(error):
            raise
        # Nearly always what our output goes to; what wrote a file names it (`Unavailable`).  What is left of the output
        # must not be missed at exit.
        _print_no_more()
        if text := unwritten(error):
            tell(text)
        return UNREAD if isinstance(error, BrokenPipeError) else FAILED


def _have_streams() -> None:
    """Have standard streams that take everything that is printed.

    Python has None for one that was closed: what would go to standard error goes nowhere, and what is printed cannot be written
    (EBADF), which is told.  Where the locale has no such letter there is a `?` on a terminal, for the columns stay, and an
    escape elsewhere.
    """
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")

    if sys.stdout.errors == "strict" and sys.stdout.encoding.lower() != "utf-8":
        sys.stdout.reconfigure(errors="replace" if sys.stdout.isatty() else "backslashreplace")  # type: ignore[union-attr]


def _print_no_more() -> None:
    """Have what is left of the output go nowhere: at exit Python writes it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(chosen: "argparse.Namespace") -> int:
    from tinkbox.cli.called_as import called_as, commands_begin
    from tinkbox.cli.output.printable import Times, times_look
    from tinkbox.cli.output.refusals import tell_refusal
    from tinkbox.model.errors import NotFound, Refusal

    times_look(Times.GO if chosen.as_2020 else Times.UTC if chosen.utc else Times.LOCAL)
    commands_begin(called_as(chosen))
    try:
        if hasattr(chosen, "selects"):
            from tinkbox.cli.selection import take_selected

            try:
                if not take_selected(chosen):
                    return DONE
            except NotFound as refusal:
                tell_refusal(refusal)
                return int(getattr(chosen, "selects_nothing", FAILED))
        return int(chosen.run(chosen) or DONE)
    except Refusal as refusal:
        from tinkbox.client.refusals import CutOff, Unreachable

        tell_refusal(refusal)
        return UNREACHABLE if isinstance(refusal, Unreachable) and not isinstance(refusal, CutOff) else FAILED
    except UnicodeEncodeError as error:
        # Python keeps the bytes of an argument, or of a variable, that are no text; only file names may have such.
        told = os.fsencode(str(error.object)).decode("ascii", "backslashreplace")
        print(f"tinkbox: {told} is not UTF-8, so nothing is called that", file=sys.stderr)
        return WRONG
