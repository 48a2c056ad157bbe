"""`tinkbox image`."""

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.unit.cli.conftest import FakeAppliance, Printed
from tinkbox.cli import main
from tinkbox.cli.output import printable

Tinkbox = Callable[..., Printed]
DIGEST = f"sha256:{'7' * 64}"
IMAGES = [
    {
        "name": "hello-world",
        "tag": "v1",
        "digest": DIGEST,
        "size": 4096,
        "pushed_at": "2020-07-08T15:17:02+00:00",
        "kind": "container",
    },
    {
        "name": "tools/old",
        "tag": "",
        "digest": DIGEST,
        "size": 12,
        "pushed_at": "2020-07-08T15:17:02+00:00",
        "kind": "artifact",
    },
]


@pytest.fixture
def images(appliance: FakeAppliance) -> FakeAppliance:
    appliance.answers = {
        "GET /v1/images": IMAGES,
        "GET /v1/images?sort=name": IMAGES,
        "POST /v1/images": {"loaded": ["one:v1", "two:v2"]},
        f"DELETE /v1/images?reference=tools%2Fold%40{DIGEST}": {},
    }
    return appliance


def test_loading_sends_the_files_and_names_what_they_held(
    tinkbox: Tinkbox, images: FakeAppliance, tmp_path: Path
) -> None:
    (tmp_path / "a.tar").write_bytes(b"first")
    (tmp_path / "b.tar").write_bytes(b"second")
    loaded = tinkbox("image", "load", str(tmp_path / "a.tar"), str(tmp_path / "b.tar"))
    assert loaded.out == "Loaded Image:  one:v1\nLoaded Image:  two:v2\n" * 2
    assert images.asked == [("POST /v1/images", b"first"), ("POST /v1/images", b"second")]


def test_a_closed_standard_input_is_told(
    images: FakeAppliance, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(SystemExit, match="2"):
        main(["image", "load", "-"])
    assert "standard input is closed or a terminal: pipe an archive into it" in capsys.readouterr().err
    assert images.asked == []


def test_a_file_that_is_not_there_is_told(tinkbox: Tinkbox, images: FakeAppliance, tmp_path: Path) -> None:
    failed = tinkbox("image", "load", str(tmp_path / "no.tar"))
    assert (failed.status, failed.err) == (
        1,
        (
            f"tinkbox: no file {tmp_path}/no.tar: name an archive that `docker save` or `tinkbox image save` made, "
            "or the folder of an `image export`\n"
        ),
    )
    assert images.asked == []


def test_the_list_names_images_as_templates_do(
    tinkbox: Tinkbox, images: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(printable, "now", lambda: datetime(2020, 7, 11, 15, 17, 3, tzinfo=UTC))
    assert [line.split() for line in tinkbox("image", "list").out.splitlines()] == [
        ["IMAGE", "KIND", "DIGEST", "SIZE", "AGE"],
        ["hello-world:v1", "container", "7" * 12, "4KiB", "3d"],
        [f"tools/old@{DIGEST}", "artifact", "7" * 12, "12", "bytes", "3d"],
    ]
    assert (
        f"hello-world:v1,container,{DIGEST},4096,2020-07-08T15:17:02+00:00,\n"
        in tinkbox("image", "list", "-o", "csv").out
    )
    assert tinkbox("image", "list", "-q").out == f"hello-world:v1\ntools/old@{DIGEST}\n"


def test_the_list_marks_what_is_damaged(tinkbox: Tinkbox, images: FakeAppliance) -> None:
    problem = "damaged, 1 of its blobs is gone: push or load it again"
    images.answers["GET /v1/images?sort=name"] = [{**IMAGES[0], "problem": problem}, {**IMAGES[1], "problem": ""}]
    lines = tinkbox("image", "list", "--no-headers").out.splitlines()
    assert ["container, damaged" in line for line in lines] == [True, False]
    assert problem in tinkbox("image", "list", "-o", "wide").out
    assert f'container,{DIGEST},4096,2020-07-08T15:17:02+00:00,"{problem}"' in tinkbox("image", "list", "-o", "csv").out


def test_deleting_names_the_whole_reference(tinkbox: Tinkbox, images: FakeAppliance) -> None:
    assert tinkbox("image", "delete", f"tools/old@{DIGEST}").status == 0
    both = tinkbox("image", "delete", f"tools/old@{DIGEST}", "other")
    assert (both.status, both.out) == (1, f"Deleted Image:  tools/old@{DIGEST}\n")
    assert tinkbox("image", "delete", "other").status == 1


def test_names_that_are_deleted_mean_what_they_meant_before(tinkbox: Tinkbox, images: FakeAppliance) -> None:
    other = f"sha256:{'8' * 64}"
    for name, digest in (("lab:2", DIGEST), ("lab:latest", DIGEST), ("x:v1", other)):
        images.answers[f"GET /v1/images/descriptor?reference={name}"] = {"reference": name, "digest": digest}
    images.answers[f"DELETE /v1/images?reference=lab:2&digest={DIGEST}"] = {"name": "lab:2"}
    deleted = tinkbox("image", "delete", "lab:2", "lab:latest", "x:v1")
    assert deleted.out == "Deleted Image:  lab:2\nDeleted Image:  lab:latest\n"
    assert (deleted.status, deleted.err) == (1, "tinkbox: no such thing here\n"), "x:v1 did not go with another"
    assert [each for each, _ in images.asked if each.startswith("DELETE")] == [
        f"DELETE /v1/images?reference=lab:2&digest={DIGEST}",
        f"DELETE /v1/images?reference=lab:latest&digest={DIGEST}",
        f"DELETE /v1/images?reference=x:v1&digest={other}",
    ]


def test_how_many_archives_are_loaded_is_told_to_who_reads_no_longer(
    tinkbox: Tinkbox, images: FakeAppliance, tmp_path: Path, piped: Callable[[], Callable[[], None]]
) -> None:
    for name in ("a.tar", "b.tar"):
        (tmp_path / name).write_bytes(b"x")
    piped()()
    ended = tinkbox("image", "load", str(tmp_path / "a.tar"), str(tmp_path / "b.tar"))
    assert (ended.status, ended.err) == (141, "tinkbox: 1 of 2 archives was loaded\n")


ROOM = {"blobs": 61, "size": 3 << 30, "incoming": 0, "free": 5 << 20, "reserve": 1 << 30, "most": None}


def test_a_list_ends_with_what_images_take(tinkbox: Tinkbox, images: FakeAppliance) -> None:
    images.answers["GET /v1/images/room"] = ROOM
    listed = tinkbox("image", "list")
    assert (listed.status, listed.err) == (0, "61 blobs: 3GiB, room for a push of 5MiB, or a load of at most 2.5MiB\n")
    images.answers["GET /v1/images/room"] = {**ROOM, "most": 4 << 30}
    assert (
        "61 blobs: 3GiB of 4GiB (images.most), room for a push of 5MiB, or a load of at most 2.5MiB\n"
        in tinkbox("image", "list").err
    )
    for words in (("-q",), ("-o", "json"), ("-o", "csv")):
        assert tinkbox("image", "list", *words).err == ""


LIMITED = "`LimitFSIZE=` of tinkbox's unit, or `ulimit -f`"


@pytest.mark.parametrize(
    ("limit", "told"),
    [
        (None, "room for a push of 5MiB, or a load of at most 2.5MiB"),
        (5 << 20, "room for a push of 5MiB, or a load of at most 2.5MiB"),
        (
            4 << 20,
            f"room for a push of 5MiB in blobs of at most 4MiB, or a load of at most 2.5MiB (file size limit of 4MiB: {LIMITED})",
        ),
        (
            1 << 20,
            f"room for a push of 5MiB in blobs of at most 1MiB, or a load of at most 1MiB (file size limit of 1MiB: {LIMITED})",
        ),
    ],
)
def test_a_file_size_limit_that_is_smaller_than_the_room_is_told(
    tinkbox: Tinkbox, images: FakeAppliance, limit: int | None, told: str
) -> None:
    images.answers["GET /v1/images/room"] = {**ROOM, "file_size_limit": limit}
    assert tinkbox("image", "list").err == f"61 blobs: 3GiB, {told}\n"


def test_a_full_registry_tells_of_no_file_size_limit(tinkbox: Tinkbox, images: FakeAppliance) -> None:
    images.answers["GET /v1/images/room"] = {**ROOM, "free": 0, "file_size_limit": 1 << 20}
    assert tinkbox("image", "list").err == "61 blobs: 3GiB, no room for more\n"


def test_an_earlier_appliance_tells_of_no_room(tinkbox: Tinkbox, images: FakeAppliance) -> None:
    listed = tinkbox("image", "list")
    assert (listed.status, listed.err) == (0, "")


def test_the_name_of_a_deleted_image_is_that_of_the_list(tinkbox: Tinkbox, images: FakeAppliance) -> None:
    images.answers["DELETE /v1/images?reference=lab-tar"] = {"name": "lab-tar:20261129"}
    assert tinkbox("image", "delete", "lab-tar").out == "Deleted Image:  lab-tar:20261129\n"


def test_what_stays_of_a_deleted_image_is_told(tinkbox: Tinkbox, images: FakeAppliance) -> None:
    note = {"text": "x:v1 was deleted, and the image stays as x:v2", "line": None, "key": ""}
    images.answers["DELETE /v1/images?reference=x:v1"] = {"notes": [note]}
    deleted = tinkbox("image", "delete", "x:v1")
    assert (deleted.status, deleted.out) == (0, "Deleted Image:  x:v1\n")
    assert deleted.err == "tinkbox: x:v1 was deleted, and the image stays as x:v2\n"


def test_room_is_freed_or_it_is_told_how_much_that_would_be(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    note = {"text": "2 blobs of 1MiB: kept", "line": None, "key": ""}
    answer = {"dry_run": False, "freed": {"blobs": 61, "size": 3 << 30}, "notes": [note]}
    appliance.answers = {"POST /v1/images/gc": answer}
    freed = tinkbox("image", "gc")
    assert (freed.status, freed.out) == (0, "Freed:  61 blobs of 3GiB\n")
    assert freed.err == "tinkbox: 2 blobs of 1MiB: kept\n"
    assert tinkbox("image", "gc", "--dry-run").out == "Would Free:  61 blobs of 3GiB\n"
    assert json.loads(tinkbox("image", "gc", "-o", "json").out) == answer
    assert "freed:" in tinkbox("image", "gc", "-o", "yaml").out
    assert [json.loads(body)["dry_run"] for _, body in appliance.asked] == [False, True, False, False]
    appliance.answers = {"POST /v1/images/gc": {**answer, "images": 2}}
    assert tinkbox("image", "gc", "--untagged", "--now").out == "Freed:  2 images, 61 blobs of 3GiB\n"
    assert json.loads(appliance.asked[-1][1]) == {"dry_run": False, "now": True, "untagged": True}
