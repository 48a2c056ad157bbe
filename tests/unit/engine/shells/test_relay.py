import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.unit.hosting.virtual_time import run
from tinkbox.engine.shells.frame_queue import LIMIT, CutOff
from tinkbox.engine.shells.recordings import Recordings
from tinkbox.engine.shells.relay import Line, Relay, Seat
from tinkbox.engine.shells.scrollback import SIZE, Scrollback
from tinkbox.model.errors import Conflict, Invalid
from tinkbox.model.shells import Mode, ShellEnd, ShellWish
from tinkbox.store.shells import Session
from tinkbox.wire.messages.shell import Channel, Frame, close, control, read_control, read_resize, resize, status
from tinkbox.wire.terminal.asciicast import Header, decode

NOW = datetime(2026, 11, 21, tzinfo=UTC)
SHELL = Session(
    id="s", attempt="a", workflow_id="w", who="anna", driver="anna", record_input=False, opened_at=NOW,
    wish=ShellWish(id="s", tty=True),
)  # fmt: skip
COMMAND = replace(SHELL, wish=ShellWish(id="s", tty=False, command=("cat",)))


@dataclass
class Keeper:
    told: list[tuple[object, ...]] = field(default_factory=list)

    async def driver_changed(self, session: Session, seat: Seat, before: str) -> None:
        self.told.append(("driver", seat.person, before))

    async def over(self, session: Session, end: ShellEnd) -> None:
        self.told.append(("over", end))


@pytest.fixture
def keeper() -> Keeper:
    return Keeper()


class Made:
    """Relays over one folder of recordings, as one appliance after another makes them."""

    def __init__(self, folder: Path, keeper: Keeper) -> None:
        self.recordings = Recordings(folder, lambda: NOW)
        self._keeper = keeper
        self._made: list[Relay] = []

    def relay(self, session: Session = SHELL, patience: float = 0.1, scrollback: Scrollback | None = None) -> Relay:
        recording = self.recordings.record("w", "s", Header(width=80, height=24, timestamp=int(NOW.timestamp())))
        self._made.append(
            Relay(session, recording, scrollback or Scrollback(), self._keeper, lambda: NOW, patience=patience)
        )
        return self._made[-1]

    def recorded(self) -> list[tuple[str, str]]:
        lines = self.recordings.path("w", "s").read_text().splitlines()[1:]
        return [(happened.kind.value, happened.text) for happened in decode(lines)]

    def close(self) -> None:
        for relay in self._made:
            relay.stop_recording()


@pytest.fixture
async def made(tmp_path: Path, keeper: Keeper) -> AsyncIterator[Made]:
    making = Made(tmp_path, keeper)
    yield making
    making.close()


def out(text: str | bytes) -> Frame:
    return Frame(Channel.STDOUT, text.encode() if isinstance(text, str) else text)


def typed(text: str) -> Frame:
    return Frame(Channel.STDIN, text.encode())


async def cut_off(side: Seat | Line) -> None:
    """Wait until somebody is hung up on."""
    with pytest.raises(CutOff):
        async with asyncio.timeout(60):
            await side.until_cut_off()


async def shown(seat: Seat, count: int) -> list[Frame]:
    """The next so many frames that are no control."""
    found: list[Frame] = []
    async with asyncio.timeout(60):
        while len(found) < count:
            frame = await seat.next_frame()
            assert frame is not None
            found += [] if frame.channel is Channel.CONTROL else [frame]
    return found


async def told(seat: Seat) -> list[dict[str, object]]:
    """Everything it is told now; what is shown in between is skipped."""
    seat.tell({"last": True})
    found: list[dict[str, object]] = []
    while {"last": True} not in found:
        frame = await seat.next_frame()
        assert frame is not None
        found += [dict(read_control(frame))] if frame.channel is Channel.CONTROL else []
    return found[:-1]


async def test_what_the_driver_types_reaches_the_shell_and_what_it_prints_everybody(made: Made) -> None:
    relay = made.relay()
    anna, ben = relay.join("anna", Mode.DRIVE, 0), relay.join("ben", Mode.VIEW, 0)
    line = relay.connect()
    await anna.deliver(typed("ls\r"))
    assert [await line.next_frame() for _ in range(2)] == [resize(23, 80), typed("ls\r")]
    await line.deliver(out("file"))
    assert (await shown(anna, 2))[1] == (await shown(ben, 2))[1] == out("file")
    assert relay.people() == [("anna", True), ("ben", False)]


async def test_what_a_viewer_types_is_dropped(made: Made) -> None:
    relay = made.relay()
    anna, ben = relay.join("anna", Mode.DRIVE, 0), relay.join("ben", Mode.DRIVE, 0)
    line = relay.connect()
    await ben.deliver(typed("rm -rf /\r"))
    await ben.deliver(resize(1, 1))
    await anna.deliver(typed("x"))
    assert [await line.next_frame() for _ in range(2)] == [resize(23, 80), typed("x")]


async def test_somebody_takes_the_keyboard_and_both_are_told(made: Made, keeper: Keeper) -> None:
    relay = made.relay()
    anna, ben = relay.join("anna", Mode.DRIVE, 0), relay.join("ben", Mode.VIEW, 0)
    await told(anna)
    await told(ben)
    await ben.deliver(control({"take": True}))
    assert await told(anna) == [{"driver": "ben", "yours": False, "connected": False}]
    assert await told(ben) == [{"driver": "ben", "yours": True, "connected": False}]
    await ben.deliver(control({"take": True}))
    assert keeper.told == [("driver", "ben", "anna")]
    line = relay.connect()
    await anna.deliver(typed("no"))
    await ben.deliver(typed("yes"))
    assert [await line.next_frame() for _ in range(2)] == [resize(23, 80), typed("yes")]


async def test_who_comes_to_take_drives_and_who_comes_later_to_drive_looks_on(made: Made) -> None:
    relay = made.relay()
    anna = relay.join("anna", Mode.DRIVE, 0)
    ben = relay.join("ben", Mode.TAKE, 0)
    cleo = relay.join("cleo", Mode.DRIVE, 0)
    assert [relay.drives(seat) for seat in (anna, ben, cleo)] == [False, True, False]


async def test_the_same_person_who_comes_again_goes_on_driving(made: Made) -> None:
    relay = made.relay()
    first = relay.join("anna", Mode.DRIVE, 0)
    second = relay.join("anna", Mode.DRIVE, 0)
    assert relay.drives(second)
    relay.leave(first)
    assert relay.drives(second)
    assert relay.join("anna", Mode.VIEW, 0)
    assert relay.drives(second)


async def test_a_driver_who_leaves_frees_the_seat(made: Made) -> None:
    relay = made.relay()
    anna, ben = relay.join("anna", Mode.DRIVE, 0), relay.join("ben", Mode.VIEW, 0)
    assert relay.alone_since is None
    relay.leave(anna)
    assert (relay.driver, relay.alone_since) == ("", NOW)
    assert (await told(ben))[-1] == {"driver": None, "yours": False, "connected": False}
    assert relay.drives(relay.join("cleo", Mode.DRIVE, 0))


async def test_who_comes_later_sees_what_was_printed_before(made: Made) -> None:
    relay = made.relay()
    line = relay.connect()
    await line.deliver(out("one\r\n"))
    await line.deliver(out("two\r\n"))
    anna = relay.join("anna", Mode.DRIVE, 0)
    assert await shown(anna, 1) == [out("one\r\ntwo\r\n")]
    assert (await told(anna))[-1] == {"place": 10}
    ben = relay.join("ben", Mode.DRIVE, 5)
    assert await shown(ben, 1) == [out("two\r\n")]
    await line.deliver(out("three"))
    assert (await shown(ben, 2))[1] == out("three")


async def test_a_shell_goes_on_when_the_appliance_was_started_again(made: Made) -> None:
    before = made.relay()
    line = before.connect()
    await line.deliver(out("one\r\n"))
    before.stop_recording()
    scrollback = Scrollback()
    for content in made.recordings.output("w", "s"):
        scrollback.add(content)
    relay = made.relay(replace(SHELL, begun_at=NOW), scrollback=scrollback)
    anna = relay.join("anna", Mode.DRIVE, 0)
    await relay.connect().deliver(out("two"))
    assert [frame.content for frame in await shown(anna, 3) if frame.channel is Channel.STDOUT] == [b"one\r\n", b"two"]
    assert made.recorded() == [("o", "one\r\n"), ("o", "two")]


async def test_a_program_is_nudged_to_draw_its_screen_anew_for_who_comes_later(made: Made) -> None:
    relay = made.relay()
    relay.join("anna", Mode.DRIVE, 0)
    line = relay.connect()
    relay.join("ben", Mode.VIEW, 0)
    async with asyncio.timeout(60):
        assert [await line.next_frame() for _ in range(2)] == [resize(23, 80), resize(24, 80)]


async def test_a_nudge_leaves_the_size_that_the_driver_chose_meanwhile(made: Made) -> None:
    relay = made.relay()
    anna = relay.join("anna", Mode.DRIVE, 0)
    line = relay.connect()
    relay.join("ben", Mode.VIEW, 0)
    await anna.deliver(resize(50, 132))
    async with asyncio.timeout(60):
        assert [await line.next_frame() for _ in range(3)] == [resize(23, 80), resize(50, 132), resize(50, 132)]


async def test_the_size_follows_the_driver_and_viewers_are_told(made: Made) -> None:
    relay = made.relay()
    anna, ben = relay.join("anna", Mode.DRIVE, 0), relay.join("ben", Mode.VIEW, 0)
    await anna.deliver(resize(50, 132))
    await anna.deliver(resize(50, 132))
    assert [read_resize(frame) for frame in await shown(ben, 2)] == [(24, 80), (50, 132)]
    assert made.recorded() == [("r", "132x50")]


async def test_a_shell_does_not_wait_for_a_viewer_who_takes_nothing(made: Made) -> None:
    relay = made.relay(patience=3600)
    anna = relay.join("anna", Mode.DRIVE, 0)
    relay.join("ben", Mode.VIEW, 0)
    line = relay.connect()
    seen = 0
    async with asyncio.timeout(60):
        while seen <= 10 * LIMIT:
            await line.deliver(out(b"x" * 60_000))
            seen += sum(len(frame.content) for frame in await shown(anna, 1))


async def test_a_viewer_who_takes_nothing_is_hung_up_on_and_nobody_else(made: Made) -> None:
    relay = made.relay()
    anna, ben = relay.join("anna", Mode.DRIVE, 0), relay.join("ben", Mode.VIEW, 0)
    line = relay.connect()
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        cut = group.create_task(cut_off(ben))
        while not cut.done():
            await line.deliver(out(b"x" * 60_000))
            await shown(anna, 1)
            await asyncio.sleep(0)  # what nobody waits for lets no timer run
        await anna.deliver(typed("still here"))
        await line.deliver(out(b"and heard"))
        await shown(anna, 1)


async def test_a_viewer_who_is_slow_skips_and_sees_the_end(made: Made) -> None:
    relay = made.relay(patience=5)
    anna, ben = relay.join("anna", Mode.DRIVE, 0), relay.join("ben", Mode.VIEW, 0)
    line = relay.connect()
    for number in range(100):
        await line.deliver(out(b"%05d\n" % number * 2_000))
        await shown(anna, 1)
    seen, frames = b"", []
    while not seen.endswith(b"00099\n"):
        frames.append(await ben.next_frame())
        assert frames[-1] is not None
        seen += frames[-1].content if frames[-1].channel is Channel.STDOUT else b""
    assert LIMIT < len(seen) < 2 * LIMIT + SIZE
    assert any(frame and b"too slow" in frame.content for frame in frames)
    await line.deliver(out("next"))
    assert await shown(ben, 1) == [out("next")]


async def test_a_viewer_who_is_slow_sees_the_end_also_of_a_shell_that_is_over(made: Made) -> None:
    relay = made.relay(patience=5)
    anna, ben = relay.join("anna", Mode.DRIVE, 0), relay.join("ben", Mode.VIEW, 0)
    line = relay.connect()
    for number in range(100):
        await line.deliver(out(b"%05d\n" % number * 2_000))
        await shown(anna, 1)
    # Who types now must see everything from now on, but first what they missed.
    await ben.deliver(control({"take": True}))
    seen = b""
    async with asyncio.TaskGroup() as group:
        giving = group.create_task(line.deliver(out("last words\n")))
        giving.add_done_callback(lambda _: relay.finish(ShellEnd(0)))
        while (frame := await ben.next_frame()) is not None:
            await asyncio.sleep(0)
            seen += frame.content if frame.channel is Channel.STDOUT else b""
            last = frame
    assert seen.endswith(b"00099\nlast words\n")
    assert seen.count(b"last words") == 1
    assert last == status(ShellEnd(0))


async def test_who_waits_is_told_when_the_machine_is_there(made: Made) -> None:
    relay = made.relay()
    anna = relay.join("anna", Mode.DRIVE, 0)
    assert {"driver": "anna", "yours": True, "connected": False} in await told(anna)
    relay.connect()
    assert await told(anna) == [{"driver": "anna", "yours": True, "connected": True}]


def test_the_driver_sets_the_pace_of_a_shell_until_they_stand_still(tmp_path: Path, keeper: Keeper) -> None:
    async def story() -> None:
        made = Made(tmp_path, keeper)
        relay = made.relay(patience=0.3)
        anna = relay.join("anna", Mode.DRIVE, 0)
        line = relay.connect()
        await shown(anna, 1)
        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            cut = group.create_task(cut_off(anna))
            for _ in range(6):
                giving = group.create_task(line.deliver(out(b"x" * LIMIT)))
                await asyncio.sleep(0.1)
                assert not giving.done()
                await shown(anna, 1)
                await giving
            assert not cut.done()
            await line.deliver(out(b"x" * LIMIT))
            await cut
            await line.deliver(out(b"x" * LIMIT))
        made.close()

    run(story)  # a host that stands still is no driver who does


async def test_a_command_waits_for_its_reader_and_nothing_is_lost(made: Made) -> None:
    relay = made.relay(COMMAND, patience=0.01)
    anna = relay.join("anna", Mode.DRIVE, 0)
    line = relay.connect()
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        giving = group.create_task(line.deliver(out(b"x" * LIMIT)))
        await asyncio.sleep(0.1)
        assert not giving.done()
        await shown(anna, 1)
        await giving


async def test_input_waits_for_a_machine_that_takes_none(made: Made) -> None:
    relay = made.relay()
    anna = relay.join("anna", Mode.DRIVE, 0)
    line = relay.connect()
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        giving = group.create_task(anna.deliver(typed("x" * 65_535)))
        await asyncio.sleep(0.05)
        assert not giving.done()
        await line.next_frame()
        await giving


async def test_what_was_typed_while_the_machine_was_away_reaches_it(made: Made) -> None:
    relay = made.relay()
    anna = relay.join("anna", Mode.DRIVE, 0)
    first = relay.connect()
    relay.disconnect(first)
    await anna.deliver(typed("x"))
    second = relay.connect()
    assert await second.next_frame() == typed("x")
    assert [each["notice"] for each in await told(anna) if "notice" in each] == [
        "the machine's connection is lost: waiting for it",
        "the machine is connected again",
    ]


async def test_a_machine_that_dials_again_replaces_its_older_connection(made: Made) -> None:
    relay = made.relay()
    anna = relay.join("anna", Mode.DRIVE, 0)
    first = relay.connect()
    second = relay.connect()
    await cut_off(first)
    with pytest.raises(CutOff):
        await first.next_frame()
    await first.deliver(out("old"))
    await second.deliver(out("new"))
    relay.disconnect(first)
    assert (await shown(anna, 2))[1] == out("new")
    assert not [each for each in await told(anna) if "lost" in str(each.get("notice"))]


async def test_a_command_has_separate_streams_and_an_end_of_its_input(made: Made) -> None:
    relay = made.relay(COMMAND)
    anna = relay.join("anna", Mode.DRIVE, 0)
    line = relay.connect()
    await anna.deliver(typed("in"))
    await anna.deliver(resize(1, 1))
    await anna.deliver(close(Channel.STDIN))
    assert [await line.next_frame() for _ in range(2)] == [typed("in"), close(Channel.STDIN)]
    await line.deliver(out("out"))
    await line.deliver(Frame(Channel.STDERR, b"err"))
    assert await shown(anna, 2) == [out("out"), Frame(Channel.STDERR, b"err")]
    assert made.recorded() == [("o", "out"), ("o", "err")]


@pytest.mark.parametrize("session", [COMMAND, replace(COMMAND, begun_at=NOW)])
async def test_a_command_has_one_client_in_its_life(made: Made, session: Session) -> None:
    relay = made.relay(session)
    if session.begun_at is None:
        relay.leave(relay.join("anna", Mode.DRIVE, 0))
    with pytest.raises(Conflict):
        relay.join("anna", Mode.DRIVE, 0)


async def test_the_end_of_a_drivers_input_is_not_the_end_of_a_shell(made: Made) -> None:
    relay = made.relay()
    anna = relay.join("anna", Mode.DRIVE, 0)
    line = relay.connect()
    await anna.deliver(close(Channel.STDIN))
    await anna.deliver(typed("x"))
    assert await line.next_frame() == typed("x")


async def test_the_end_comes_last_for_everybody(made: Made, keeper: Keeper) -> None:
    relay = made.relay()
    anna = relay.join("anna", Mode.DRIVE, 0)
    line = relay.connect()
    end = ShellEnd(7)
    await line.deliver(out("bye"))
    await line.deliver(status(end))
    assert keeper.told == [("over", end)]
    relay.finish(end)
    assert (await shown(anna, 3))[1:] == [out("bye"), status(end)]
    async with asyncio.timeout(60):
        assert await anna.next_frame() is None
        assert [await line.next_frame() for _ in range(2)] == [control({"end": True}), None]
    await line.deliver(out("late"))
    assert made.recorded() == [("o", "bye")]


async def test_typing_is_recorded_only_when_asked_for_and_who_types_is_told(made: Made) -> None:
    for session in (SHELL, replace(SHELL, record_input=True)):
        relay = made.relay(session)
        anna = relay.join("anna", Mode.DRIVE, 0)
        relay.connect()
        notices = [each for each in await told(anna) if "notice" in each]
        assert notices == ([{"notice": "what is typed here is recorded"}] if session.record_input else [])
        await anna.deliver(typed("secret"))
        relay.stop_recording()
        assert made.recorded() == ([("i", "secret")] if session.record_input else [])


async def test_a_shell_is_in_use_when_somebody_types_or_sees_it_print(made: Made) -> None:
    relay = made.relay()
    line = relay.connect()
    await line.deliver(out("x"))
    assert not relay.was_active()
    anna = relay.join("anna", Mode.DRIVE, 0)
    await line.deliver(out("x"))
    assert [relay.was_active(), relay.was_active()] == [True, False]
    await anna.deliver(typed("x"))
    assert [relay.was_active(), relay.was_active()] == [True, False]
    relay.leave(anna)
    await line.deliver(out("x"))
    assert not relay.was_active()


@pytest.mark.parametrize("frame", [Frame(Channel.CONTROL, b"["), Frame(Channel.RESIZE, b"{}")])
async def test_what_is_no_sense_is_refused(made: Made, frame: Frame) -> None:
    relay = made.relay()
    anna = relay.join("anna", Mode.DRIVE, 0)
    with pytest.raises(Invalid):
        await anna.deliver(frame)


async def test_frames_of_other_channels_are_dropped(made: Made) -> None:
    relay = made.relay()
    anna = relay.join("anna", Mode.DRIVE, 0)
    line = relay.connect()
    for channel in (Channel.STDOUT, Channel.STDERR, Channel.STATUS):
        await anna.deliver(Frame(channel, b"{}"))
    for channel in (Channel.STDIN, Channel.RESIZE, Channel.CLOSE):
        await line.deliver(Frame(channel, b"{}"))
    await anna.deliver(typed("x"))
    await line.deliver(out("x"))
    assert await line.next_frame() == typed("x")
    assert (await shown(anna, 2))[1] == out("x")


async def test_everybody_can_be_hung_up_on(made: Made) -> None:
    relay = made.relay()
    anna = relay.join("anna", Mode.DRIVE, 0)
    line = relay.connect()
    relay.hang_up()
    await cut_off(anna)
    await cut_off(line)
