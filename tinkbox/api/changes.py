"""The log's line for each change that a person makes: what was done, by whom, to what.  The audit's line has the same.

It is written as soon as the change is made, before anything is read for the answer: the client may be gone by then.
"""

import logging
from typing import Final

from aiohttp import web

from tinkbox.api.access import caller
from tinkbox.api.auditing import did
from tinkbox.model.access import Means

CANCELED: Final = "workflow canceled"
_log = logging.getLogger(__name__)


def log_change(request: web.Request, what: str, *which: str) -> None:
    """Say of each of `which` that the person who asks did this to it, such as `workflow canceled`."""
    person = caller(request)
    # A token may have the name of a user of this host.
    who = person.name if person.means is Means.SOCKET else f"{person.name} ({person.means})"
    did(request, what, *which)
    for each in which:
        _log.info("%s by %s: %s", what, who, each, extra={"action": "operator.change"})
