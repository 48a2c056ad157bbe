"""Replies that the kernel refuses to send: this host's own firewall drops what goes out, or there is no port to send them from."""

import errno
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from tinkbox.model.host_vitals import RefusedReplies

# One that cannot be tried again is over when none was refused for so long.
_QUIET: Final = timedelta(seconds=60)
_TARGETS: Final = 5
# What netfilter has the kernel say of a packet that a rule drops on its way out.  Other errors can be had by anybody who names a
# place that is not there.
_REFUSED: Final = (errno.EPERM, errno.EACCES)
# What the kernel says where any port would do, and all that it may give are in use or reserved.
_NO_PORT: Final = errno.EADDRINUSE


class Refusals:
    """Those of all interfaces.  It is over when a reply of the same kind is sent there: `look` sends the last one again.

    That there is no port is over when `look` finds one.
    """

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._standing: dict[tuple[str, str, bool], tuple[RefusedReplies, datetime, Callable[[], object] | None]] = {}

    def note(
        self, interface: str, what: str, error: OSError, to: str, again: Callable[[], object] | None = None
    ) -> None:
        """A reply was not sent; `again` sends it once more, or looks for a port for it, and raises OSError."""
        if error.errno not in (*_REFUSED, _NO_PORT):
            return
        no_port = error.errno == _NO_PORT
        now, key = self._clock(), (interface, what, no_port)
        before = self._standing.get(key)
        first = RefusedReplies(
            interface=interface, what=what, times=0, since=now, error=os.strerror(error.errno), to=to, no_port=no_port
        )
        known = before[0] if before else first
        targets = (*(each for each in known.targets if each != to), to)[-_TARGETS:]
        self._standing[key] = (
            replace(known, times=known.times + 1, error=first.error, to=to, targets=targets, until=now),
            now,
            again,
        )

    def sent(self, interface: str, what: str) -> None:
        """A reply was sent."""
        if self._standing:
            self._standing.pop((interface, what, False), None)

    def look(self) -> tuple[RefusedReplies, ...]:
        """What is refused now."""
        now = self._clock()
        for key, (_, at, again) in [*self._standing.items()]:
            if (now - at > _QUIET) if again is None else _is_sent(again):
                del self._standing[key]
        return tuple(each for each, _, _ in self._standing.values())


def is_kept_in(error: OSError) -> bool:
    """Whether the kernel refused to send for this host's own firewall."""
    return error.errno in _REFUSED


def _is_sent(again: Callable[[], object]) -> bool:
    """Whether it is sent now, or refused for another reason."""
    try:
        again()
    except OSError as error:
        return error.errno not in (*_REFUSED, _NO_PORT)
    return True
