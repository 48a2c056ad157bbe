"""The appliance that the commands speak to."""

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from tinkbox.client.operator import Operator
from tinkbox.model.errors import Invalid, NotFound
from tinkbox.settings import client_target

T = TypeVar("T")


def ask(chosen: argparse.Namespace, question: Callable[[Operator], Awaitable[T]]) -> T:
    """Ask the appliance that `--data`, the environment or the configuration names."""

    async def asked() -> T:
        target = client_target(chosen.data)
        async with Operator(socket=target.socket, url=target.url, token=target.token) as operator:
            return await question(operator)

    return asyncio.run(asked())


def ask_each(chosen: argparse.Namespace, question: Callable[[Operator, str], Awaitable[T]]) -> list[T]:
    """Ask the same of each key on the command line, in their order."""

    async def asked(operator: Operator) -> list[T]:
        return [await question(operator, key) for key in chosen.keys]

    return ask(chosen, asked)


def read_input(path: Path | None, what: str) -> bytes:
    """The named file, else standard input.  What is named beats what is piped, also where there is no terminal."""
    if path is not None:
        try:
            return path.read_bytes()
        except OSError as error:
            raise NotFound(f"cannot read {path}: {error.strerror}") from None
    if sys.stdin is None or sys.stdin.isatty():
        raise Invalid(f"either pipe the {what} or name its file with --file")
    return sys.stdin.buffer.read()


def read_text(path: Path | None, what: str) -> str:
    """The same as text; raises Invalid for what is not UTF-8."""
    try:
        return read_input(path, what).decode()
    except UnicodeDecodeError as error:
        raise Invalid(f"the {what} is not UTF-8 text: {error}") from None
