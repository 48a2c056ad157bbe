"""`tinkbox --worker`."""

import argparse
import logging
from pathlib import Path


def work(chosen: argparse.Namespace) -> int:
    from tinkbox.worker.main import work as run

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    data = chosen.data or Path("/worker")
    return run(
        chosen.server, chosen.credential, chosen.docker, data,
        privileged=not chosen.no_privileged, debug=not chosen.no_debug,
    )  # fmt: skip
