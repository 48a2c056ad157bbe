"""Child processes that never outlive us: stopped in order, or by the kernel when we are killed."""

import contextlib
import os
import select
import signal
import subprocess
from collections.abc import Iterator, Sequence
from typing import IO


def command_that_dies_with_us(command: Sequence[str], parent: int | None = None, *, by: str = "TERM") -> list[str]:
    """The same command, sent SIGTERM, or `by`, by the kernel when its parent is gone, whatever killed the parent.

    `parent` is the process that starts it as the command itself sees it: this one, if not told otherwise; 0
    is one outside the command's process namespace.

    SIGTERM rather than SIGKILL: a single-file executable is a process that waits for another, and only a
    signal it can see is handed on.
    """
    # A parent that died before the kernel knew of the wish is noticed by the shell.
    unless_orphaned = ["sh", "-c", '[ "$PPID" = "$0" ] && exec "$@"', str(os.getpid() if parent is None else parent)]
    return ["setpriv", "--pdeathsig", by, *unless_orphaned, *command]


def start(
    command: Sequence[str], *, stdin: int | IO[bytes] | None = subprocess.DEVNULL, stdout: int | IO[bytes] | None = None
) -> subprocess.Popen[bytes]:
    """Start a process group of its own; standard error goes where standard output goes.

    Start it from the main thread: the kernel sends the signal when the starting *thread* ends.
    """
    return subprocess.Popen(
        command_that_dies_with_us(command),
        stdin=stdin,
        stdout=stdout,
        stderr=subprocess.STDOUT if stdout is not None else None,
        start_new_session=True,
    )


def stop(process: subprocess.Popen[bytes], grace: float = 30) -> None:
    """Ask the process to end, and after `grace` seconds end its whole group.

    Of one that was seen to end before, nothing is touched: its number, which is its group's too, may be another's by now.
    """  # fmt: skip
    if process.returncode is not None:
        return
    with os.fdopen(os.pidfd_open(process.pid)) as end:
        os.kill(process.pid, signal.SIGTERM)
        select.select([end], [], [], grace)
    # Nobody has collected it yet, so the number is still its own.
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@contextlib.contextmanager
def signals_unwind() -> Iterator[None]:
    """Within the block SIGTERM and SIGHUP end the program as an exception, so that every `with` cleans up."""

    def unwind(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, unwind) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
