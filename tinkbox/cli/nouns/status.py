"""`tinkbox status`."""

import argparse
import sys
from typing import TYPE_CHECKING

from tinkbox.cli.connection import stay_connected
from tinkbox.cli.flags import carry_out

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator


def declare(noun: argparse.ArgumentParser) -> None:
    carry_out(noun, show)


def show(chosen: argparse.Namespace) -> int:
    """Draw it until `q` or Ctrl-C, which end it well; where standard output is no terminal, once."""
    from tinkbox.view.main import show as draw

    if not sys.stdout.isatty():
        stay_connected(chosen, lambda operator: draw(operator.status))
        return 0

    from tinkbox.cli.terminal.quit_key import UntilQuit
    from tinkbox.cli.terminal.raw_terminal import Told

    async def drawn(operator: "Operator") -> None:
        async with UntilQuit():
            await draw(operator.status)

    try:
        stay_connected(chosen, drawn)
    except Told as told:
        return 128 + told.number
    return 0
