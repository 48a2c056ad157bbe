"""How much one holder may take of what all share, and how much all of them together: every limit is declared here.

A holder is who takes: a host (by its MAC where it is on a network of ours, by its address elsewhere), a user of this host, a
workflow, a person.  To add a limit, declare it here, list it in DECLARED, and take
from its ledger (`Limits.of`).  Its key in tinkbox.yaml, its line in `tinkbox status`, its metrics and what the doctor says
of it follow from the declaration.  Pure: clocks are given.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tinkbox.model.sizes import show_size
from tinkbox.model.text import counted

BYTES: Final = "byte"
# Refusals that are older are not told any more, in seconds.
LATELY: Final = 600.0
# Above this share of a limit, a holder that was refused is still held back by it, and all together are worth a line.
NEARLY: Final = 0.8
REMEMBERED: Final = 1024
SHOWN_HOLDERS: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """What one holder may have at once, and all holders together.

    `name` is its key in the configuration and its label in metrics.  `unit` is what is counted, in the singular; of
    BYTES it is sizes.  Only known holders take of `reserved`, the last part of `all` (from 0 to 1).  `descriptors` is how
    many open files one unit costs.  With less than `least` nothing works, for the reason `needed_for`.
    """

    name: str
    unit: str
    each: int
    all: int
    about: str
    reserved: float = 0.0
    descriptors: int = 0
    least: int = 1
    needed_for: str = ""

    @property
    def key(self) -> str:
        """What people look for in tinkbox.yaml."""
        return f"limits.{self.name}"

    @property
    def for_strangers(self) -> int:
        """As soon as so much is held in all, only known holders are given more."""
        return self.all - int(self.all * self.reserved)

    def shown(self, amount: int) -> str:
        """An amount as people read it: `128 connections`, `32MiB`."""
        return show_size(amount) if self.unit == BYTES else counted(amount, self.unit)

    def counted(self, amount: int) -> str:
        """An amount in front of another one: `130` of `8192 connections`."""
        return show_size(amount) if self.unit == BYTES else str(amount)


# A machine's worker and its container engine have some dozen at a time.  Each may have a file open besides.
NODE_CONNECTIONS: Final = Limit(
    name="node_connections", unit="connection", each=128, all=8192, reserved=0.5, descriptors=2,
    least=16, needed_for="a machine's worker and its container engine have some dozen at a time",
    about="connections to the node door, by host. Half of all are kept for known machines",
)  # fmt: skip
OPERATOR_CONNECTIONS: Final = Limit(
    name="operator_connections", unit="connection", each=64, all=512, reserved=0.5, descriptors=2,
    least=4, needed_for="a person looks on by one while another command or a shell works",
    about="connections to the operator door over TCP, by host. Half of all are kept for hosts that showed a valid token within a day",
)  # fmt: skip
SOCKET_CONNECTIONS: Final = Limit(
    name="socket_connections", unit="connection", each=256, all=256, descriptors=2,
    least=4, needed_for="a person looks on by one while another command or a shell works",
    about="connections to the operator door's unix socket, which has its own whatever comes",
)  # fmt: skip
IMAGE_CONNECTIONS: Final = Limit(
    name="image_connections", unit="connection", each=128, all=128, reserved=0.5, descriptors=2,
    least=8, needed_for="a container engine pulls several layers of an image at a time",
    about="connections to where this host's container engine pulls images, by user of this host. Half of all are kept for "
    "the engine's user",
)  # fmt: skip
# What a machine sends at most is the data of a workflow: 12 MiB for an action, and as much for each of its services.
# 120 MiB at the start + 48 + 2 archives of 12 that are merged, 4 times each + 2 of 12 in SQLite: 288, less than 300 MB.
BODY_BYTES: Final = Limit(
    name="body_bytes", unit=BYTES, each=24 << 20, all=48 << 20, reserved=0.25,
    least=12 << 20, needed_for="a workflow's data comes in one body of up to 12 MiB",
    about="memory for the bodies of requests that are not answered yet, by host",
)  # fmt: skip
# A workflow's data, as people get it with all its files, has up to 16 MiB.
ANSWER_BYTES: Final = Limit(
    name="answer_bytes", unit=BYTES, each=24 << 20, all=48 << 20, reserved=0.5,
    least=16 << 20, needed_for="a workflow's data is one answer of up to 16 MiB",
    about="memory for answers that are not read yet, by host. Half of all are kept for known machines and the unix socket",
)  # fmt: skip
UPLOADS: Final = Limit(
    name="uploads", unit="upload", each=64, all=256, descriptors=1,
    least=8, needed_for="a client pushes several layers of an image at a time",
    about="images' blobs that are being pushed, by host",
)  # fmt: skip
UPLOAD_BYTES: Final = Limit(
    name="upload_bytes", unit=BYTES, each=64 << 30, all=128 << 30,
    least=64 << 20, needed_for="few images have smaller layers",
    about="disk for images' blobs that are being pushed, by host",
)  # fmt: skip
RENDERINGS: Final = Limit(
    name="renderings", unit="rendering", each=16, all=64,
    about="templates that are rendered, or wait for it, by person. Two are rendered at a time",
)  # fmt: skip
# Each asks on the network for seconds, and looks at every machine of a day.
EXAMINATIONS: Final = Limit(
    name="examinations", unit="examination", each=4, all=32,
    about="rounds of the doctor that run, or wait for it, by person. It makes two at a time",
)  # fmt: skip
# Each looks into the store whenever anything happens.
STREAMS: Final = Limit(
    name="streams", unit="stream", each=32, all=128, reserved=0.25,
    about="events, output and shells that are followed, by person. A quarter of all is kept for the unix socket",
)  # fmt: skip
TFTP_TRANSFERS: Final = Limit(
    name="tftp_transfers", unit="transfer", each=32, all=2000, reserved=0.5, descriptors=1,
    about="TFTP transfers, by host. Half of all are kept for known machines",
)  # fmt: skip
# One machine has one at a time.  Each takes half a second.
ADDRESS_PROBES: Final = Limit(
    name="address_probes", unit="probe", each=4, all=512, reserved=0.5, descriptors=1,
    about="addresses of a pool that are looked for on the network before they are lent, by machine. Half of all are kept "
    "for known machines",
)  # fmt: skip
NAME_CONNECTIONS: Final = Limit(
    name="name_connections", unit="connection", each=8, all=64, reserved=0.5, descriptors=1,
    about="connections that ask for names (DNS over TCP), by host. Half of all are kept for known machines",
)  # fmt: skip
# Up to 320 KiB of each direction wait in memory until the other side takes them.
WEBSOCKETS: Final = Limit(
    name="websockets", unit="WebSocket", each=16, all=64, reserved=0.5,
    about="WebSockets to services of workflows, by host. Half of all are kept for known machines",
)  # fmt: skip
# A workflow's network has addresses for 13.
SERVICES: Final = Limit(
    name="services", unit="service", each=16, all=128,
    about="services on the appliance, by workflow. One too many waits until another is gone",
)  # fmt: skip

# Parts of a DHCP pool, which is as large as it is: what unknown machines hold, or keep out, together; and what of that those
# behind one relay port do.
POOL_PART_OF_UNKNOWN: Final = 0.5
POOL_PART_OF_PORT: Final = 0.5
# What is kept out for long because somebody answers there, and how many addresses one host is believed to have.
POOL_PART_OF_CONFLICTS: Final = 0.25
BELIEVED_OF_ONE_HOST: Final = 8
# How many addresses one machine can keep out of a pool by declining them.
MAX_DECLINED: Final = 4
# Whether machines that give an address back still use it: how many of them are asked at a time, and how many may wait.
GIVEN_BACK_AT_ONCE: Final = 32
MAX_GIVEN_BACK: Final = 1024

DECLARED: Final[Sequence[Limit]] = (
    NODE_CONNECTIONS,
    OPERATOR_CONNECTIONS,
    SOCKET_CONNECTIONS,
    IMAGE_CONNECTIONS,
    BODY_BYTES,
    ANSWER_BYTES,
    UPLOADS,
    UPLOAD_BYTES,
    RENDERINGS,
    EXAMINATIONS,
    STREAMS,
    TFTP_TRANSFERS,
    ADDRESS_PROBES,
    NAME_CONNECTIONS,
    WEBSOCKETS,
    SERVICES,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldBack:
    """A holder that was refused lately: what it has, how often it was refused, and how many seconds ago the last time."""

    holder: str
    held: int
    refused: int
    seconds_ago: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What is taken of one limit; `refused` counts since the process began, `held_back` names the worst first."""

    limit: Limit
    used: int
    refused: int
    held_back: Sequence[HeldBack] = ()

    @property
    def scarce(self) -> bool:
        """Whether little is left for all together."""
        return self.used > self.limit.all * NEARLY

    @property
    def notable(self) -> bool:
        """Whether a person wants to read of it."""
        return self.scarce or bool(self.held_back)


def _unknown(_: str) -> bool:
    return False


def _untold(_limit: Limit, _holder: str) -> None:
    return None


class Ledger:
    """Who holds how much of one limit.

    `monotonic` is a clock in seconds.  `told` hears of each holder's first refusal, and of the next after a while (`LATELY`).
    """

    def __init__(
        self, limit: Limit, monotonic: Callable[[], float], told: Callable[[Limit, str], None] = _untold
    ) -> None:
        self.limit = limit
        self._told = told
        self.used = 0
        self.refused = 0
        self._monotonic = monotonic
        self._held: dict[str, int] = {}
        # By holder: how often, and when last; those refused longest ago come first, and are forgotten first.
        self._refusals: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def take(self, holder: str, amount: int = 1, known: Callable[[str], bool] = _unknown) -> bool:
        """Take for a holder, which is to give back as much; False, and nothing is taken, beyond the limit.

        `known` tells whether a holder may take of what is reserved; it is asked only then.
        """
        if not self.has_room(holder, amount, known):
            self.refuse(holder)
            return False
        self._held[holder] = self.held_by(holder) + amount
        self.used += amount
        return True

    def has_room(self, holder: str, amount: int = 1, known: Callable[[str], bool] = _unknown) -> bool:
        """Whether a holder could take so much now."""
        used, limit = self.used + amount, self.limit
        if self.held_by(holder) + amount > limit.each or used > limit.all:
            return False
        return used <= limit.for_strangers or known(holder)

    def give_back(self, holder: str, amount: int = 1) -> None:
        """Give back what was taken."""
        self.used -= amount
        left = self._held.pop(holder, 0) - amount
        if left:
            self._held[holder] = left

    def held_by(self, holder: str) -> int:
        return self._held.get(holder, 0)

    def standing(self) -> Standing:
        """What is taken now, and who is held back."""
        now = self._monotonic()
        found = [
            HeldBack(holder=each, held=self.held_by(each), refused=count, seconds_ago=now - at)
            for each, (count, at) in self._refusals.items()
            if now - at < LATELY
        ]
        found.sort(key=lambda each: (-each.refused, -each.held, each.holder))
        return Standing(limit=self.limit, used=self.used, refused=self.refused, held_back=tuple(found[:SHOWN_HOLDERS]))

    def refuse(self, holder: str) -> None:
        """Note that a holder was refused more than it has, or some of that was taken from it."""
        now = self._monotonic()
        self.refused += 1
        count, at = self._refusals.get(holder, (0, now))
        count = count + 1 if now - at < LATELY else 1
        self._refusals[holder] = (count, now)
        if count == 1:
            self._told(self.limit, holder)
        self._refusals.move_to_end(holder)
        if len(self._refusals) > REMEMBERED:
            self._refusals.popitem(last=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What may be taken of one limit; `known` tells whether a holder may take of what is reserved."""

    ledger: Ledger
    known: Callable[[str], bool]

    def has_room(self, holder: str) -> bool:
        """Whether a holder could take one now."""
        return self.ledger.has_room(holder, known=self.known)

    def take(self, holder: str) -> bool:
        """Take one for a holder, which is to be given back; False beyond the limit."""
        return self.ledger.take(holder, known=self.known)

    def give_back(self, holder: str) -> None:
        self.ledger.give_back(holder)


class Limits:
    """The ledgers of all limits that are declared, as large as they are configured."""

    def __init__(
        self,
        chosen: Iterable[Limit],
        monotonic: Callable[[], float],
        told: Callable[[Limit, str], None] = _untold,
    ) -> None:
        self._ledgers = {each.name: Ledger(each, monotonic, told) for each in chosen}

    def of(self, declared: Limit) -> Ledger:
        """The one ledger of a limit."""
        return self._ledgers[declared.name]

    def standings(self) -> list[Standing]:
        """All limits, in the order of their declaration."""
        return [each.standing() for each in self._ledgers.values()]


def worth_telling(times: int) -> bool:
    """Whether the log is told of something that happens so often by now: the 1st, 2nd, 4th, 8th… time."""
    return times & (times - 1) == 0


def open_files(limits: Sequence[Limit]) -> int:
    """How many open files all of these limits allow together."""
    return sum(each.all * each.descriptors for each in limits)


def fitted(limits: Sequence[Limit], descriptors: int) -> Sequence[Limit]:
    """The limits, the largest lowered until all together allow so many open files at most."""
    ceiling = max(each.all for each in limits if each.descriptors)
    while ceiling > 1 and open_files(limits) > descriptors:
        ceiling -= 1
        limits = [_lowered(each, ceiling) if each.descriptors else each for each in limits]
    return limits


def _lowered(limit: Limit, ceiling: int) -> Limit:
    if limit.all <= ceiling:
        return limit
    # Who alone has all of a limit keeps that, any other leaves most of it to others.
    each = ceiling if limit.each == limit.all else min(limit.each, max(1, ceiling // 4))
    return replace(limit, all=ceiling, each=each)
