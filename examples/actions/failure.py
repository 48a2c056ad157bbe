"""How an action says why it failed: /dev/reason for machines, /dev/message and /dev/hint for people, then a non-zero exit."""

import os
import sys
from collections.abc import Callable, Mapping

REASON, MESSAGE, HINT = "/dev/reason", "/dev/message", "/dev/hint"
# Behind what a person corrects in the template.
NEW_TEXT = "; then make a new workflow, for a retry keeps the old text"


class Failure(Exception):
    """The action cannot do its work: a CamelCase `reason` and a sentence.

    `hint` says what to do; empty: what is always said of such a reason.
    """

    def __init__(self, reason: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.reason = reason
        self.hint = hint


def run(
    action: Callable[[], None],
    reason_file: str = REASON,
    message_file: str = MESSAGE,
    hint_file: str = HINT,
    *,
    advice: Mapping[str, str] | None = None,
) -> int:
    """Do the work; returns the exit status.  `advice` has hints by reason, for failures that bring none."""
    try:
        action()
    except Failure as failure:
        print(f"failed: {failure.reason}: {failure}", file=sys.stderr, flush=True)
        tell(reason_file, failure.reason)
        tell(message_file, str(failure))
        tell(hint_file, failure.hint or (advice or {}).get(failure.reason, ""))
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
        raise Failure(
            "MissingParameter",
            f"set {', '.join(missing)} in the action's environment",
            f"Correct the action in the template; its README lists the variables{NEW_TEXT}",
        )
    return [environment[name] for name in names]
