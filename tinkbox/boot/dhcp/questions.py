"""What machines ask by DHCP, read once: whoever asks the same again costs no more reading, and maybe no new answer.

A machine asks the same a few times in every boot, and each time only two fields differ: `xid`, which is to come back, and
`secs`.  Everything else decides about the answer, so that a datagram without these two is what its question is known by.
"""

from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Final, TypeVar

from tinkbox.boot.dhcp.reply_sending import Sendable
from tinkbox.boot.dhcp.reporting import Arrival, Told, arrival
from tinkbox.model.boot import Client, Plan
from tinkbox.wire.dhcp.clients import identify
from tinkbox.wire.dhcp.packets import MessageType, Option, Packet
from tinkbox.wire.dhcp.pxe import BootService, is_for

T = TypeVar("T")
XID: Final = slice(4, 8)
MAC: Final = slice(28, 34)
SECS: Final = slice(8, 10)
KEPT_OF_MACHINE: Final = 8  # two of firmware, two of iPXE, three of the OSIE
KEPT_MACHINES: Final = 2048
LONGEST_KEPT: Final = 600
_BEFORE, _BEHIND = slice(0, 4), slice(10, None)


@dataclass(slots=True, kw_only=True)
class Answer:
    """What is said to a question while `plan` is what is decided, and what is told of it.

    `lends` and `acknowledges` tell whether it gives `address`, if the plan has a lease, and for good.
    """

    plan: Plan
    address: IPv4Address
    lends: bool
    acknowledges: bool
    sendable: Sendable
    told: Told


@dataclass(slots=True, kw_only=True)
class Question:
    """What was asked; `request` has `xid` and `secs` of the first who asked.

    `port` is where it came in, as far as a relay says.  With `gives_back` the machine needs its address no more, or cannot
    use it; `for_another`: it chose another server.  `answer` is the last that was made.
    """

    request: Packet
    client: Client
    port: bytes
    arrival: Arrival
    gives_back: bool
    for_another: bool
    answer: Answer | None = None


class Questions:
    """Those of known machines that were asked twice, the newest of each: nobody can crowd out what another machine asked.

    What is asked once is only counted: when a thousand machines boot at once, keeping it all would cost more than it saves.
    """

    def __init__(self) -> None:
        self._kept: dict[bytes, dict[bytes, Question]] = {}
        self._once: dict[bytes, tuple[int, ...]] = {}  # by MAC, the hashes of what it asked

    def __len__(self) -> int:
        return sum(map(len, self._kept.values()))

    def find(self, mac: bytes, datagram: bytes) -> Question | None:
        """The question that a datagram of this machine asks, when it was kept."""
        kept = self._kept.get(mac)
        return kept.get(_key(datagram)) if kept else None

    def keep(self, mac: bytes, datagram: bytes, question: Question) -> None:
        """Remember what a datagram of a known machine asks."""
        key = _key(datagram)
        asked, once = hash(key), self._once.get(mac, ())
        if asked not in once:
            _make_room(self._once, mac, KEPT_MACHINES)
            self._once[mac] = (*once, asked)[-KEPT_OF_MACHINE:]
        elif len(key) <= LONGEST_KEPT:
            _make_room(self._kept, mac, KEPT_MACHINES)
            kept = self._kept.setdefault(mac, {})
            _make_room(kept, key, KEPT_OF_MACHINE)
            kept[key] = question


def _key(datagram: bytes) -> bytes:
    return datagram[_BEFORE] + datagram[_BEHIND]


def _make_room(kept: dict[bytes, T], key: bytes, most: int) -> None:
    """For one more, of which the oldest goes."""
    if key not in kept and len(kept) >= most:
        del kept[next(iter(kept))]


def question_of(request: Packet, port: bytes, service: BootService) -> Question:
    """What a packet asks of us."""
    client = identify(request)
    selecting = request.message_type is MessageType.REQUEST and Option.SERVER_ID in request.options
    return Question(
        request=request,
        client=client,
        port=port,
        arrival=arrival(request, client),
        gives_back=request.message_type in (MessageType.RELEASE, MessageType.DECLINE),
        for_another=selecting and not is_for(request, service),
    )
