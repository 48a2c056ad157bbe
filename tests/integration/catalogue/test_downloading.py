"""An image on its way here, from a publisher who stops, changes his mind or lies."""

import asyncio
import errno
import gc
import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest

from tests.integration.catalogue.conftest import IMAGE, NAME, Client
from tests.integration.catalogue.mirror import File, signer
from tests.integration.catalogue.test_resolving import DIGEST, UNVERIFIED
from tinkbox.catalogue.downloading import SPARE, Arrived, Order, alone, forget
from tinkbox.catalogue.fetching import Choices, given
from tinkbox.model.errors import Invalid, NotFound, TooLarge, Unavailable
from tinkbox.model.images.system_image import Verified

PATH = f"/{NAME}"
SIZE = len(IMAGE)


async def test_an_image_arrives_with_its_proof_and_tells_how_far_it_is(client: Client) -> None:
    found, download = await client.bring(client.entry())
    assert (download.path.read_bytes(), download.digest, download.size) == (IMAGE, DIGEST, SIZE)
    assert found.verified is Verified.SUMS
    assert (client.said[-1].done, client.said[-1].total) == (SIZE, SIZE)
    assert client.said[-1].rate > 0
    assert client.said[-1].seconds_left == 0


async def test_another_image_than_the_checksums_name_is_removed(client: Client) -> None:
    client.mirror.publish({PATH: IMAGE[:-1] + b"x"})
    with pytest.raises(Invalid, match=r"is not what it should be: its digest is sha256:.*; it was removed"):
        await client.bring(client.entry())
    assert client.kept == []


async def test_a_broken_connection_is_resumed(client: Client) -> None:
    whole = File(IMAGE)
    client.mirror.publish({PATH: replace(whole, cut=SIZE // 2, later=whole)})
    _, download = await client.bring(client.entry())
    assert download.path.read_bytes() == IMAGE
    first, second = client.mirror.ranges(PATH)
    assert first == ""
    assert 0 < int(second.removeprefix("bytes=").removesuffix("-")) <= SIZE // 2


async def test_a_second_run_takes_up_where_the_first_one_stopped(client: Client) -> None:
    client.mirror.publish({PATH: File(IMAGE, stalled=SIZE // 2)})
    client.silence = 0.3
    with pytest.raises(
        Unavailable, match=r"stopped: 127\.0\.0\.1:\d+ said nothing for 0\.3 seconds.*KiB are kept: run"
    ):
        await client.bring(client.entry())
    assert len(client.kept) == 1
    client.mirror.publish({PATH: IMAGE})
    client.mirror.asked.clear()
    _, download = await client.bring(client.entry())
    assert download.path.read_bytes() == IMAGE
    (resumed,) = client.mirror.ranges(PATH)
    assert int(resumed.removeprefix("bytes=").removesuffix("-")) > 0


async def test_a_server_that_says_nothing_at_all_is_told(client: Client) -> None:
    client.mirror.publish({PATH: File(IMAGE, stalled=0)})
    client.silence = 0.3
    with pytest.raises(Unavailable, match=r"said nothing for 0\.3 seconds"):
        await client.bring(client.entry())


def test_a_server_that_says_all_and_does_not_hang_up_is_not_waited_for(client: Client) -> None:
    client.mirror.publish({PATH: File(IMAGE, stalled=SIZE)})
    _, download = asyncio.run(client.bring(client.entry()))
    assert download.path.read_bytes() == IMAGE
    gc.collect()  # a connection that is open when its loop has ended is told by Python now, and fails this test


async def test_a_server_that_ignores_ranges_sends_it_again(client: Client) -> None:
    whole = File(IMAGE, ignores_range=True)
    client.mirror.publish({PATH: replace(whole, cut=SIZE // 2, later=whole)})
    _, download = await client.bring(client.entry())
    assert download.path.read_bytes() == IMAGE
    assert len(client.mirror.ranges(PATH)) == 2


@pytest.mark.parametrize("careless", [False, True])
async def test_an_image_that_is_replaced_meanwhile_is_refused(client: Client, careless: bool) -> None:
    other = File(b"other " * (SIZE // 5), ignores_condition=careless)
    client.mirror.publish({PATH: File(IMAGE, cut=SIZE // 2, later=other)})
    with pytest.raises(Invalid, match=r"was replaced while it was fetched: run the command again"):
        await client.bring(client.entry())
    assert client.kept == []


@pytest.mark.parametrize("careless", [False, True])
async def test_the_rest_from_another_mirror_is_not_put_behind_what_is_here(client: Client, careless: bool) -> None:
    other = File(IMAGE, tag='"of-another"', ignores_condition=careless)
    client.mirror.publish({PATH: File(IMAGE, cut=SIZE // 2, later=other)})
    _, download = await client.bring(client.entry())
    assert download.path.read_bytes() == IMAGE


async def test_an_image_that_always_ends_early_is_refused(client: Client) -> None:
    client.mirror.publish({PATH: File(IMAGE, cut=SIZE // 2)})
    with pytest.raises(
        Unavailable,
        match=r"stopped: 127\.0\.0\.1:\d+ cut the connection off in the middle of [^;]*; .*KiB are kept: run the command again to go on$",
    ):
        await client.bring(client.entry())


async def test_a_length_that_is_too_small_does_not_pass(client: Client) -> None:
    client.mirror.publish({PATH: File(IMAGE, told=1000)})
    with pytest.raises(
        (Invalid, Unavailable),
        match=r"is not what it should be|cut the connection off|cannot be reached: what comes from there is not HTTP: check",
    ):
        await client.bring(client.entry())
    assert client.said == [] or client.kept == []


async def test_a_web_page_is_no_image(client: Client) -> None:
    client.mirror.publish({PATH: File(b"<html>please log in</html>", kind="text/html; charset=utf-8")})
    with pytest.raises(Invalid, match="is a web page, not an image: is there a login page"):
        await client.bring(client.entry())
    assert client.kept == []


async def test_an_image_that_vanishes_behind_the_checksums_is_told(client: Client) -> None:
    found = await client.find(client.entry())
    del client.mirror.files[PATH]
    with pytest.raises(NotFound, match=r"is not there \(HTTP 404\): its publisher may have replaced it"):
        await client.bring(client.entry(), found=found)
    assert client.kept == []


async def test_a_redirect_to_another_host_is_followed(client: Client) -> None:
    other = client.mirror.url.replace("127.0.0.1", "localhost")
    client.mirror.publish({PATH: File(place=f"{other}/real"), "/real": IMAGE})
    found, _ = await client.bring(client.entry())
    assert found.url == f"{client.mirror.url}{PATH}"


async def test_an_image_is_followed_to_plain_http_only_when_it_is_proven_otherwise(client: Client) -> None:
    client.mirror.publish({PATH: File(place=f"{client.mirror.plain}/real"), "/real": IMAGE})
    with pytest.raises(Invalid, match=r"redirects from HTTPS to http://.*--source"):
        await client.bring(client.entry())
    found, _ = await client.bring(client.entry(), Choices(digest=DIGEST))
    assert found.verified is Verified.SUMS
    client.mirror.publish({"/SUMS.sig": client.publisher.detached(client.mirror.files["/SUMS"].content)})
    found, _ = await client.bring(client.entry(signature=client.signed()))
    assert found.verified is Verified.SIGNED


@pytest.mark.parametrize("fault", ["", "another key", "another image"])
async def test_a_signed_image_is_proven_when_it_is_here(client: Client, fault: str) -> None:
    key = signer("mallory") if fault == "another key" else client.publisher
    signed = b"other" if fault == "another image" else IMAGE
    client.mirror.publish({f"{PATH}.sig": key.detached(signed)})
    entry = client.entry(signature=client.signed("image"))
    if not fault:
        found, _ = await client.bring(entry)
        assert (found.verified, found.signer.split()[0]) == (Verified.SIGNED, client.publisher.fingerprint)
        return
    with pytest.raises(Invalid, match=rf"the signature of .*{NAME} proves nothing"):
        await client.bring(entry)
    assert client.kept == []
    found, _ = await client.bring(entry, UNVERIFIED)
    assert (found.verified, len(found.doubts)) == (Verified.SUMS, 1)


async def test_another_source_is_held_to_the_publishers_digest(client: Client) -> None:
    client.mirror.publish({"/copy.raw": IMAGE, "/other.raw": b"other"})
    del client.mirror.files[PATH]
    copy = Choices(source=f"{client.mirror.plain}/copy.raw")
    found, download = await client.bring(client.entry(), copy)
    assert (found.url, download.path.read_bytes()) == (copy.source, IMAGE)
    with pytest.raises(Invalid, match="is not what it should be"):
        await client.bring(client.entry(), Choices(source=f"{client.mirror.plain}/other.raw"))


async def test_source_and_digest_need_no_publisher(client: Client) -> None:
    client.mirror.files.pop("/SUMS")
    choices = Choices(source=f"{client.mirror.url}{PATH}", digest=DIGEST)
    found, download = await client.bring(client.entry(), choices, given(client.entry(), choices))
    assert (found.version, found.verified, download.digest) == (DIGEST[7:19], Verified.TYPED, DIGEST)


async def test_a_digest_of_another_kind_is_checked_as_well(client: Client) -> None:
    with pytest.raises(Invalid, match=f"has the digest sha512:.*, not sha512:{'0' * 128}: it was removed"):
        await client.bring(client.entry(), Choices(digest=f"sha512:{'0' * 128}"))


async def test_a_disk_without_room_is_told_before(client: Client) -> None:
    client.free = SIZE
    with pytest.raises(
        Unavailable, match=r"needs 1\.2MiB, and .*cache has 1\.2MiB left, of which 64MiB stay free: make room there"
    ):
        await client.bring(client.entry())
    assert (client.said, client.kept) == ([], [])


async def test_a_body_without_a_length_stops_before_the_disk_is_full(client: Client) -> None:
    client.mirror.publish({PATH: File(IMAGE, untold=True)})
    client.free = SPARE + SIZE // 2
    for _ in range(2):
        with pytest.raises(Unavailable, match=r"does not tell its size, .*make room there.*nothing of it is kept"):
            await client.bring(client.entry())
        assert list((client.folder / "cache").iterdir()) == []
    client.free = SPARE + SIZE + 1000
    _, download = await client.bring(client.entry())
    assert download.path.read_bytes() == IMAGE


async def test_a_disk_that_others_fill_meanwhile_keeps_its_reserve_and_what_arrived(client: Client) -> None:
    whole = File(IMAGE)
    client.mirror.publish({PATH: replace(whole, cut=SIZE // 2, later=whole)})
    client.free = SPARE + SIZE + 1000

    def crowded(arrived: Arrived) -> None:
        client.said.append(arrived)
        client.free = SPARE + arrived.done + 1000

    client.heard = crowded
    with pytest.raises(Unavailable, match=r"no room: .* needs .*KiB are kept: run the command again to go on"):
        await client.bring(client.entry())
    client.heard, client.free = client.said.append, SPARE + SIZE + 1000
    client.mirror.asked.clear()
    _, download = await client.bring(client.entry())
    assert (download.path.read_bytes(), client.mirror.ranges(PATH)[0] != "") == (IMAGE, True)


async def test_what_no_run_could_go_on_with_is_not_kept(client: Client) -> None:
    client.mirror.publish({PATH: File(IMAGE, stalled=SIZE // 2, untold=True, ignores_range=True)})
    client.silence = 0.3
    with pytest.raises(Unavailable, match=r"stopped: .* nothing of it is kept"):
        await client.bring(client.entry())
    assert client.kept == []


@pytest.mark.parametrize("displaced", [-10, 10])
async def test_a_server_that_sends_another_part_is_asked_for_all_of_it(client: Client, displaced: int) -> None:
    whole = File(IMAGE, displaced=displaced)
    client.mirror.publish({PATH: replace(whole, cut=SIZE // 2, later=whole)})
    _, download = await client.bring(client.entry())
    assert download.path.read_bytes() == IMAGE
    first, second, third = client.mirror.ranges(PATH)
    assert (first, second != "", third) == ("", True, "")


async def test_an_image_above_the_limit_is_refused(client: Client) -> None:
    client.max_size = 1000
    with pytest.raises(TooLarge, match=r"has 1\.2MiB; 1000 bytes is the most"):
        await client.bring(client.entry())


def test_the_second_waits_until_the_first_needs_the_file_no_more(tmp_path: Path) -> None:
    for removed in (True, False):
        seen, waits, order = list[object](), threading.Event(), Order(url=f"https://x.example/{NAME}")

        def second(seen: list[object] = seen, waits: threading.Event = waits, order: Order = order) -> None:
            with alone(tmp_path, order, waits.set):
                seen.append([path.stat().st_size for path in tmp_path.iterdir()])

        thread = threading.Thread(target=second)
        with alone(tmp_path, order, pytest.fail):
            (part,) = tmp_path.iterdir()
            part.write_bytes(IMAGE)
            thread.start()
            assert waits.wait(60)
            assert seen == []
            if removed:
                forget(part)
        thread.join(60)
        # An empty file of its own, which goes when it ends, where that of the first is gone.
        assert seen == [[0] if removed else [SIZE]]
        assert [path.stat().st_size for path in tmp_path.iterdir()] == ([] if removed else [SIZE])


def failing(number: int) -> Callable[..., NoReturn]:
    def fail(*_: object) -> NoReturn:
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.parametrize("fault", ["folder", "link", "of another user"])
def test_a_file_of_the_cache_that_cannot_be_written_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    order = Order(url=f"https://x.example/{NAME}")
    with alone(tmp_path, order, pytest.fail):
        (part,) = tmp_path.iterdir()
    if fault == "folder":
        part.mkdir()
    elif fault == "link":
        part.symlink_to(tmp_path / "elsewhere")
    else:
        # Root, who may run the tests, may open every file.
        monkeypatch.setattr("os.open", failing(errno.EACCES))
    with (
        pytest.raises(Unavailable, match=rf"cannot write to {part}: .*: remove it, .*XDG_CACHE_HOME"),
        alone(tmp_path, order, pytest.fail),
    ):
        pytest.fail("it has it")


def test_a_file_system_without_locks_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fcntl.flock", failing(errno.ENOLCK))
    with alone(tmp_path, Order(url=f"https://x.example/{NAME}"), pytest.fail):
        assert len(list(tmp_path.iterdir())) == 1


async def test_a_file_that_is_here_is_not_fetched_again(client: Client) -> None:
    await client.bring(client.entry())
    client.mirror.asked.clear()
    _, download = await client.bring(client.entry())
    assert (download.digest, client.mirror.ranges(PATH)) == (DIGEST, [])


@pytest.mark.parametrize("untold", [True, False])
async def test_what_a_signal_ends_is_kept_only_where_another_run_can_go_on(client: Client, untold: bool) -> None:
    client.mirror.publish({PATH: File(IMAGE, stalled=SIZE // 2, untold=untold)})
    task = asyncio.current_task()
    assert task is not None
    client.heard = lambda _: task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await client.bring(client.entry())
    task.uncancel()
    assert len(list(client.cache.iterdir())) == (0 if untold else 2)


async def test_a_silence_is_told_before_it_ends_the_download(client: Client) -> None:
    client.mirror.publish({PATH: File(IMAGE, stalled=SIZE // 2)})
    client.silence, client.quiet = 0.6, 0.1
    with pytest.raises(Unavailable, match=r"said nothing for 0\.6 seconds; "):
        await client.bring(client.entry())
    assert any(each.silent_seconds >= 0.1 for each in client.said)
