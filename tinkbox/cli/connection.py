"""The appliance that the commands speak to."""

import argparse
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator

T = TypeVar("T")


def ask(chosen: argparse.Namespace, question: "Callable[[Operator], Awaitable[T]]") -> T:
    """Ask the appliance that `--data`, the environment or the configuration names."""
    import asyncio

    from tinkbox.client.operator import Operator
    from tinkbox.settings import client_target

    async def asked() -> T:
        target = client_target(chosen.data)
        async with Operator(socket=target.socket, url=target.url, token=target.token) as operator:
            return await question(operator)

    return asyncio.run(asked())


def ask_each(chosen: argparse.Namespace, question: "Callable[[Operator, str], Awaitable[T]]") -> list[T]:
    """Ask the same of each key on the command line, in their order."""

    async def asked(operator: "Operator") -> list[T]:
        return [await question(operator, key) for key in chosen.keys]

    return ask(chosen, asked)
