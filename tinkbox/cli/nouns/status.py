"""`tinkbox status`."""

import argparse

from tinkbox.cli.connection import ask
from tinkbox.cli.flags import carry_out


def declare(noun: argparse.ArgumentParser) -> None:
    carry_out(noun, show)


def show(chosen: argparse.Namespace) -> None:
    from tinkbox.view.main import show as draw

    ask(chosen, lambda operator: draw(operator.status))
