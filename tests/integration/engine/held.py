"""A machine that is held at a breakpoint, and shells in its container, for tests of what goes on there."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from uuid import UUID

from tests.integration.engine.appliance import Appliance
from tinkbox.engine.shells.relay import Seat
from tinkbox.engine.shells.shells import Shells
from tinkbox.model.breakpoint import Kind
from tinkbox.model.shells import ShellEnd, ShellWish
from tinkbox.model.workflow import Outcome, State
from tinkbox.wire.messages.breakpoints import Held
from tinkbox.wire.messages.shell import Channel, Frame, read_control, read_status
from tinkbox.wire.messages.worker import Hello, Offer

SHELL = ShellWish(id="", tty=True)
COMMAND = ShellWish(id="", tty=False, command=("cat", "a file"))


async def hold(box: Appliance, worker: str, *, container: bool = True, debug: bool = True) -> Offer:
    """Begin a workflow of the machine with this id, and have its first action fail and, unless it may not be, held."""
    await box.workflow()
    offer = await box.attempts.offer(worker, Hello(boot_id="boot-1", debug=debug))
    assert offer is not None
    if debug:
        await say_held(box, worker, offer, container=container)
    return offer


async def say_held(box: Appliance, worker: str, offer: Offer, sequence: int = 1, *, container: bool = True) -> None:
    outcome = Outcome(state=State.FAILED, exit_code=7, reason="NonZeroExit", message="it ended with status 7")
    held = Held(
        workflow_id=offer.workflow_id, boot_id="boot-1", sequence=sequence, kind=Kind.FAILURE, outcome=outcome,
        container=container, in_place=container,
    )  # fmt: skip
    await box.breakpoints.held(worker, offer.attempt, held)


@dataclass
class Hub:
    """Shells over the engine's store, which can be made anew as after a restart."""

    box: Appliance
    folder: Path
    touched: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._numbers = count(1)
        self.shells = self._made()

    async def restart(self) -> None:
        """The appliance is killed and started again."""
        await self.stop()
        self.shells = self._made()
        await self.shells.load()

    async def stop(self) -> None:
        async with asyncio.TaskGroup() as group:
            running = group.create_task(self.shells.run())
            await asyncio.sleep(0)
            running.cancel()

    def _made(self) -> Shells:
        async def touch(token: str) -> None:
            self.touched.append(token)

        return Shells(
            self.box.store,
            self.box.wakeups,
            self.box.clock,
            lambda: str(UUID(int=(next(self._numbers) << 96) + 9)),
            lambda: f"ticket-{next(self._numbers)}",
            self.folder / "recordings",
            touch,
            self.box.masks,
            self.box.shell_drivers,
            audit=self.box.audit,
            patience=0.2,
        )

    async def events(self, key: str) -> list[tuple[str, dict[str, object]]]:
        """What happened to shells, without the action's name."""
        known = {"task", "action", "worker", "attempt"}
        return [
            (event.kind, {name: value for name, value in event.data.items() if name not in known})
            for event in await self.box.workflows.events(key)
            if event.kind.startswith("shell.")
        ]


async def shown(seat: Seat, what: bytes | ShellEnd) -> bytes:
    """What a client is shown until it contains `what`, or ends like that."""
    seen = b""
    async with asyncio.timeout(60):
        while (frame := await seat.next_frame()) is not None:
            if frame.channel in (Channel.STDOUT, Channel.STDERR):
                seen += frame.content
                if isinstance(what, bytes) and what in seen:
                    return seen
            elif frame.channel is Channel.STATUS:
                assert read_status(frame) == what, seen
                return seen
    raise AssertionError(f"hung up on after {seen!r}")


async def told(seat: Seat, name: str) -> object:
    """The next thing of that name that a client is told."""
    async with asyncio.timeout(60):
        while (frame := await seat.next_frame()) is not None:
            if frame.channel is Channel.CONTROL and name in read_control(frame):
                return read_control(frame)[name]
    raise AssertionError("hung up on")


def out(content: bytes) -> Frame:
    return Frame(Channel.STDOUT, content)


def typed(content: bytes) -> Frame:
    return Frame(Channel.STDIN, content)


def kinds(events: Sequence[tuple[str, object]]) -> list[str]:
    return [kind for kind, _ in events]
