"""Names that clients ask a door for, and that nobody can read: they are no reason to write to the log.

Python's ssl reads the name of a handshake (RFC 6066 §3) as ASCII before it asks for a certificate.  Where that fails the
handshake ends, and a traceback goes to standard error: five lines for each connection of anybody who likes to.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def unreadable_names_untold() -> Iterator[None]:
    """Within, such a name writes nothing; what else cannot be raised is told as before.  It is for the whole process."""
    before = sys.unraisablehook

    def tell(told: "sys.UnraisableHookArgs") -> None:
        # The ssl module names what it could not read; of all other trouble it is a function that is named.
        if not (isinstance(told.exc_value, UnicodeDecodeError) and told.object == told.exc_value.object):
            before(told)

    sys.unraisablehook = tell
    try:
        yield
    finally:
        sys.unraisablehook = before
