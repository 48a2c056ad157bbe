"""`tinkbox workflow`: what is done with machines."""

import argparse

from tinkbox.cli.flags import add_verbs
from tinkbox.cli.labelling import declare_label
from tinkbox.cli.nouns.workflow import creation, data, decisions, following, listing, plan, state
from tinkbox.model.key_kinds import KeyKind


def declare(noun: argparse.ArgumentParser) -> None:
    verbs = add_verbs(noun)
    for verb in (creation, plan, listing, state, following, data, decisions):
        verb.declare(verbs)
    declare_label(verbs, KeyKind.WORKFLOW, lambda operator: operator.workflows)
