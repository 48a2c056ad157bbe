"""How far this host's clock is from the time servers that the host is configured with.  No others are asked."""

import asyncio
import socket
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from tinkbox.model.errors import Unavailable

PORT: Final = 123
_SECONDS: Final = 3.0  # for one server
_MOST: Final = 3
_EPOCH: Final = datetime(1900, 1, 1, tzinfo=UTC)  # RFC 5905 §6, of era 0, which lasts until 2036
_ERA: Final = 1 << 32
_PACKET: Final = struct.Struct(">BBbb11I")
_CLIENT, _SERVER = 3, 4  # RFC 5905 §7.3: mode
_VERSION: Final = 4 << 3
# systemd-timesyncd, chrony, and the daemons that read ntp.conf.
_TIMESYNCD: Final = (
    "etc/systemd/timesyncd.conf",
    "etc/systemd/timesyncd.conf.d/*.conf",
    "run/systemd/timesyncd.conf.d/*.conf",
)
_NTP: Final = (
    "etc/chrony/chrony.conf",
    "etc/chrony.conf",
    "etc/chrony/conf.d/*.conf",
    "etc/chrony/sources.d/*.sources",
    "run/chrony-dhcp/*.sources",
    "etc/ntpsec/ntp.conf",
    "etc/ntp.conf",
)
_MOST_READ: Final = 1 << 16


def configured(root: Path = Path("/")) -> Sequence[str]:
    """The names or addresses of the host's time servers, the first few; this reads small files."""
    found = [*_words_of_timesyncd(root), *_servers(root)]
    return tuple(dict.fromkeys(found))[:_MOST]


def _lines(root: Path, patterns: Sequence[str]) -> Iterator[str]:
    for pattern in patterns:
        for path in sorted(root.glob(pattern)):
            with suppress(OSError), path.open(errors="replace") as file:
                yield from file.read(_MOST_READ).splitlines()


def _words_of_timesyncd(root: Path) -> Iterator[str]:
    for line in _lines(root, _TIMESYNCD):
        key, _, value = line.partition("=")
        if key.strip() in ("NTP", "FallbackNTP"):
            yield from value.split()


def _servers(root: Path) -> Iterator[str]:
    for line in _lines(root, _NTP):
        words = line.split()
        if len(words) > 1 and words[0] in ("server", "pool", "peer"):
            yield words[1]


async def offset(
    clock: Callable[[], datetime],
    identity: Callable[[], bytes],
    servers: Callable[[], Sequence[str]] = configured,
    port: int = PORT,
) -> tuple[timedelta, str]:
    """How far `clock` is ahead of the first server that answers, and which that is.

    `identity` is eight random octets.  Raises Unavailable where none is configured, none answers, or those that do have no time themselves.
    """
    names = await asyncio.to_thread(servers)
    if not names:
        raise Unavailable("no time server is configured on this host")
    timeless: list[str] = []
    for name in names:
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(_SECONDS):
                ahead = await _asked(name, port, clock, identity())
            if ahead is not None:
                return ahead, name
            timeless.append(name)
    if timeless:
        silent = [each for each in names if each not in timeless]
        also = f"; no answer from {', '.join(silent)}" if silent else ""
        raise Unavailable(f"{', '.join(timeless)} answers, and is not synchronised itself{also}")
    raise Unavailable(f"no time server answers: {', '.join(names)}")


async def _asked(name: str, port: int, clock: Callable[[], datetime], identity: bytes) -> timedelta | None:
    """How far we are ahead of a server; None: it answers, and has no time itself.  Raises OSError, and waits for ever where none answers."""
    loop = asyncio.get_running_loop()
    addresses = await loop.getaddrinfo(name, port, family=socket.AF_INET, type=socket.SOCK_DGRAM)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as asking:
        asking.setblocking(False)
        asking.connect(addresses[0][4])  # so that nobody else is heard
        sent = clock()
        await loop.sock_sendall(asking, question(identity))
        while True:
            answer = await loop.sock_recv(asking, 1024)
            if (ahead := read_answer(answer, identity, sent, clock())) is not None:
                return ahead
            if is_timeless(answer, identity):
                return None


def question(identity: bytes) -> bytes:
    """What a client asks (RFC 5905 §14); the time that it names is none, and comes back in the answer."""
    return _PACKET.pack(_VERSION | _CLIENT, 0, 0, 0, *[0] * 9, *struct.unpack(">2I", identity))


def read_answer(answer: bytes, identity: bytes, sent: datetime, heard: datetime) -> timedelta | None:
    """How far our clock is ahead, None for what answers no question of ours, or comes from a server that has no time itself."""
    if len(answer) < _PACKET.size:
        return None
    first, stratum, words = _unpacked(answer)
    if not _is_reply(answer, identity) or not 0 < stratum < 16 or first >> 6 == 3:
        return None
    middle = sent + (heard - sent) / 2
    received, answered = _time(words[7], words[8], heard), _time(words[9], words[10], heard)
    return middle - (received + (answered - received) / 2)


def is_timeless(answer: bytes, identity: bytes) -> bool:
    """Whether an answer to our question is of a server that is not synchronised itself (RFC 5905 §7.3)."""
    if len(answer) < _PACKET.size or not _is_reply(answer, identity):
        return False
    first, stratum, words = _unpacked(answer)
    sends_away = stratum == 0 and words[2].to_bytes(4, "big").isalpha()  # §7.4: it may have the time, and not for us
    return not sends_away and (not 0 < stratum < 16 or first >> 6 == 3)


def _is_reply(answer: bytes, identity: bytes) -> bool:
    first, _, words = _unpacked(answer)
    return first & 7 == _SERVER and struct.pack(">2I", *words[5:7]) == identity


def _unpacked(answer: bytes) -> tuple[int, int, list[int]]:
    """What its first octet and its stratum are, and its words behind these."""
    first, stratum, _, _, *words = _PACKET.unpack(answer[: _PACKET.size])
    return first, stratum, words


def _time(seconds: int, fraction: int, near: datetime) -> datetime:
    """A timestamp as the time of that era which is nearest to `near`."""
    told = _EPOCH + timedelta(seconds=seconds, microseconds=fraction * 1_000_000 // _ERA)
    eras = round((near - told) / timedelta(seconds=_ERA))
    return told + timedelta(seconds=_ERA) * eras
