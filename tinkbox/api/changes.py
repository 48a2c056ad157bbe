"""The log's line for each change that a person makes: what was done, by whom, to what."""

import logging

from aiohttp import web

from tinkbox.api.access import caller

_log = logging.getLogger(__name__)


def log_change(request: web.Request, what: str, *which: str) -> None:
    """Say of each of `which` that the person who asks did this to it, such as `workflow canceled`."""
    who = caller(request).name
    for each in which:
        _log.info("%s by %s: %s", what, who, each, extra={"action": "operator.change"})
