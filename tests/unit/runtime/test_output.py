import asyncio
from collections.abc import AsyncIterator, Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.worker.fakes import FakeDoor, Faults
from tinkbox.model.errors import NotFound, Unavailable
from tinkbox.runtime import ContainerFailed, EngineAway
from tinkbox.runtime.output import MAX_WAITING, TAIL_BYTES, OutputPump
from tinkbox.wire.messages.worker import MAX_OUTPUT_CHUNK

PIECES = st.lists(st.binary(max_size=20), max_size=20)


def container(pieces: list[bytes], breaks: list[int] | None = None) -> Callable[[], AsyncIterator[bytes]]:
    """A container's log; the first readings break off behind so many pieces."""
    left = list(breaks or [])

    async def output() -> AsyncIterator[bytes]:
        until = left.pop(0) if left else None
        for number, piece in enumerate(pieces):
            if number == until:
                raise EngineAway("broke off")
            yield piece

    return output


@given(PIECES, PIECES, st.lists(st.integers(0, 20), max_size=3), st.integers(-1, 12), st.booleans())
def test_output_arrives_once_and_in_order_whatever_breaks(
    first: list[bytes], second: list[bytes], breaks: list[int], lost: int, after: bool
) -> None:
    door = FakeDoor(faults=Faults(Unavailable("lost"), lost, after))

    async def story() -> None:
        pump = OutputPump(door, "a1")
        pump.next_container()
        await pump.carry(container(first, breaks))
        pump.next_container()
        await pump.carry(container(second, breaks))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tinkbox.runtime.retrying.FIRST_WAIT", 0.0)
        asyncio.run(story())
    assert door.printed.get("a1", b"") == b"".join(first) + b"".join(second)


@given(PIECES, st.integers(0, 400), st.lists(st.integers(0, 20), max_size=3), st.integers(-1, 12), st.booleans())
def test_the_rest_that_a_follow_left_out_arrives_once_whatever_breaks(
    pieces: list[bytes], told: int, breaks: list[int], lost: int, after: bool
) -> None:
    whole = b"".join(pieces)
    door = FakeDoor(faults=Faults(Unavailable("lost"), lost, after))

    async def story() -> None:
        pump = OutputPump(door, "a1")
        pump.next_container()
        await pump.carry(container([whole[:told]]))
        await pump.carry(container(pieces, breaks))
        await pump.carry(container(pieces, breaks))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tinkbox.runtime.retrying.FIRST_WAIT", 0.0)
        asyncio.run(story())
    assert door.printed.get("a1", b"") == whole


@given(PIECES, st.integers(0, 400))
def test_another_process_goes_on_where_the_first_was_killed(pieces: list[bytes], known: int) -> None:
    whole = b"".join(pieces)
    door = FakeDoor()
    door.printed["a1"] = whole[:known]

    async def story() -> None:
        pump = OutputPump(door, "a1")
        pump.next_container()
        await pump.carry(container(pieces))

    asyncio.run(story())
    assert door.printed["a1"] == whole


@pytest.mark.parametrize("fresh", [True, False])
@pytest.mark.parametrize("left", [0, 3, 10])
async def test_a_log_that_lost_its_beginning_goes_on_at_its_end(fresh: bool, left: int) -> None:
    """`fresh`: another process of tinkbox carries it on, which knows of the appliance alone how far it was."""
    door, whole = FakeDoor(), b"0123456789"
    door.printed["r1"] = whole if fresh else b""
    pump = OutputPump(door, "r1")
    pump.next_container()
    if not fresh:
        await pump.carry(container([whole]), so_far=container([whole]))
    rest = [whole[-left:] if left else b""]
    await pump.carry(container([*rest, b"more"]), so_far=container(rest))
    assert door.printed["r1"] == whole + b"more"


@given(PIECES, st.integers(0, 400), st.integers(0, 400), st.lists(st.integers(0, 20), max_size=3))
def test_a_log_that_may_be_cut_and_was_not_arrives_once_whatever_breaks(
    pieces: list[bytes], known: int, told: int, breaks: list[int]
) -> None:
    whole = b"".join(pieces)
    door = FakeDoor()
    door.printed["r1"] = whole[:known]

    async def story() -> None:
        pump = OutputPump(door, "r1")
        pump.next_container()
        await pump.carry(container([whole[: max(known, told)]]), so_far=container([whole[:known]], breaks))
        await pump.carry(container(pieces, breaks), so_far=container(pieces, breaks))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tinkbox.runtime.retrying.FIRST_WAIT", 0.0)
        asyncio.run(story())
    assert door.printed["r1"] == whole


async def test_an_appliance_that_does_not_know_how_far_it_was_holds_no_log_up() -> None:
    door = FakeDoor()
    door.refusal = NotFound("no such run")
    pump = OutputPump(door, "r1")
    pump.next_container()
    await pump.carry(container([b"the last line\n"]), so_far=container([b""]))
    assert pump.tail == ("the last line",)


async def test_a_flood_is_carried_in_bounded_pieces_and_memory() -> None:
    sizes: list[int] = []

    class Slow(FakeDoor):
        async def output(self, attempt: str, offset: int, chunk: bytes) -> int:
            sizes.append(len(chunk))
            await asyncio.sleep(0)
            return await super().output(attempt, offset, chunk)

    door = Slow()
    pump = OutputPump(door, "a1")
    flood = [bytes([number % 256]) * 100_000 for number in range(60)]
    highest = 0

    async def log() -> AsyncIterator[bytes]:
        nonlocal highest
        for piece in flood:
            yield piece
            highest = max(highest, len(pump._waiting))
            assert len(pump._tail) <= TAIL_BYTES

    pump.next_container()
    await pump.carry(log)
    assert door.printed["a1"] == b"".join(flood)
    assert max(sizes) <= MAX_OUTPUT_CHUNK
    assert highest <= MAX_WAITING + len(flood[0])


async def test_output_that_nobody_wants_holds_nobody_up() -> None:
    door = FakeDoor()
    door.refusal = NotFound("no such attempt")
    pump = OutputPump(door, "a1")
    pump.next_container()
    await pump.carry(container([b"x" * 100_000] * 60 + [b"the last line\n"]))
    assert door.printed == {}
    assert door.faults.calls == ["output"], "once refused, nothing more is sent or kept"
    assert pump.tail[-1].endswith("the last line")


async def test_an_appliance_that_forgot_what_is_here_no_more_holds_nobody_up() -> None:
    class Restored(FakeDoor):
        async def output(self, attempt: str, offset: int, chunk: bytes) -> int:
            await asyncio.sleep(0)
            return await super().output(attempt, offset, chunk)

    door = Restored()
    pump = OutputPump(door, "a1")
    pump.next_container()
    await pump.carry(container([b"before\n"]))
    door.printed.clear()
    pump.next_container()
    async with asyncio.timeout(60):
        await pump.carry(container([b"the last line\n"]))
    assert door.printed == {}
    assert pump.tail == ("the last line",)


async def test_a_log_that_is_gone_ends_the_output() -> None:
    async def gone() -> AsyncIterator[bytes]:
        yield b"some\n"
        raise ContainerFailed("ContainerLost", "no such container")

    door = FakeDoor()
    pump = OutputPump(door, "a1")
    pump.next_container()
    await pump.carry(gone)
    assert door.printed["a1"] == b"some\n"


async def test_the_tail_is_the_last_lines_of_the_last_container() -> None:
    pump = OutputPump(FakeDoor(), "a1")
    pump.next_container()
    await pump.carry(container([b"of the first\n"]))
    assert pump.tail == ("of the first",)
    pump.next_container()
    assert pump.tail == ()
    await pump.carry(container([f"line {number}\r\n\n".encode() for number in range(100)] + [b"10%\r20%\r\0\xff"]))
    assert pump.tail == (*(f"line {number}" for number in range(83, 100)), "10%", "20%", "\ufffd")
