"""`tinkbox events`."""

import argparse
import asyncio
import json
import sys

from tinkbox.cli.appliance import ask
from tinkbox.client.operator import Operator, Unreachable


def watch(chosen: argparse.Namespace) -> None:
    """Print each event as a line of JSON, without loss over a restart of the appliance."""

    async def watched(operator: Operator) -> None:
        last: int | None = None
        while True:
            try:
                async for number, event in operator.events(last):
                    last = number
                    if event is not None:
                        print(json.dumps(event), flush=True)
            except Unreachable as error:
                if last is None:
                    raise
                print(f"tinkbox: {error}; trying again", file=sys.stderr)
            await asyncio.sleep(1)

    ask(chosen, watched)
