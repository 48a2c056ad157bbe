"""`tinkbox hardware`: machines, and how far their boots came."""

import argparse

from tinkbox.cli.flags import add_verbs
from tinkbox.cli.nouns.hardware import add, discovery, documents, identity, leases, listing, removal


def declare(noun: argparse.ArgumentParser) -> None:
    verbs = add_verbs(noun)
    for verb in (add, listing, documents, removal, leases, discovery, identity):
        verb.declare(verbs)
