"""Checking the database's file while it is used."""

from pathlib import Path

from tinkbox.store.database import Store
from tinkbox.store.integrity import damage_at_start, damage_of

PAGE = 4096


async def test_a_sound_file_is_found_sound_while_it_is_served(tmp_path: Path) -> None:
    store = await Store.open(tmp_path / "tinkbox.sqlite")
    try:
        assert damage_of(tmp_path / "tinkbox.sqlite") == ""
    finally:
        await store.close()


async def test_overwritten_pages_are_found_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "tinkbox.sqlite"
    await (await Store.open(path)).close()
    pages = path.stat().st_size // PAGE
    with path.open("r+b") as file:
        for page in range(pages // 2, pages):
            file.seek(page * PAGE)
            file.write(b"\xaa" * PAGE)
    found = damage_of(path)
    assert found
    assert damage_at_start(path) == found
    assert "\n" not in found
    with path.open("r+b") as file:
        file.truncate(1 << 30)
    assert damage_at_start(path) == "", "a large file takes too long"


def test_what_is_no_database_is_said(tmp_path: Path) -> None:
    path = tmp_path / "tinkbox.sqlite"
    path.write_bytes(b"no database" * 1000)
    assert damage_of(path) == "file is not a database"
    assert damage_of(tmp_path / "nowhere") == "unable to open database file"
