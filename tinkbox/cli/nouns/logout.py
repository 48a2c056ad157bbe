"""`tinkbox logout`."""

import argparse
from typing import Final

from tinkbox.cli.flags import carry_out, filled
from tinkbox.cli.output.printable import clean
from tinkbox.model.errors import NotFound
from tinkbox.settings.boxes import box_url, read_boxes, write_boxes

STORY: Final = """\
Forget a box, with its authority and token. Commands speak to the appliance on
this host again. The token itself stays valid."""


def declare(noun: argparse.ArgumentParser) -> None:
    noun.description = STORY
    noun.add_argument("url", metavar="URL", nargs="?", type=filled, help="the box (default: the one commands speak to)")
    carry_out(noun, logout)


def logout(chosen: argparse.Namespace) -> None:
    kept = read_boxes()
    url = box_url(chosen.url) if chosen.url else kept.current
    if url not in kept.boxes:
        raise NotFound(
            f"you are not logged in to {url}: `tinkbox login --list` shows where you are"
            if url
            else "you are logged in to no box: `tinkbox login --list` shows which are kept"
        )
    write_boxes(kept.without(url))
    print(
        clean(
            f"Logged out of {url}. Its token stays valid until it expires, or `tinkbox token revoke NAME` there ends it."
        )
    )
