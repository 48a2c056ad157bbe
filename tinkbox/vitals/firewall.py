"""The firewall of this host: whether it keeps machines from ports that they have to reach."""

import asyncio
import os
import shutil
import signal
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, TypeVar

from tinkbox.model.errors import Unavailable
from tinkbox.model.text import one_line
from tinkbox.model.vitals import ShutPort
from tinkbox.vitals.filter_rules import Port
from tinkbox.vitals.iptables import shut_ports
from tinkbox.vitals.nftables import Ruleset, ShutChain

# Either of two kinds of tables may filter on one host; `iptables-save` is one of the two that stand before it.
_SAVING: Final = ("iptables-nft-save", "iptables-legacy-save")
_SAVING_ANY: Final = "iptables-save"
# A service need not have the folders of root's programs among its own.
_FOLDERS: Final = "/usr/sbin:/sbin:/usr/local/sbin:/usr/bin:/bin"
_SECONDS: Final = 5.0
_MOST: Final = 8 << 20  # octets of rules that are read


T = TypeVar("T")


class Firewall:
    """Reads the rules anew each time, and thinks about them only when they changed."""

    def __init__(self, ports: Sequence[Port], folders: str = _FOLDERS) -> None:
        self._ports = ports
        self._folders = folders
        self._known: dict[str, tuple[str, tuple[ShutPort, ...]]] = {}

    async def look(self) -> tuple[ShutPort, ...]:
        """The ports that are surely shut, each once.  Raises Unavailable where the rules cannot be read."""
        found: dict[tuple[str, int, str], ShutPort] = {}
        saving = [each for each in _SAVING if self._program(each)] or [
            each for each in (_SAVING_ANY,) if self._program(each)
        ]
        if not saving and not self._program("nft"):
            raise Unavailable("neither nft nor iptables is installed here")
        # What both show is told in the words of iptables, with which it was made.
        looks: list[Callable[[], Awaitable[tuple[ShutPort, ...]]]] = [partial(self._iptables, each) for each in saving]
        if self._program("nft"):
            looks.append(self._nft)
        refused: list[Unavailable] = []
        for look in looks:
            try:
                for each in await look():
                    found.setdefault((each.interface, each.port, each.protocol), each)
            except Unavailable as error:
                refused.append(error)
        if refused and not found:
            raise refused[0]
        return tuple(found.values())

    async def _iptables(self, program: str) -> tuple[ShutPort, ...]:
        saved = await self._printed(program)
        known = self._known.get(program)
        # Numbers of packets and times stand in what is printed, and change.
        lines = (line for line in saved.splitlines() if not line.startswith("#"))
        rules = "\n".join(line.partition(" [")[0] if line.startswith(":") else line for line in lines)
        if known is None or known[0] != rules:
            known = self._known[program] = (
                rules,
                tuple(_understood(program, lambda: [*shut_ports(rules, self._ports, self._command(program))])),
            )
        return known[1]

    async def _nft(self) -> tuple[ShutPort, ...]:
        told = await self._printed("nft", "--json", "--stateless", "list", "ruleset")
        known = self._known.get("nft")
        if known is None or known[0] != told:
            shut = _understood("nft", lambda: [*Ruleset(told).shut(self._ports)])
            known = self._known["nft"] = told, tuple([each.told(await self._text(each)) for each in shut])
        return known[1]

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


def _understood(program: str, read: Callable[[], list[T]]) -> list[T]:
    """What was read of rules; raises Unavailable where they are not understood."""
    try:
        return read()
    except ValueError as error:
        raise Unavailable(f"what {program} prints is not understood here: {one_line(str(error), 200)}") from None
