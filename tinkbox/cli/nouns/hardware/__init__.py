"""`tinkbox hardware`: machines, and how far their boots came."""

import argparse

from tinkbox.cli.flags import add_verbs
from tinkbox.cli.labelling import declare_label
from tinkbox.cli.nouns.hardware import (
    add,
    discovery,
    documents,
    edit,
    identity,
    importing,
    leases,
    listing,
    notes,
    removal,
    retirement,
)
from tinkbox.model.key_kinds import KeyKind


def declare(noun: argparse.ArgumentParser) -> None:
    verbs = add_verbs(noun)
    for verb in (add, importing, listing, documents, edit, notes, retirement, removal, leases, discovery, identity):
        verb.declare(verbs)
    declare_label(verbs, KeyKind.MACHINE, lambda operator: operator.hardware)
