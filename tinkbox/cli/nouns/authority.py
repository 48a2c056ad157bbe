"""`tinkbox authority`: whom to trust to speak with the box over HTTPS."""

import argparse
import sys
from typing import Final

from tinkbox.cli.connection import ask
from tinkbox.cli.flags import carry_out
from tinkbox.model.text import clean_block

STORY: Final = """\
Print the certificate of the box's own authority, in PEM, and its fingerprint on
standard error.
Programs that trust it reach the box over HTTPS: `tinkbox authority > ca.pem`."""


def declare(noun: argparse.ArgumentParser) -> None:
    noun.description = STORY
    carry_out(noun, show)


def show(chosen: argparse.Namespace) -> None:
    found = ask(chosen, lambda operator: operator.authority())
    print(found["fingerprint"], file=sys.stderr)
    print(clean_block(found["certificate"]), end="")
