from dataclasses import replace

import pytest

from tests.integration.store.objects import version
from tinkbox.model.disk_usage import Stored
from tinkbox.store.database import Store, Tables
from tinkbox.store.ephemeral_data import KEPT_VERSIONS, LISTED_VERSIONS


async def test_the_newest_versions_of_data_keep_their_archive(one: Store) -> None:
    for number in range(1, 6):
        await one.write(lambda tables, number=number: tables.data.add("w1", version(number)))
    kept = await one.read(
        lambda tables: [each.version for each in tables.data.versions("w1") if each.archive is not None]
    )
    newest = await one.read(lambda tables: tables.data.newest("w1"))
    assert await one.read(lambda tables: tables.data.newest_version("w1")) == 5
    assert kept == [3, 4, 5] == list(range(6 - KEPT_VERSIONS, 6))
    assert newest == version(5)


async def test_data_that_never_was_has_no_newest_version(one: Store) -> None:
    assert await one.read(lambda tables: tables.data.newest("w1")) is None
    assert await one.read(lambda tables: tables.data.newest_version("w1")) == 0
    assert await one.read(lambda tables: tables.data.versions("w1")) == []


async def test_versions_one_after_the_other_take_bounded_room(one: Store) -> None:
    def use_case(tables: Tables) -> None:
        for number in range(1, 3 * LISTED_VERSIONS):
            tables.data.add("w1", version(number))

    await one.write(use_case)
    listed = await one.read(lambda tables: [each.version for each in tables.data.versions("w1")])
    assert listed == list(range(2 * LISTED_VERSIONS, 3 * LISTED_VERSIONS))
    assert await one.read(lambda tables: tables.data.newest_version("w1")) == 3 * LISTED_VERSIONS - 1
    share = (await one.read(lambda tables: tables.room.shares()))[Stored.DATA]
    assert share.number == LISTED_VERSIONS


@pytest.mark.parametrize(
    ("offset", "length"), [(0, 70_000), (69_999, 2), (199_999, 5), (200_000, 5), (300_000, 5), (0, 300_000)]
)
async def test_an_archive_is_read_in_pieces(one: Store, offset: int, length: int) -> None:
    archive = bytes(range(250)) * 800
    data = replace(version(1), size=len(archive), archive=archive)
    await one.write(lambda tables: tables.data.add("w1", data))
    piece = await one.read(lambda tables: tables.data.piece("w1", 1, offset, length))
    assert piece == archive[offset : offset + length]


async def test_of_an_archive_that_is_not_kept_there_is_no_piece(one: Store) -> None:
    for number in range(1, KEPT_VERSIONS + 2):
        await one.write(lambda tables, number=number: tables.data.add("w1", version(number)))
    pieces = [
        await one.read(lambda tables, number=number: tables.data.piece("w1", number, 0, 1)) for number in (1, 2, 99)
    ]
    assert pieces == [b"", b"x", b""]
