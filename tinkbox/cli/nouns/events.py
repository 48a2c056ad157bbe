"""`tinkbox events`."""

import argparse
import json
from typing import TYPE_CHECKING

from tinkbox.cli.connection import stay_connected
from tinkbox.cli.flags import FITTING, add_format, add_times, add_verb, add_verbs
from tinkbox.cli.interruptions.outages import Outages, tell_put_back
from tinkbox.cli.interruptions.readers import while_read
from tinkbox.cli.output.formats import Document, is_terminal, short
from tinkbox.cli.wording.events import line_of
from tinkbox.model.errors import Unavailable

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator

FORMATS = ("table", "json")
LENGTH_OF_ID = 36
MOST_DIGITS = 18  # of what the appliance can count to


def declare(noun: argparse.ArgumentParser) -> None:
    verbs = add_verbs(noun)
    verb = add_verb(verbs, "watch", watch, "print every event as it happens")
    verb.add_argument(
        "--after",
        type=_place,
        metavar="PLACE",
        help="first those behind the one with this `sequence`: N, or WORKFLOW:N for a token with a scope; 0: all",
    )
    add_format(verb, FORMATS, "table: a line for people (default on a terminal); json: a document on each line")
    add_times(verb)
    verb.set_defaults(format=FITTING)


def _place(text: str) -> int | str:
    """An argument that is the number of an event, or its place as a token with a scope is told it."""
    workflow, _, number = text.partition(":")
    if len(workflow) == LENGTH_OF_ID and number.isascii() and number.isdigit() and len(number) <= MOST_DIGITS:
        return text
    if not (text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS):
        raise argparse.ArgumentTypeError(
            f"{text[:40]!r} is no place of an event: write 0 for all, or a `sequence` as it was told, N or WORKFLOW:N"
        )
    return int(text)


def watch(chosen: argparse.Namespace) -> None:
    """Print a line for each event, without loss or repetition over a restart of the appliance.

    As JSON it has `sequence`, its place among all events, to go on from with `--after`. A token with a scope is told
    WORKFLOW:N in its stead, the Nth event of that workflow.
    """
    import asyncio

    people = chosen.format == "table" or (chosen.format == FITTING and is_terminal())
    written = _for_people if people else _as_json

    async def watched(operator: "Operator") -> None:
        last: int | str | None = chosen.after
        reached = False
        outages = Outages()
        while True:
            try:
                async for number, event in operator.events(last):
                    if last is not None and _begins_anew(number, last, event):
                        tell_put_back(last)
                    last, reached = number, True
                    outages.over()
                    if event is not None:
                        print(written(number, event), flush=True)
            except Unavailable as error:
                if not reached:
                    raise
                outages.tell(error)
            await asyncio.sleep(1)

    stay_connected(chosen, lambda operator: while_read(watched(operator)))


def _begins_anew(place: int | str, last: int | str, event: Document | None) -> bool:
    """Whether the appliance has no event at the place behind which it was to go on."""
    if isinstance(place, int) and isinstance(last, int):
        return place < last
    return event is None and place != last


def _as_json(number: int | str, event: Document) -> str:
    # Events of a hold have a `sequence` of their own, the hold's among those of its attempt: `workflow events` tells it.
    place = {"sequence": number}
    return json.dumps(place | dict(event) | place)


def _for_people(_: int | str, event: Document) -> str:
    return line_of(event, short(event["workflow_id"]))
