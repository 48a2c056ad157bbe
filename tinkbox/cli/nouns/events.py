"""`tinkbox events`."""

import argparse
import json
import sys
from typing import TYPE_CHECKING

from tinkbox.cli.connection import stay_connected
from tinkbox.cli.flags import add_verb, add_verbs
from tinkbox.cli.output.printable import clean
from tinkbox.model.errors import Unavailable

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator


def declare(noun: argparse.ArgumentParser) -> None:
    verbs = add_verbs(noun)
    verb = add_verb(verbs, "watch", watch, "print every event as it happens")
    verb.add_argument("--after", type=int, metavar="N", help="first those behind the one whose `sequence` is N")


def watch(chosen: argparse.Namespace) -> None:
    """Print each event as a line of JSON, without loss or repetition over a restart of the appliance.

    `sequence` is its place among all events, to go on from with `--after`.
    """
    import asyncio

    async def watched(operator: "Operator") -> None:
        last: int | None = chosen.after
        reached = False
        while True:
            try:
                async for number, event in operator.events(last):
                    last, reached = number, True
                    if event is not None:
                        print(json.dumps({"sequence": number, **event}), flush=True)
            except Unavailable as error:
                if not reached:
                    raise
                print(f"tinkbox: {clean(str(error))}; trying again", file=sys.stderr)
            await asyncio.sleep(1)

    stay_connected(chosen, watched)
