"""The machine that attempts run on, and all that they ask of the appliance."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from tinkbox.model.disks.disks import Disk, Refused
from tinkbox.model.reasons import Reason
from tinkbox.runtime import Runtime
from tinkbox.wire.messages.breakpoints import Asked, Held, Orders, Resumed
from tinkbox.wire.messages.disks import Looked
from tinkbox.wire.messages.progress import Telling
from tinkbox.wire.messages.worker import Credential, Leaving, Pulled
from tinkbox.worker.files.worker_folder import WorkerFolder
from tinkbox.worker.shells.shells import Door as ShellDoor


class Door(ShellDoor, Protocol):
    """What an attempt asks of the appliance; `client.node` tells what each raises."""

    async def output(self, attempt: str, offset: int, chunk: bytes) -> int: ...
    async def pulled(self, attempt: str, pulled: Pulled) -> str: ...
    async def data(self, attempt: str) -> bytes: ...
    async def keep_data(self, attempt: str, archive: bytes) -> None: ...
    async def leaving(self, attempt: str, leaving: Leaving) -> None: ...
    async def may_wipe(self, attempt: str, looked: Looked) -> Refused | None: ...
    async def progress(self, attempt: str, telling: Telling) -> None: ...
    async def orders(self, attempt: str, seen: str, engine_away: float = 0.0) -> Orders | None: ...
    async def held(self, attempt: str, held: Held) -> None: ...
    async def resumed(self, attempt: str, resumed: Resumed) -> None: ...
    async def verdict(self, attempt: str, asked: Asked) -> None: ...


async def nothing_to_look_at(_: Sequence[str]) -> tuple[Disk, ...]:
    """There are no disks here."""
    return ()


async def no_disk_here(selection: str) -> str | Refused:
    """There are none to choose from."""
    return Refused(reason=Reason.NO_SUCH_DISK, message=f"no disk is meant by `{selection}`: this machine has none")


async def nothing_to_gather(_: str) -> None:
    """Of no workflow are there services on this machine."""


async def nothing_of_room() -> str:
    """How much room the engine has is not known."""
    return ""


def no_kernel_log() -> str:
    """What the kernel says cannot be read here."""
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Where attempts run; `boot_id` is the kernel's, new whenever the machine has booted.

    `session` names the worker's session, without giving it away.  Without `debug` no action has a helper, so nothing is ever held and nobody gets a shell.  `gather` has the appliance
    keep what a workflow's services on this machine wrote until now; it may raise a Refusal or EngineAway.
    `look` tells what is on disks, by their selections; `find_disk` which block device a selection means.
    `kernel_log` is the kernel's log as it is now, record by record (`wire.kernel_log`).
    `little_room` is as in `worker.host.engine_room`; it may raise ContainerFailed or EngineAway.
    """

    runtime: Runtime
    door: Door
    folder: WorkerFolder
    credential: Credential
    boot_id: str
    session: str = ""
    privileged: bool
    debug: bool = True
    gather: Callable[[str], Awaitable[object]] = nothing_to_gather
    look: Callable[[Sequence[str]], Awaitable[tuple[Disk, ...]]] = nothing_to_look_at
    find_disk: Callable[[str], Awaitable[str | Refused]] = no_disk_here
    kernel_log: Callable[[], str] = no_kernel_log
    little_room: Callable[[], Awaitable[str]] = nothing_of_room
