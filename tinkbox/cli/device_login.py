"""Log-in at a box with the accounts of its company: what a person is shown meanwhile."""

import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from tinkbox.cli.output.printable import clean, moment
from tinkbox.model.duration import show_duration

if TYPE_CHECKING:
    import ssl

    from tinkbox.client.operator.connection import Connection
    from tinkbox.wire.oidc import DeviceCode


def token_by_issuer(box: "Connection") -> str:
    """The token that a box gives to who confirms a code at its issuer; raises what `client.device_flow.sign_in` raises.

    `box` is a lasting connection to it, which needs no token.
    """
    from tinkbox.cli.interruptions.ended_conversations import run_until_ended

    return run_until_ended(signed_in(box))


async def signed_in(box: "Connection", wait: Callable[[float], Awaitable[None]] | None = None) -> str:
    """The same within an event loop; `wait` waits so many seconds, by default as long as that."""
    import asyncio

    from tinkbox.client.device_flow import sign_in
    from tinkbox.client.operator import Operator

    async with Operator(box) as operator:
        made = await sign_in(operator, _show, _trusting, wait or asyncio.sleep)
    rights = ", ".join(made.rights)
    _tell(f"You are {made.name} there, with the rights {rights}, until {moment(made.expires)}.")
    return made.value


def _show(code: "DeviceCode") -> None:
    _tell("Open this in a browser, on any device, and log in there:")
    _tell(f"  {code.url}")
    _tell(f"Type this code there: {code.user_code}")
    if code.complete_url:
        _tell("Or open this, which has the code in it, and compare that with the one above:")
        _tell(f"  {code.complete_url}")
    _tell(f"Waiting until you have confirmed it, for {show_duration(code.lifetime)}. Ctrl-C ends this.")


def _tell(line: str) -> None:
    print(clean(line), file=sys.stderr, flush=True)


def _trusting(ca_pem: str) -> "ssl.SSLContext":
    from tinkbox.client.issuer import trusting
    from tinkbox.trusted_authorities import trusted_authorities

    return trusting(ca_pem) if ca_pem else trusted_authorities()
