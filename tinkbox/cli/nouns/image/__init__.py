"""`tinkbox image`."""

import argparse

from tinkbox.cli.flags import add_verbs
from tinkbox.cli.nouns.image import archives, catalogue, fetch, importing, listing, show


def declare(noun: argparse.ArgumentParser) -> None:
    verbs = add_verbs(noun)
    for verb in (archives, importing, catalogue, fetch, show, listing):
        verb.declare(verbs)
