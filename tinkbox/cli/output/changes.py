"""What commands change, key by key, and what they say of it."""

import argparse
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from tinkbox.cli.connection import ask
from tinkbox.cli.output.printable import clean
from tinkbox.cli.output.refusals import tell_refusal
from tinkbox.model.errors import Denied, Refusal, Unavailable

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator

T = TypeVar("T")


def change_each(
    chosen: argparse.Namespace, change: "Callable[[Operator, str], Awaitable[T]]", tell: Callable[[T], None]
) -> int:
    """Have the same done to each key on the command line, in their order, and `tell` what was done as it is done.

    A refusal is told on standard error, and the next key is gone on with.  Returns the exit status: 1 when one was refused.
    Raises what would be refused for each of them: no appliance answers, or it does not know the caller.
    """

    async def changed(operator: "Operator") -> int:
        status = 0
        for key in chosen.keys:
            try:
                tell(await change(operator, key))
            except (Denied, Unavailable):
                raise
            except Refusal as refusal:
                tell_refusal(refusal)
                status = 1
        return status

    return ask(chosen, changed)


def tell_deleted(chosen: argparse.Namespace, kind: str, name: str) -> None:
    """Say what was deleted, where that is not 2020's `tink`, which said nothing of templates and workflows."""
    if not chosen.as_2020:
        print(clean(f"Deleted {kind}:  {name}"), flush=True)
