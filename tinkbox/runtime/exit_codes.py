"""What an exit code of a container says of its process, as Docker and shells have it: 128 and a signal's number, or its own."""

import signal
from typing import Final

KILLED: Final = 128 + signal.SIGKILL


def signal_of(code: int) -> str:
    """The name of the signal that an exit code tells of; empty where it tells of none."""
    number = code - 128
    if number not in range(1, signal.NSIG):
        return ""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIGRTMIN+{number - signal.SIGRTMIN}" if number > signal.SIGRTMIN else f"signal {number}"
