"""The firewall of this host: whether it keeps machines from ports that they have to reach, or from replies."""

import asyncio
import os
import re
import shutil
import signal
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Final, TypeVar

from tinkbox.model.errors import Unavailable
from tinkbox.model.text import one_line
from tinkbox.model.vitals import ShutPort, TakenPort
from tinkbox.vitals.flows import Port, Way
from tinkbox.vitals.interfaces import bridge_ports
from tinkbox.vitals.iptables import SavedTables
from tinkbox.vitals.nftables import Ruleset, ShutChain, devices_of

# Either of two kinds of tables may filter on one host; `iptables-save` is one of the two that stand before it.
_SAVING: Final = ("iptables-nft-save", "iptables-legacy-save")
_SAVING_ANY: Final = "iptables-save"
# A service need not have the folders of root's programs among its own.
_FOLDERS: Final = "/usr/sbin:/sbin:/usr/local/sbin:/usr/bin:/bin"
_SECONDS: Final = 5.0
_MOST: Final = 8 << 20  # octets of rules that are read
_EXPIRY: Final = re.compile(r', "expires": \d+')  # of an element of a set, in each answer less


T = TypeVar("T")
Of = TypeVar("Of", ShutPort, TakenPort)


@dataclass(frozen=True, slots=True, kw_only=True)
class FirewallReading:
    """What the rules surely do: ports that are shut, ports from which no reply gets out (or none that is long), and ports that are diverted.

    Each is told once, and by itself behind a port of a bridge where it is not so for all.  `limited` are ports of whose questions a part is
    dropped, by a rate or by chance, `limited_replies` those of whose replies it is.

    `unclear` are tables of which that is not known, by the command that shows their rules; `unread` is why one of the programs did not tell its rules.
    """

    shut: tuple[ShutPort, ...] = ()
    replies: tuple[ShutPort, ...] = ()
    limited: tuple[ShutPort, ...] = ()
    limited_replies: tuple[ShutPort, ...] = ()
    taken: tuple[TakenPort, ...] = ()
    unclear: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unread: str = ""

    @property
    def why_unclear(self) -> str:
        """Why not all that the rules do is known, empty where it is."""
        return "; ".join(filter(None, [self.unread, *map(_not_understood, self.unclear, self.unclear.values())]))


def _not_understood(shows: str, tables: Sequence[str]) -> str:
    has = f"table {tables[0]} has" if len(tables) == 1 else f"tables {', '.join(tables)} have"
    return f"{shows.split()[0]}'s {has} rules that tinkbox does not understand: `{shows}` shows them"


class Firewall:
    """Reads the rules anew each time, and thinks about them only when they changed: `changed_at` is when that was seen last.

    That is None while they are as they were when they were read first.
    """

    def __init__(self, ports: Sequence[Port], clock: Callable[[], datetime], folders: str = _FOLDERS) -> None:
        self._ports = ports
        self._replying = [each for each in ports if each.replies]
        self._folders = folders
        self._clock = clock
        self._known: dict[str, tuple[object, FirewallReading]] = {}
        self.changed_at: datetime | None = None

    async def look(self) -> FirewallReading:
        """What the rules do now.  Raises Unavailable where they cannot be read."""
        saving = [each for each in _SAVING if self._program(each)] or [
            each for each in (_SAVING_ANY,) if self._program(each)
        ]
        if not saving and not self._program("nft"):
            raise Unavailable("neither nft nor iptables is installed here")
        # What both show is told in the words of iptables, with which it was made.
        looks: list[Callable[[], Awaitable[FirewallReading]]] = [partial(self._iptables, each) for each in saving]
        if self._program("nft"):
            looks.append(self._nft)
        readings: list[FirewallReading] = []
        refused: list[Unavailable] = []
        for look in looks:
            try:
                readings.append(await look())
            except Unavailable as error:
                refused.append(error)
        shut, replies = _once(each.shut for each in readings), _once(each.replies for each in readings)
        found = FirewallReading(
            shut=shut,
            replies=replies,
            limited=_but(shut, _once(each.limited for each in readings)),
            limited_replies=_but(replies, _once(each.limited_replies for each in readings)),
            taken=_once(each.taken for each in readings),
            unclear={shows: tables for each in readings for shows, tables in each.unclear.items()},
            unread=str(refused[0]) if refused else "",
        )
        if refused and not (found.shut or found.replies or found.limited or found.limited_replies or found.taken):
            raise refused[0]
        return found

    async def _iptables(self, program: str) -> FirewallReading:
        saved = await self._printed(program)
        known = self._known.get(program)
        # Numbers of packets and times stand in what is printed, and change.
        lines = (line for line in saved.splitlines() if not line.startswith("#"))
        rules = "\n".join(line.partition(" [")[0] if line.startswith(":") else line for line in lines)
        if known is None or known[0] != rules:
            self._notice(known)
            read = partial(self._of_iptables, program, rules)
            known = self._known[program] = rules, await asyncio.to_thread(_understood, program, read)
        return known[1]

    def _notice(self, known: object) -> None:
        if known is not None:
            self.changed_at = self._clock()

    def _of_iptables(self, program: str, rules: str) -> FirewallReading:
        tables = SavedTables(rules, self._command(program))
        return FirewallReading(
            shut=tuple(tables.shut(self._ports, Way.IN)),
            replies=tuple(tables.shut(self._replying, Way.OUT)),
            limited=tuple(tables.limited(self._ports, Way.IN)),
            limited_replies=tuple(tables.limited(self._replying, Way.OUT)),
            taken=tuple(tables.taken(self._ports)),
            unclear=_shown_by(program, [*tables.unclear(self._ports)]),
        )

    async def _nft(self) -> FirewallReading:
        told = await self._printed("nft", "--json", "--stateless", "list", "ruleset")
        bridged = {each: frozenset(bridge_ports(each) or ()) for each in {port.interface for port in self._ports}}
        state, known = (_EXPIRY.sub("", told), bridged), self._known.get("nft")
        if known is None or known[0] != state:
            self._notice(known)
            known = self._known["nft"] = state, await self._of_nft(told, bridged)
        return known[1]

    async def _of_nft(self, told: str, bridged: Mapping[str, frozenset[str]]) -> FirewallReading:
        devices: Mapping[tuple[str, str], frozenset[str]] = {}
        if '"ingress"' in told or '"egress"' in told:
            devices = devices_of(await self._printed("nft", "--stateless", "list", "ruleset"))

        def read() -> tuple[list[list[ShutChain]], list[ShutChain], list[str]]:
            rules = Ruleset(told, devices, bridged)
            return (
                [
                    [*rules.shut(self._ports, Way.IN)],
                    [*rules.shut(self._replying, Way.OUT)],
                    [*rules.limited(self._ports, Way.IN)],
                    [*rules.limited(self._replying, Way.OUT)],
                ],
                [*rules.taken(self._ports)],
                [*rules.unclear(self._ports)],
            )

        # There may be thousands of rules, and the appliance answers meanwhile.
        dropping, taken, unclear = await asyncio.to_thread(_understood, "nft", read)
        shut, replies, limited, limited_replies = [
            tuple([each.told(await self._text(each)) for each in those]) for those in dropping
        ]
        return FirewallReading(
            shut=shut,
            replies=replies,
            limited=limited,
            limited_replies=limited_replies,
            taken=tuple([each.taken(await self._text(each)) for each in taken]),
            unclear=_shown_by("nft list ruleset", unclear),
        )

    async def _text(self, shut: ShutChain) -> str:
        """The rule or policy as nft writes it."""
        if shut.handle is None:
            return "policy drop"
        printed = await self._printed(
            "nft", "--handle", "--stateless", "list", "chain", shut.family, shut.table, shut.chain
        )
        lines = (line.strip() for line in printed.splitlines())
        return next((each for each in lines if each.endswith(f"# handle {shut.handle}")), f"# handle {shut.handle}")

    def _command(self, program: str) -> str:
        """What changes the tables that a program prints: plain `iptables` where that is this one of the two."""
        own, plain = program.removesuffix("-save"), "iptables"
        programs = [self._program(each) for each in (own, plain)]
        same = [os.path.realpath(each) for each in programs if each]
        return plain if len(same) == 2 and same[0] == same[1] else own

    def _program(self, name: str) -> str | None:
        return shutil.which(name, path=self._folders)

    async def _printed(self, name: str, *arguments: str) -> str:
        """What a program prints.  Raises Unavailable where it fails, prints too much or takes too long."""
        program = self._program(name)
        if program is None:
            raise Unavailable(f"{name} is not installed here")
        try:
            process = await asyncio.create_subprocess_exec(
                program,
                *arguments,
                stdin=DEVNULL,
                stdout=PIPE,
                stderr=PIPE,
                env={"PATH": self._folders, "LC_ALL": "C"},
                start_new_session=True,
            )
        except OSError as error:
            raise Unavailable(f"{name} cannot be run: {error.strerror}") from None
        ended = False
        try:
            async with asyncio.timeout(_SECONDS):
                printed, complaint = await _read(process)
                ended = len(printed) <= _MOST
        except TimeoutError:
            raise Unavailable(f"{name} took longer than {_SECONDS:.0f} s") from None
        finally:
            if not ended:  # with all that it started: what holds the other end of a pipe keeps us waiting
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
            await process.communicate()  # asyncio sees no end of a pipe that was not read to its end
        if len(printed) > _MOST:
            raise Unavailable(f"{name} tells more than {_MOST >> 20} MiB of rules")
        if process.returncode:
            why = one_line(complaint.decode(errors="replace"), 200)
            raise Unavailable(f"tinkbox has no right to read it with {name}, or {name} failed: {why}")
        return printed.decode(errors="replace")


async def _read(process: asyncio.subprocess.Process) -> tuple[bytes, bytes]:
    assert process.stdout is not None
    assert process.stderr is not None
    printed = await _some(process.stdout, _MOST + 1)
    if len(printed) > _MOST:
        return printed, b""
    complaint = await _some(process.stderr, 4096)
    await process.wait()
    return printed, complaint


async def _some(stream: asyncio.StreamReader, most: int) -> bytes:
    """What comes, up to so many octets."""
    found = bytearray()
    while len(found) < most and (piece := await stream.read(1 << 16)):
        found += piece
    return bytes(found)


def _once(readings: Iterable[Sequence[Of]]) -> tuple[Of, ...]:
    """Of each port the first that tells of it: of all its packets before the long ones, of all machines before those behind a bridge's port."""
    found: dict[tuple[str, int, str, str], Of] = {}
    for each in sorted((one for those in readings for one in those), key=_reach):
        behind, _ = _reach(each)
        of_all = found.get((each.interface, each.port, each.protocol, ""))
        if of_all is None or _reach(each)[1] < _reach(of_all)[1]:
            found.setdefault((each.interface, each.port, each.protocol, behind), each)
    return tuple(found.values())


def _but(shut: Iterable[ShutPort], limited: Iterable[ShutPort]) -> tuple[ShutPort, ...]:
    """Limited ports without those from, or to, which nothing gets at all."""
    told = {(each.interface, each.port, each.protocol) for each in shut if not (each.above or each.behind)}
    return tuple(each for each in limited if (each.interface, each.port, each.protocol) not in told)


def _reach(each: ShutPort | TakenPort) -> tuple[str, int]:
    """Behind which port of a bridge it is so, and what length is let through."""
    return (each.behind, each.above) if isinstance(each, ShutPort) else ("", 0)


def _shown_by(command: str, tables: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    return {command: tuple(tables)} if tables else {}


def _understood(program: str, read: Callable[[], T]) -> T:
    """What was read of rules; raises Unavailable where they are not understood."""
    try:
        return read()
    except ValueError as error:
        raise Unavailable(f"what {program} prints is not understood here: {one_line(str(error), 200)}") from None
