"""`tinkbox status`."""

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from tinkbox.cli.called_as import called_as
from tinkbox.cli.connection import ask, stay_connected
from tinkbox.cli.flags import DOCUMENTS, FITTING, add_filters, add_format, carry_out
from tinkbox.cli.output.formats import is_drawn_on, json_of, yaml_of
from tinkbox.model.errors import Refusal

if TYPE_CHECKING:
    import asyncio

    from tinkbox.cli.nouns.breakpoint.shell import Left
    from tinkbox.client.operator import Operator
    from tinkbox.view.rows import Scope
    from tinkbox.wire.messages.status import Snapshot

# An appliance that answers by then is drawn at once; one that refuses does not have the screen taken for that.
AT_ONCE: Final = 0.2  # seconds
STAYS_HELD: Final = "the shell was left: what is held stays held; c continues, r retries, a aborts"


FORMATS: Final = ("table", "json", "yaml")


def declare(noun: argparse.ArgumentParser) -> None:
    add_filters(noun, "label", states=_states)
    add_format(
        noun, FORMATS, "table: one plain picture (default into a pipe); json, yaml: one document of it, for scripts"
    )
    carry_out(noun, show).set_defaults(format=FITTING)  # a view on a terminal, else a plain picture


def _states() -> Sequence[str]:
    from tinkbox.view.standing import STATE_WORDS

    return STATE_WORDS


def _scope(chosen: argparse.Namespace) -> "Scope":
    from tinkbox.model.labels import parse_selector
    from tinkbox.view.rows import Scope

    return Scope(
        labels=parse_selector(chosen.label) if chosen.label is not None else None,
        states=frozenset(chosen.state.split(",")) if chosen.state is not None else None,
    )


def show(chosen: argparse.Namespace) -> int:
    """A view to work in until `q` or Ctrl-C, which end it well; where there is no terminal, one plain picture."""
    scope = _scope(chosen)
    if chosen.format != FITTING or not is_drawn_on():
        sys.stdout.write(_printed(chosen, ask(chosen, lambda operator: operator.status()), scope))
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
        async def shell(workflow: str) -> str | None:
            try:
                left = await open_shell(operator, workflow, called_as(chosen))
            except Told as told:
                ended_by.append(told.number)
                return None
            return _after_shell(left)

        first: asyncio.Future[Snapshot] = asyncio.get_running_loop().create_future()
        async with asyncio.TaskGroup() as group:
            asking = group.create_task(_ask_first(operator, first))
            await asyncio.wait({first}, timeout=AT_ONCE)
            if not first.done() or first.exception() is None:
                try:
                    async with FullScreen() as terminal:
                        await live(
                            operator,
                            terminal,
                            first,
                            shell,
                            unanswered,
                            scope=scope,
                            program=called_as(chosen),
                            colours=wants_colours(),
                        )
                except Told as told:
                    ended_by.append(told.number)
            asking.cancel()
        if first.done():
            first.result()  # raises what it refused

    stay_connected(chosen, shown)
    for each in unanswered:
        print(f"tinkbox: {each}", file=sys.stderr)
    return 128 + ended_by[0] if ended_by else 0


def _after_shell(left: "Left") -> str:
    """What there is to say of a shell that ended or was left."""
    from tinkbox.cli.wording.holds import being_carried_out, full_name

    if left.hold is None:
        return left.told
    if verdict := left.hold["verdict"]:
        return f"the shell was left; {full_name(left.hold)}: {being_carried_out(verdict)}"
    return STAYS_HELD


def _printed(chosen: argparse.Namespace, snapshot: "Snapshot", scope: "Scope") -> str:
    """The picture as people or programs want it."""
    if chosen.format in DOCUMENTS:
        from tinkbox.view.document import document_of

        return (json_of if chosen.format == "json" else yaml_of)(document_of(snapshot, scope))
    from tinkbox.view.picture import plain_picture

    return plain_picture(snapshot, called_as(chosen), scope)


async def _ask_first(operator: "Operator", first: "asyncio.Future[Snapshot]") -> None:
    """Have the first answer in there, or why there is none."""
    try:
        first.set_result(await operator.status())
    except Refusal as refusal:
        first.set_exception(refusal)
