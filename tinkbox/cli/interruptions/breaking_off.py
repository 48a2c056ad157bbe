"""A command that ends before it is done: its reader goes away, Ctrl-C is typed, or a signal tells it to end."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final, NoReturn

from tinkbox.cli.exit_statuses import BY_SIGNAL
from tinkbox.model.text import clean

_ENDS: Final = (signal.SIGTERM, signal.SIGHUP)


class EndedBySignal(SystemExit):
    """The process was told to end; `code` is its exit status."""


@contextmanager
def ended_in_order() -> Iterator[None]:
    """A signal that ends the process raises EndedBySignal meanwhile, so that what stands open is closed before."""
    if threading.current_thread() is not threading.main_thread():  # others are not told of signals
        yield
        return

    def end(number: int, _: FrameType | None) -> NoReturn:
        raise EndedBySignal(BY_SIGNAL + number)

    before = {number: signal.signal(number, end) for number in _ENDS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def told_how_far(so_far: Callable[[], str]) -> Iterator[None]:
    """Tell on standard error how far a command came that changes things, when it ends before it is done.

    `so_far` says it then; empty: there is nothing to say.  What ended the command is raised on: BrokenPipeError for a
    reader that went away, KeyboardInterrupt, or EndedBySignal.
    """
    try:
        with ended_in_order():
            yield
    except (BrokenPipeError, KeyboardInterrupt, EndedBySignal):
        if text := so_far():
            with suppress(OSError):  # who read standard error may have gone as well
                print(clean(f"tinkbox: {text}"), file=sys.stderr, flush=True)
        raise
