from pathlib import Path

import pytest

from tests.unit.hosting.fake_host_link import FakeHostLink
from tinkbox.hosting.ephemeral_data import DataKeeper
from tinkbox.model.errors import Conflict, Denied, NotFound, Unavailable
from tinkbox.wire.ephemeral_data import decode
from tinkbox.wire.ephemeral_limits import MAX_DATA_BYTES


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "workflow"
    place.mkdir()
    return place


@pytest.fixture
async def host_link() -> FakeHostLink:
    return FakeHostLink()


async def test_what_did_not_change_does_not_travel(folder: Path, host_link: FakeHostLink) -> None:
    data = DataKeeper(host_link, "r1", folder)
    (folder / "key").write_text("1")
    await data.keep()
    await data.keep()
    (folder / "key").write_text("2")
    await data.keep()
    (folder / "key").write_text("2")  # another time, the same content
    await data.keep()
    assert [decode(each)[0].content for each in host_link.data["r1"]] == [b"1", b"2"]


async def test_what_did_not_change_is_not_even_read(
    folder: Path, host_link: FakeHostLink, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = DataKeeper(host_link, "r1", folder)
    await data.keep()
    monkeypatch.setattr("tinkbox.hosting.ephemeral_data.pack", lambda folder: pytest.fail("it was read"))
    await data.keep()


async def test_whoever_takes_over_tells_what_is_there_though_it_be_nothing(
    folder: Path, host_link: FakeHostLink
) -> None:
    await DataKeeper(host_link, "r1", folder).keep()
    assert host_link.data == {"r1": [b""]}


async def test_without_a_folder_there_is_nothing_to_keep(folder: Path, host_link: FakeHostLink) -> None:
    await DataKeeper(host_link, "r1", folder / "none").keep()
    assert host_link.data == {}


async def test_what_is_too_large_is_said_until_it_is_not_any_more(folder: Path, host_link: FakeHostLink) -> None:
    data = DataKeeper(host_link, "r1", folder)
    with (folder / "huge").open("wb") as file:
        file.truncate(MAX_DATA_BYTES + 1)
    await data.keep()
    assert data.trouble is not None
    assert (data.trouble[0], "huge" in data.trouble[1]) == ("DataTooLarge", True)
    assert host_link.data == {}
    (folder / "huge").unlink()
    await data.keep()
    assert data.trouble is None
    assert host_link.data == {"r1": [b""]}


async def test_what_cannot_be_read_is_said(tmp_path: Path, folder: Path, host_link: FakeHostLink) -> None:
    (tmp_path / "link").symlink_to(folder)
    data = DataKeeper(host_link, "r1", tmp_path / "link")
    await data.keep()
    assert data.trouble is not None
    assert data.trouble[0] == "DataInvalid"


@pytest.mark.parametrize("refusal", [Unavailable("away"), Denied("who?")])
async def test_a_host_link_that_is_away_gets_it_later(
    folder: Path, host_link: FakeHostLink, refusal: Unavailable | Denied
) -> None:
    data = DataKeeper(host_link, "r1", folder)
    host_link.away = refusal
    with pytest.raises(type(refusal)):
        await data.keep()
    host_link.away = None
    await data.keep()
    assert host_link.data == {"r1": [b""]}


@pytest.mark.parametrize("refusal", [NotFound("no such run"), Conflict("over")])
async def test_what_nobody_wants_is_let_go_of(
    folder: Path, host_link: FakeHostLink, refusal: NotFound | Conflict
) -> None:
    data = DataKeeper(host_link, "r1", folder)
    host_link.away = refusal
    await data.keep()
    calls = len(host_link.faults.calls)
    await data.keep()
    assert len(host_link.faults.calls) == calls
    assert data.trouble is None
