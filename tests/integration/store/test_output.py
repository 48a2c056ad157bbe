import random
from itertools import pairwise

import pytest

from tests.integration.store.objects import attempt, service, workflow
from tinkbox.model.disk_usage import Stored
from tinkbox.store import output
from tinkbox.store.database import Store, Tables
from tinkbox.store.output import BLOCK, HEAD, TAIL, Piece


async def test_what_comes_twice_is_skipped_and_a_gap_is_not_taken(one: Store) -> None:
    async def append(offset: int, chunk: bytes) -> int:
        def use_case(tables: Tables) -> int:
            found = tables.workflows.attempt("a1")
            assert found is not None
            return tables.output.append("a1", found.output_length, offset, chunk)

        return await one.write(use_case)

    assert [await append(0, b"ab"), await append(0, b"abc"), await append(3, b""), await append(4, b"e")] == [
        2,
        3,
        3,
        3,
    ]
    assert [await append(3, b"d"), await append(1, b"x")] == [4, 4]
    assert await one.read(lambda tables: b"".join(piece.chunk for piece in tables.output.after("a1", 0))) == b"abcd"


async def test_services_print_for_themselves(store: Store) -> None:
    def use_case(tables: Tables) -> None:
        tables.workflows.insert(workflow("w1", "m1", services=[service("a1"), service("r1", 1)]))
        tables.workflows.begin_attempt(attempt("a1"))
        assert tables.service_output.append("a1", 0, 0, b"of the service") == 14
        assert tables.output.append("a1", 0, 0, b"of the action") == 13

    await store.write(use_case)
    assert await store.read(lambda tables: tables.service_output.after("a1", 7)) == [Piece(start=7, chunk=b"service")]
    assert await store.read(lambda tables: tables.service_output.last("a1")) == b"of the service"
    assert await store.read(lambda tables: tables.service_output.after("r1", 0)) == []
    assert await store.read(lambda tables: tables.output.last("a1")) == b"of the action"
    (first, second) = (await store.read(lambda tables: tables.workflows.get("w1"))).services
    assert (first.output_length, second.output_length) == (14, 0)
    await store.write(lambda tables: tables.workflows.delete("w1"))
    assert await store.read(lambda tables: tables.service_output.after("a1", 0)) == []


async def test_output_is_read_from_any_offset_and_its_middle_is_dropped(one: Store) -> None:
    chunk, length = b"x" * (64 * 1024), 0
    while length < HEAD + TAIL + 10 * len(chunk):
        length = await one.write(lambda tables, length=length: tables.output.append("a1", length, length, chunk))
    await one.write(lambda tables: tables.output.append("a1", length, length, b"end"))
    pieces = await one.read(lambda tables: tables.output.after("a1", 0))
    assert await one.read(lambda tables: tables.output.after("a1", length + 1)) == [
        Piece(start=length + 1, chunk=b"nd")
    ]
    assert await one.read(lambda tables: tables.output.after("a1", length + 3)) == []
    assert await one.read(lambda tables: tables.output.last("a1")) == b"end"
    stored = await one.read(lambda tables: tables.workflows.attempt("a1"))
    starts = [piece.start for piece in pieces]
    assert starts[0] == 0
    assert HEAD - len(chunk) in starts
    assert HEAD not in starts
    assert stored is not None
    assert stored.output_length == length + 3


async def test_output_that_comes_by_the_byte_takes_little_more_room_than_its_bytes(
    one: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "HEAD", 16 * 1024)
    monkeypatch.setattr(output, "TAIL", 16 * 1024)
    whole = random.Random(1).randbytes(100_000)

    def use_case(tables: Tables) -> None:
        for offset in range(len(whole)):
            assert tables.output.append("a1", offset, offset, whole[offset : offset + 1]) == offset + 1

    await one.write(use_case)
    kept = await one.read(lambda tables: tables.output.after("a1", 0))
    assert (kept[0].start, kept[-1].start + len(kept[-1].chunk)) == (0, len(whole))
    assert all(whole[each.start : each.start + len(each.chunk)] == each.chunk for each in kept)
    octets = sum(len(each.chunk) for each in kept)
    assert 32 * 1024 <= octets < 32 * 1024 + 2 * BLOCK
    share = (await one.read(lambda tables: tables.room.shares()))[Stored.OUTPUT]
    assert share.number == len(kept) <= octets / BLOCK + 2
    assert share.octets < 1.1 * octets


async def test_the_file_grows_by_what_is_printed_however_small_the_chunks(one: Store) -> None:
    async def grown(token: str, size: int) -> int:
        def use_case(tables: Tables) -> None:
            tables.workflows.begin_attempt(attempt(token))
            for offset in range(0, 200_000, size):
                tables.output.append(token, offset, offset, b"x" * size)

        before = await one.read(lambda tables: tables.room.file())
        await one.write(use_case)
        return await one.read(lambda tables: tables.room.file()) - before

    assert await grown("a2", 8) < 1.5 * await grown("a3", 50_000)


@pytest.mark.parametrize("seed", range(20))
async def test_chunks_of_any_size_come_back_as_they_were_printed(one: Store, seed: int) -> None:
    chance = random.Random(seed)
    whole = chance.randbytes(60_000)

    def use_case(tables: Tables) -> None:
        length = 0
        while length < len(whole):
            begin = max(0, length - chance.choice((0, 0, 0, 1, 5_000)))
            end = length + chance.choice((1, 7, 100, BLOCK - 1, BLOCK, BLOCK + 1, 9_000))
            length = tables.output.append("a1", length, begin, whole[begin:end])

    await one.write(use_case)
    for offset in (0, 1, BLOCK - 1, BLOCK, 33_333, len(whole) - 1, len(whole)):
        pieces = await one.read(lambda tables, offset=offset: tables.output.after("a1", offset))
        assert b"".join(each.chunk for each in pieces) == whole[offset:]
        assert [each.start for each in pieces][:1] == [offset][: len(pieces)]
    sizes = [len(each.chunk) for each in await one.read(lambda tables: tables.output.after("a1", 0))]
    assert all(one_of + following > BLOCK for one_of, following in pairwise(sizes))
