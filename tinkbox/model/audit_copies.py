"""Lines of the audit as a file somewhere else has them: behind the head of a syslog message, and some of them once more.

An appliance sends again what a syslog server may not have taken (RFC 6587 has no acknowledgement), so what comes again as it was is no
fault of the file.
"""

import json
from collections.abc import Sequence
from typing import Any, Final

from tinkbox.model.audit import Line, line_digest, line_from_document
from tinkbox.model.errors import Invalid
from tinkbox.model.text import quoted

_OBJECT: Final = b"{"  # a head of syslog has none, for the appliance sends no structured data (RFC 5424, section 6.3)


class CopiedLines:
    """What the lines of one file are, in their order."""

    def __init__(self, after: int = 0) -> None:
        self._after = after
        self._digests: dict[int, bytes] = {}
        self.again = 0
        """How many came once more as they were, of those behind the one numbered `after`."""

    def take(self, written: bytes) -> Line | None:
        """A line of the audit, None: it was there before, with the same digest.  Raises Invalid for what is none."""
        begin = written.find(_OBJECT)
        try:
            found = json.loads(written[begin:], object_pairs_hook=_object) if begin >= 0 else None
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise Invalid(
                "there is no JSON object at its end: is it what `tinkbox audit export` printed, or a syslog server wrote, whole?"
            )
        line = line_from_document(found)
        digest = line_digest(line.text)
        if digest == line.digest and self._digests.get(line.number) == bytes.fromhex(digest):
            self.again += line.number > self._after
            return None
        if digest == line.digest:
            self._digests.setdefault(line.number, bytes.fromhex(digest))
        return line


def _object(members: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Raises Invalid for a key that is there twice: of two values a digest has one, and a reader may see the other."""
    found = dict(members)
    if len(found) < len(members):
        names = [name for name, _ in members]
        twice = next(each for each in names if names.count(each) > 1)
        raise Invalid(
            f"it has the key {quoted(twice)} twice, which no line of the audit has: another program changed it"
        )
    return found
