"""`tinkbox status`."""

import argparse

from tinkbox.cli.appliance import ask
from tinkbox.view.main import show as draw


def show(chosen: argparse.Namespace) -> None:
    ask(chosen, lambda operator: draw(operator.status))
