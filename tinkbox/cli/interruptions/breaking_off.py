"""A command that ends before it is done: its reader goes away, Ctrl-C is typed, or a signal tells it to end."""

import errno
import fcntl
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final, NoReturn

from tinkbox.cli.called_as import told
from tinkbox.cli.done_so_far import done_so_far
from tinkbox.cli.exit_statuses import BY_SIGNAL

FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
ENDS: Final = (signal.SIGTERM, signal.SIGHUP)


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

    before = {number: signal.signal(number, end) for number in ENDS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def told_how_far(so_far: Callable[[], str]) -> Iterator[None]:
    """Tell on standard error how far a command came that changes things, when it ends before it is done.

    `so_far` says it then; empty: there is nothing to say but what is known of all changes (`done_so_far`).  What ended the
    command is raised on: KeyboardInterrupt, EndedBySignal, or what `unwritten` tells of when it comes to the end of all.
    """
    try:
        with ended_in_order():
            yield
    except (KeyboardInterrupt, EndedBySignal):
        if text := so_far():
            tell(text)
        raise
    except OSError as error:
        if is_unwritten(error):
            done = done_so_far()
            done.far = done.far or so_far()
        raise


@contextmanager
def told_to_be_uncertain(what: str, again: str) -> Iterator[None]:
    """Tell on standard error that something may be done although no answer came, when a command that asks for it is ended; `again` is the way out."""
    with told_how_far(lambda: str(done_so_far()) or f"no answer came, and {what} all the same: {again}"):
        yield


def is_unwritten(error: OSError) -> bool:
    """Whether what is printed cannot be written: its reader went away, its disk is full, or it goes nowhere."""
    if error.errno == errno.EBADF:
        return _goes_nowhere()
    return isinstance(error, BrokenPipeError) or error.errno in FULL


def _goes_nowhere() -> bool:
    """Whether standard output was closed before the command began (`cli.main`), or is open for reading alone."""
    with suppress(OSError):  # it is no file
        return fcntl.fcntl(sys.stdout.fileno(), fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY
    return False


def unwritten(error: OSError) -> str:
    """What is told of a command that ended because what it prints cannot be written; empty: nothing is.

    What has changed something says how far it came, and never to type the same again.
    """
    done = done_so_far()
    if isinstance(error, BrokenPipeError):
        return str(done)
    closed = error.errno == errno.EBADF
    why = "standard output is closed" if closed else f"{error.strerror}: make room"
    if done.changes:
        return f"cannot write: {why}; {done}"
    return f"cannot write: {why}{': give it a file, or /dev/null' if closed else ', and type the same again'}"


def tell(text: str) -> None:
    """Say on standard error; who read that may have gone as well."""
    with suppress(OSError):
        print(told(f"tinkbox: {text}"), file=sys.stderr, flush=True)
