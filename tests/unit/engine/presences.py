"""What is asked of this host and its network about machines: nobody answers, unless a test says so."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from ipaddress import IPv4Address, IPv6Address

from tinkbox.engine.doctor.presence import Presence
from tinkbox.model.hardware import MacAddress
from tinkbox.model.vitals import StaticPort


async def nobody(*_: object) -> bool | None:
    return None


def presence_where(
    *,
    clock: Callable[[], datetime],
    ask: Callable[[IPv4Address, MacAddress], Awaitable[bool | None]] = nobody,
    ask_anybody: Callable[[IPv4Address], Awaitable[bool | None]] = nobody,
    ask_relay: Callable[[IPv4Address], Awaitable[bool | None]] = nobody,
    forwards: Callable[[IPv4Address], bool | None] = lambda _: None,
    static_port: Callable[[MacAddress], StaticPort | None] = lambda _: None,
    learned_port: Callable[[MacAddress], str] = lambda _: "",
    static_neighbour: Callable[[IPv4Address], tuple[str, MacAddress] | None] = lambda _: None,
    listening_at: Callable[[IPv4Address, int], frozenset[IPv4Address | IPv6Address] | None] = lambda *_: None,
) -> Presence:
    return Presence(
        ask=ask,
        ask_anybody=ask_anybody,
        ask_relay=ask_relay,
        forwards=forwards,
        static_port=static_port,
        learned_port=learned_port,
        static_neighbour=static_neighbour,
        listening_at=listening_at,
        clock=clock,
    )
