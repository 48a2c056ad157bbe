"""`tinkbox status`."""

import argparse
import sys
from typing import TYPE_CHECKING, Final

from tinkbox.cli.called_as import called_as
from tinkbox.cli.connection import ask, stay_connected
from tinkbox.cli.flags import carry_out
from tinkbox.cli.output.formats import is_drawn_on
from tinkbox.model.errors import Refusal

if TYPE_CHECKING:
    import asyncio

    from tinkbox.client.operator import Operator
    from tinkbox.wire.messages.status import Snapshot

# An appliance that answers by then is drawn at once; one that refuses does not have the screen taken for that.
AT_ONCE: Final = 0.2  # seconds


def declare(noun: argparse.ArgumentParser) -> None:
    carry_out(noun, show)


def show(chosen: argparse.Namespace) -> int:
    """A view to work in until `q` or Ctrl-C, which end it well; where there is no terminal, one plain picture."""
    if not is_drawn_on():
        from tinkbox.view.picture import plain_picture

        sys.stdout.write(plain_picture(ask(chosen, lambda operator: operator.status()), called_as(chosen)))
        return 0

    import asyncio

    from tinkbox.cli.nouns.breakpoint.shell import open_shell
    from tinkbox.cli.terminal.full_screen import FullScreen
    from tinkbox.cli.terminal.raw_terminal import Told
    from tinkbox.settings import wants_colours
    from tinkbox.view.main import live

    ended_by: list[int] = []
    unanswered: list[str] = []

    async def shown(operator: "Operator") -> None:
        async def shell(workflow: str) -> bool:
            try:
                await open_shell(operator, workflow)
            except Told as told:
                ended_by.append(told.number)
            return not ended_by

        first: asyncio.Future[Snapshot] = asyncio.get_running_loop().create_future()
        async with asyncio.TaskGroup() as group:
            asking = group.create_task(_ask_first(operator, first))
            await asyncio.wait({first}, timeout=AT_ONCE)
            if not first.done() or first.exception() is None:
                try:
                    async with FullScreen() as terminal:
                        await live(operator, terminal, first, shell, unanswered, colours=wants_colours())
                except Told as told:
                    ended_by.append(told.number)
            asking.cancel()
        if first.done():
            first.result()  # raises what it refused

    stay_connected(chosen, shown)
    for each in unanswered:
        print(
            f"tinkbox: {each} was sent, and the appliance has not answered: look again whether it was done",
            file=sys.stderr,
        )
    return 128 + ended_by[0] if ended_by else 0


async def _ask_first(operator: "Operator", first: "asyncio.Future[Snapshot]") -> None:
    """Have the first answer in there, or why there is none."""
    try:
        first.set_result(await operator.status())
    except Refusal as refusal:
        first.set_exception(refusal)
