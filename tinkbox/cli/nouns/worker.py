"""`tinkbox --worker`: the program on a machine, told by flags of the program itself."""

import argparse
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Final

FOLDER: Final = Path("/worker")
MOST_SAID: Final = 4096  # bytes
SERVER: Final = "--server"


def add_flags(program: argparse.ArgumentParser) -> Collection[str]:
    """Which flags these are."""
    worker = program.add_argument_group("worker", "inside the in-memory operating system of a machine")
    added = (
        worker.add_argument("--worker", action="store_true", help="run the actions of this machine's workflows"),
        worker.add_argument(SERVER, metavar="URL", help="the node door, instead of the credential's"),
        worker.add_argument("--credential", type=Path, metavar="FILE", help="from `tinkbox hardware credential`"),
        worker.add_argument("--docker", metavar="URL", help="the Docker engine (unix:///var/run/docker.sock)"),
        worker.add_argument("--no-privileged", action="store_true", help="run actions without privileges"),
        worker.add_argument("--no-debug", action="store_true", help="hold no action at a breakpoint and open no shell"),
        worker.add_argument("--fetch", metavar="PATH", help="print what the node door has at PATH, and run nothing"),
        worker.add_argument(
            "--complain",
            metavar="PART",
            help="tell the appliance on standard input what is wrong with PART, and run nothing",
        ),
    )
    return [flag for each in added for flag in each.option_strings]


def work(chosen: argparse.Namespace) -> int:
    if chosen.fetch is not None or chosen.complain is not None:
        return _ask(chosen)
    from tinkbox.log_text import log_to
    from tinkbox.private_files import keep_to_owner
    from tinkbox.worker.main import work as run

    keep_to_owner()
    log_to(sys.stderr, datefmt="%H:%M:%S")
    data = chosen.data or FOLDER
    return run(
        chosen.server, chosen.credential, chosen.docker, data,
        privileged=not chosen.no_privileged, debug=not chosen.no_debug,
    )  # fmt: skip


def _ask(chosen: argparse.Namespace) -> int:
    from tinkbox.worker.files.credential_file import CREDENTIAL, read_credential
    from tinkbox.worker.questions import complain, fetched

    credential = read_credential(chosen.credential or CREDENTIAL)
    if chosen.complain is not None:
        complain(credential, chosen.complain, sys.stdin.buffer.read(MOST_SAID))
    else:
        sys.stdout.buffer.write(fetched(credential, chosen.fetch))
        sys.stdout.buffer.flush()
    return 0
