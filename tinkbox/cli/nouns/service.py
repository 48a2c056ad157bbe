"""`tinkbox service`: the services of workflows, where they stand and what they print."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from tinkbox.cli.connection import stay_connected
from tinkbox.cli.flags import add_filters, add_listing, add_verb, add_verbs, add_watch
from tinkbox.cli.output.changes import show_each
from tinkbox.cli.output.followed_output import Page, Stream, follow, name_of_run
from tinkbox.cli.output.formats import Column, Document, short
from tinkbox.cli.output.lists import List
from tinkbox.cli.output.printable import age
from tinkbox.cli.output.tables import Fit
from tinkbox.cli.terminal.watched_list import show_found
from tinkbox.model.duration import show_duration
from tinkbox.model.key_kinds import KeyKind
from tinkbox.model.text import shortened

if TYPE_CHECKING:
    from tinkbox.client.operator import Found, Operator
    from tinkbox.client.operator.services import Services
    from tinkbox.model.services import Phase

STORY = """\
Look at the containers that workflows have in the background: what a machine boots from, or what it sends things to.

They start before the first action of their workflow, which begins when every one of them was ready, and they are
ended and removed when it is over. What becomes of a service in between hurts only the actions that need it.
"""
STATES = """\
states:
  PENDING      its host has not begun with it: the workflow is not next on its machine, or the host is away
  STARTING     its image is fetched, its container is made, or its health check has not succeeded yet
  READY        it is up, and healthy where it has a health check
  UNHEALTHY    it was ready, and its health check fails; it goes on running
  RESTARTING   it ended and is started again after 1, 2, 4, ... seconds
  EXITED       it ended well, and is not started again
  FAILED       it ended badly or could not start, and is not started again
  STOPPING     its workflow is over, and it was told to end; after 10 seconds it is killed
  STOPPED      it was ended because its workflow is over
"""
SHOWN_LETTERS = 120


def trouble(service: Document) -> str:
    """What there is to say of a service that is not as it should be: `ServiceFailed: ended with exit code 1`."""
    told = ": ".join(part for part in (service["reason"], service["message"]) if part)
    return shortened(told, SHOWN_LETTERS)


def _between(begin: str | None, end: str | None) -> float | None:
    """Seconds; None where it has not begun or ended."""
    if not begin or not end:
        return None
    return max(0.0, (datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds())


def _took(seconds: float | None) -> str:
    return "" if seconds is None else show_duration(seconds)


COLUMNS: Sequence[Column] = (
    Column("Service", "name", fit=Fit(least=8)),
    Column(
        "Workflow",
        lambda service: f"{service['workflow']} ({short(service['workflow_id'])})",
        fit=Fit(least=12, rank=2),
    ),
    Column("Host", "host", fit=Fit(least=8, rank=3)),
    Column("State", "state"),
    Column("Restarts", "restarts", fit=Fit(rank=1)),
    Column("Ready After", lambda service: _between(service["begun_at"], service["ready_at"]), _took, wide=True),
    Column("Age", "begun_at", age),
    Column("Reason", trouble, fit=Fit(least=10)),
)
LISTED = List(columns=COLUMNS)


def declare(noun: argparse.ArgumentParser) -> None:
    verbs = add_verbs(noun, STORY, STATES)
    verb = add_listing(
        add_verb(
            verbs,
            "list",
            show_list,
            "where the services of workflows stand",
            "Without a WORKFLOW, of all that are not over and of the newest others.",
        ),
        keys="*",
        kind=KeyKind.WORKFLOW,
    )
    add_filters(verb, "machine", sorts=("name", "state", "begun_at"), age="begun_at", states=_states)
    add_watch(verb)
    verb = add_verb(
        verbs,
        "logs",
        logs,
        "what a service printed",
        "Into a pipe or file it is the bytes themselves; which run they are of goes to standard error: there is one for "
        "each time that the workflow was taken up, whatever the service was restarted in it.",
    )
    verb.usage = "tinkbox service logs [-h] [-f] [WORKFLOW/]SERVICE"
    verb.add_argument(
        "key",
        metavar="SERVICE",
        help="WORKFLOW/SERVICE, the workflow being an id, a name, or a unique beginning of an id; or SERVICE alone, for "
        "the newest workflow that has one so called",
    )
    verb.add_argument("-f", "--follow", action="store_true", help="go on until it ended and is not started again")


def show_list(chosen: argparse.Namespace) -> int:
    if chosen.keys and not chosen.watch:
        filters = LISTED.filters(chosen)
        return show_each(
            chosen,
            lambda operator, key: operator.services.found({"workflow": key, **filters}),
            lambda found: LISTED.show(chosen, *_together(found)),
        )
    return show_found(chosen, lambda operator: _OfWorkflows(operator.services, chosen.keys), LISTED)


@dataclass(frozen=True, slots=True)
class _OfWorkflows:
    """The services of these workflows, of all without any."""

    services: "Services"
    keys: Sequence[str]

    async def found(self, asked: Mapping[str, str]) -> "Found":
        if not self.keys:
            return await self.services.found(asked)
        return _together([await self.services.found({"workflow": key, **asked}) for key in self.keys])


def _together(found: "Sequence[Found]") -> "Found":
    from tinkbox.client.operator import Found

    return Found([service for each in found for service in each.documents], sum(each.total for each in found))


def logs(chosen: argparse.Namespace) -> None:
    """Print what a service printed, in each of its runs (`output.followed_output`)."""

    async def printed(operator: "Operator") -> None:
        key = chosen.key

        async def stream(place: str) -> Stream:
            nonlocal key
            async for reached, piece in operator.services.output(key, place, follow=chosen.follow):
                if piece is not None:
                    # From now on it is this one, whatever else will be called so.
                    key = f"{piece['workflow_id']}/{piece['service']}"
                yield reached, piece

        await follow(Page(name_of_run), stream)

    stay_connected(chosen, printed)


def _states() -> "type[Phase]":
    from tinkbox.model.services import Phase

    return Phase
