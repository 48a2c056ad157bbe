"""How the program ends: declared once for the program, its help, the man pages and the page of commands."""

from typing import Final

DONE: Final = 0
FAILED: Final = 1
WRONG: Final = 2
UNREACHABLE: Final = 3
INTERRUPTED: Final = 130
BY_SIGNAL: Final = 128  # and the number of the signal
UNREAD: Final = BY_SIGNAL + 13  # as programs end that SIGPIPE ends
_HOW_FAR: Final = "of several things done one after the other, standard error says how many are done"
_FAILED: Final = (
    "it failed, and standard error says what, why and what to do; also: `doctor` finds a fault, `watch` and `--wait` see no "
    "success, `--diff` sees a difference"
)
ABOUT: Final = (
    (f"{DONE}", "it is done; also: `q` or Ctrl-C ends a list with --watch, or the view of `status`"),
    (f"{FAILED}", _FAILED),
    (f"{WRONG}", "the command line is wrong"),
    (f"{UNREACHABLE}", "the appliance cannot be reached"),
    (f"{INTERRUPTED}", f"Ctrl-C: what the appliance was asked to do by then goes on; {_HOW_FAR}"),
    (f"{UNREAD}", f"what reads its output, such as `head`, went away before all was written; {_HOW_FAR}"),
    (f"{BY_SIGNAL} + N", f"signal N ended it, such as {BY_SIGNAL + 15} for SIGTERM; `serve` ends with {DONE} then"),
)


def help_text() -> str:
    """Their part of the program's help."""
    from textwrap import fill

    width = max(len(status) for status, _ in ABOUT) + 4
    lines = (fill(f"  {status}".ljust(width) + about, 80, subsequent_indent=" " * width) for status, about in ABOUT)
    return "\n".join(("exit status:", *lines))
