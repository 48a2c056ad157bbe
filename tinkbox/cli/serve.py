"""`tinkbox serve`."""

import argparse
import asyncio
import logging
import sys


def serve(chosen: argparse.Namespace) -> int:
    from tinkbox.app import check
    from tinkbox.app import serve as run
    from tinkbox.settings import load

    settings = load(chosen.config, chosen.data)
    if chosen.check:
        return 0 if asyncio.run(check(settings, _say)) else 1
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", stream=sys.stderr)
    asyncio.run(run(settings, _say))
    return 0


def _say(line: str) -> None:
    print(line, flush=True)
