"""`tinkbox status`."""

import argparse
import sys
from typing import TYPE_CHECKING

from tinkbox.cli.called_as import called_as
from tinkbox.cli.connection import ask, stay_connected
from tinkbox.cli.flags import carry_out
from tinkbox.cli.output.formats import is_drawn_on

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator


def declare(noun: argparse.ArgumentParser) -> None:
    carry_out(noun, show)


def show(chosen: argparse.Namespace) -> int:
    """A view to work in until `q` or Ctrl-C, which end it well; where there is no terminal, one plain picture."""
    if not is_drawn_on():
        from tinkbox.view.picture import plain_picture

        sys.stdout.write(plain_picture(ask(chosen, lambda operator: operator.status()), called_as(chosen)))
        return 0

    from tinkbox.cli.nouns.breakpoint.shell import open_shell
    from tinkbox.cli.terminal.full_screen import FullScreen
    from tinkbox.cli.terminal.raw_terminal import Told
    from tinkbox.view.main import live

    ended_by: list[int] = []

    async def shown(operator: "Operator") -> None:
        async def shell(workflow: str) -> bool:
            try:
                await open_shell(operator, workflow)
            except Told as told:
                ended_by.append(told.number)
            return not ended_by

        snapshot = await operator.status()
        async with FullScreen() as terminal:
            await live(operator, terminal, snapshot, shell)

    try:
        stay_connected(chosen, shown)
    except Told as told:
        ended_by.append(told.number)
    return 128 + ended_by[0] if ended_by else 0
