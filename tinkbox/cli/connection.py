"""The appliance that the commands speak to."""

import argparse
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from tinkbox.cli.called_as import called_as
from tinkbox.cli.done_so_far import note_change
from tinkbox.cli.interruptions.breaking_off import tell

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator
    from tinkbox.client.operator.connection import Connection

T = TypeVar("T")


def ask(chosen: argparse.Namespace, question: "Callable[[Operator], Awaitable[T]]") -> T:
    """Ask the appliance that `--data`, the environment or the configuration names, and wait for the answer."""
    from tinkbox.client.operator.quick_connection import QuickConnection, answer_of

    return answer_of(_asked(chosen, QuickConnection, question))


def stay_connected(chosen: argparse.Namespace, conversation: "Callable[[Operator], Awaitable[T]]") -> T:
    """As `ask`, for what follows, uploads, waits or does several things at once."""
    from tinkbox.cli.interruptions.ended_conversations import run_until_ended
    from tinkbox.client.operator.lasting_connection import LastingConnection

    return run_until_ended(_asked(chosen, LastingConnection, conversation))


def other_appliance(server: str, token: str, *, flag: str, token_place: str) -> "Operator":
    """Another appliance, at a URL or host that `flag` names; to be entered, within `stay_connected`.

    `token_place` is what holds its token, in a person's words.
    """
    from tinkbox.client.operator import Operator
    from tinkbox.client.operator.other_connection import OtherConnection
    from tinkbox.settings import target_of, with_login

    target = with_login(target_of(server, token, flag))
    connection = OtherConnection(
        server,
        socket=target.socket,
        url=target.url,
        token=target.token,
        variable=flag,
        token_place=token_place,
        authority=target.authority,
    )
    connection.changed = note_change
    return Operator(connection)


async def _asked(
    chosen: argparse.Namespace, kind: "type[Connection]", question: "Callable[[Operator], Awaitable[T]]"
) -> T:
    from tinkbox.client.operator import Operator
    from tinkbox.settings import client_target

    target = client_target(chosen.data)
    connection = kind(
        socket=target.socket,
        url=target.url,
        token=target.token,
        variable=target.variable,
        authority=target.authority,
    )
    connection.changed = note_change
    connection.program = called_as(chosen)
    connection.late = tell
    async with Operator(connection) as operator:
        return await question(operator)
