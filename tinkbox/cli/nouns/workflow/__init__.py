"""`tinkbox workflow`: what is done with machines."""

import argparse

from tinkbox.cli.flags import add_verbs
from tinkbox.cli.nouns.workflow import creation, data, decisions, following, listing, state


def declare(noun: argparse.ArgumentParser) -> None:
    verbs = add_verbs(noun)
    for verb in (creation, listing, state, following, data, decisions):
        verb.declare(verbs)
