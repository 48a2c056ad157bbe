"""`tinkbox image`."""

import argparse

from tinkbox.cli.flags import add_verbs
from tinkbox.cli.nouns.image import archives, catalogue, copy, export, fetch, gc, importing, listing, save, show


def declare(noun: argparse.ArgumentParser) -> None:
    verbs = add_verbs(noun)
    for verb in (archives, save, copy, export, importing, catalogue, fetch, show, listing, gc):
        verb.declare(verbs)
