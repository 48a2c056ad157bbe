"""How an action says why it failed: /dev/reason for machines, /dev/message for people, then a non-zero exit."""

import os
import sys
from collections.abc import Callable

REASON, MESSAGE = "/dev/reason", "/dev/message"


class Failure(Exception):
    """The action cannot do its work: a CamelCase `reason` and a sentence."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def run(action: Callable[[], None], reason_file: str = REASON, message_file: str = MESSAGE) -> int:
    """Do the work; returns the exit status."""
    try:
        action()
    except Failure as failure:
        print(f"failed: {failure.reason}: {failure}", file=sys.stderr, flush=True)
        tell(reason_file, failure.reason)
        tell(message_file, str(failure))
        return 1
    return 0


def tell(path: str, text: str) -> None:
    """Write to a file that whoever started us provides; where there is none, nobody asked."""
    try:
        # Without O_CREAT: /dev may be the machine's own, and is not to be littered.
        descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC)
    except OSError:
        return
    with os.fdopen(descriptor, "w") as file:
        file.write(text)


def required(environment: dict[str, str], *names: str) -> list[str]:
    """The values of these variables; raises Failure naming all that are missing."""
    missing = [name for name in names if not environment.get(name)]
    if missing:
        raise Failure("MissingParameter", f"set {', '.join(missing)} in the action's environment")
    return [environment[name] for name in names]
