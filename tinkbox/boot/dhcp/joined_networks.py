"""Two provisioning interfaces that are plugged into one network: a question that is sent to all comes in on both.

That of a machine proves it less than our own for other servers (`other_servers`): some firmware makes the number of its question of its
MAC, and ours is random.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from ipaddress import IPv4Address
from typing import Final

from tinkbox.boot.dhcp.other_appliances import Asker
from tinkbox.model.hardware import MacAddress
from tinkbox.model.host_vitals import JoinedInterfaces

# As often as we ask, and a minute.
_TOLD_FOR: Final = timedelta(minutes=6)
_AT_ONCE: Final = timedelta(seconds=1)  # from one copy of a question to the other
_KEPT: Final = 256  # questions of machines
_OWN_KEPT: Final = 16  # as many of our own as people ask at once


class JoinedNetworks:
    """`own` are our addresses, by interface; `clock` is in UTC."""

    def __init__(self, own: Mapping[str, IPv4Address], clock: Callable[[], datetime]) -> None:
        self._interface_of = {address: name for name, address in own.items()}
        self._clock = clock
        self._asked: dict[tuple[MacAddress, bytes], tuple[str, datetime]] = {}
        self._ours: dict[int, None] = {}
        self._joined: dict[tuple[str, str], JoinedInterfaces] = {}

    def is_own(self, address: IPv4Address) -> bool:
        """Whether it is ours on one of the interfaces."""
        return address in self._interface_of

    def hear(self, mac: MacAddress, xid: bytes, interface: str) -> None:
        """A machine asked for an address, without a relay, by a question with this number."""
        if len(self._interface_of) < 2:
            return
        now, question = self._clock(), (mac, xid)
        first, at = self._asked.pop(question, (interface, now))
        if first != interface and timedelta() <= now - at <= _AT_ONCE:
            self._keep(first, interface, at=now, mac=mac)
        self._asked[question] = interface, now
        if len(self._asked) > _KEPT:
            del self._asked[next(iter(self._asked))]

    def asking(self, xid: int) -> None:
        """We ask for other servers, by a question with this number."""
        self._ours[xid] = None
        if len(self._ours) > _OWN_KEPT:
            del self._ours[next(iter(self._ours))]

    def hear_own(self, asker: Asker, xid: int, interface: str) -> None:
        """What calls itself our own question came in."""
        sent = self._interface_of.get(asker.address, interface)
        if xid in self._ours and sent != interface:
            self._keep(sent, interface, own_at=self._clock())

    def asked(self, begun: datetime) -> None:
        """We asked on all interfaces from `begun` until now: two of which nothing was heard meanwhile are joined no more."""
        self._joined = {pair: each for pair, each in self._joined.items() if each.newest > begun}

    def all(self) -> tuple[JoinedInterfaces, ...]:
        """Those that were found within the last minutes."""
        now = self._clock()
        return tuple(each for each in self._joined.values() if now - each.newest <= _TOLD_FOR)

    def _keep(
        self,
        *interfaces: str,
        at: datetime | None = None,
        mac: MacAddress | None = None,
        own_at: datetime | None = None,
    ) -> None:
        first, second = _in_order(interfaces, self._interface_of.values())
        before = self._joined.get((first, second)) or JoinedInterfaces(interfaces=(first, second))
        found = replace(before, at=at, mac=mac) if at is not None else replace(before, own_at=own_at)
        self._joined[first, second] = found


def _in_order(interfaces: Iterable[str], names: Iterable[str]) -> list[str]:
    """As the configuration names them."""
    wanted = {*interfaces}
    return [each for each in names if each in wanted]
