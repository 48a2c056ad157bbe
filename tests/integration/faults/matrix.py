"""The transitions of an action, each as the exchange in which it can be seen from outside."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tests.integration.faults.wire import Exchange, Moment

ID = "[0-9a-f]{64}"
ATTEMPT = "/worker/attempts/[^/]+"
OFFER = f"/worker/next|{ATTEMPT}/report"


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """Reached when this exchange is at this moment.

    `wire` is `door` between worker and appliance, `docker` between worker and engine.  `filled` asks
    for a body.  Where `waits` is true the action itself waits until what is to happen here is over.  One that `offers`
    is a transition of the action that is asked for or told, which comes with the report of the one before as well.
    """

    name: str
    wire: str
    method: str
    path: str
    moment: Moment
    filled: bool = False
    waits: bool = False
    offers: bool = False

    def is_of(self, action: str, exchange: Exchange) -> bool:
        """Whether the exchange is about this action."""
        return action == (exchange.offers if self.offers else exchange.action)

    def is_at(self, exchange: Exchange, moment: Moment) -> bool:
        return (
            (exchange.wire.name, exchange.method, moment) == (self.wire, self.method, self.moment)
            and re.fullmatch(self.path, exchange.path) is not None
            and bool(exchange.body or not self.filled)
            and (moment is Moment.REQUEST or exchange.status < 400)
        )


def _door(name: str, method: str, path: str, moment: Moment, **more: bool) -> Transition:
    return Transition(name=name, wire="door", method=method, path=path, moment=moment, **more)


def _docker(name: str, method: str, path: str, moment: Moment, **more: bool) -> Transition:
    return Transition(name=name, wire="docker", method=method, path=path, moment=moment, **more)


def _by_name(*transitions: Transition) -> Mapping[str, Transition]:
    return {transition.name: transition for transition in transitions}


TRANSITIONS = _by_name(
    _door("offer asked", "POST", OFFER, Moment.REQUEST, offers=True),
    _door("offer answered", "POST", OFFER, Moment.ANSWER, offers=True),
    _docker("about to create", "POST", "/containers/create", Moment.REQUEST),
    _docker("container created", "POST", "/containers/create", Moment.ANSWER),
    _docker("about to start", "POST", f"/containers/{ID}/start", Moment.REQUEST),
    _docker("started", "POST", f"/containers/{ID}/start", Moment.ANSWER, waits=True),
    _door("running", "POST", f"{ATTEMPT}/output", Moment.ANSWER, filled=True, waits=True),
    _docker("ended", "POST", f"/containers/{ID}/wait", Moment.ANSWER),
    _door("data sent", "PUT", f"{ATTEMPT}/data", Moment.ANSWER),
    _door("report sent", "POST", f"{ATTEMPT}/report", Moment.REQUEST),
    _door("report taken", "POST", f"{ATTEMPT}/report", Moment.ANSWER),
    _docker("report acknowledged", "DELETE", f"/containers/{ID}", Moment.REQUEST),
)
# The next action and a retry are offered with the answer to a report; what comes before that is over by then.
BEHIND_THE_OFFER = [name for name, transition in TRANSITIONS.items() if not transition.offers]
# Who polls gets the first action; the others come with reports.
POLLED = _by_name(
    _door("poll asked", "POST", "/worker/next", Moment.REQUEST),
    _door("poll answered", "POST", "/worker/next", Moment.ANSWER),
)
# An action of which the machine goes away says so before it begins, and is never reported.
LEAVING = _by_name(
    *(TRANSITIONS[name] for name in ("offer asked", "offer answered", "about to create", "container created")),
    _door("leaving sent", "POST", f"{ATTEMPT}/leaving", Moment.REQUEST),
    _door("leaving taken", "POST", f"{ATTEMPT}/leaving", Moment.ANSWER),
    *(TRANSITIONS[name] for name in ("about to start", "started")),
)
