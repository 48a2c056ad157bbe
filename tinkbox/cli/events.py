"""`tinkbox events`."""

import argparse
import asyncio
import json
import sys

from tinkbox.cli.appliance import ask
from tinkbox.cli.output import clean
from tinkbox.client.operator import Operator
from tinkbox.model.errors import Unavailable


def watch(chosen: argparse.Namespace) -> None:
    """Print each event as a line of JSON, without loss or repetition over a restart of the appliance.

    `sequence` is its place among all events, to go on from with `--after`.
    """

    async def watched(operator: Operator) -> None:
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

    ask(chosen, watched)
