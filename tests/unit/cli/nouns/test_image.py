"""`tinkbox image`."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.unit.cli.conftest import FakeAppliance, Printed
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
        "DELETE /v1/images?reference=tools%2Fold%40sha256:77": {},
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


def test_a_file_that_is_not_there_is_told(tinkbox: Tinkbox, images: FakeAppliance, tmp_path: Path) -> None:
    failed = tinkbox("image", "load", str(tmp_path / "no.tar"))
    assert (failed.status, failed.err) == (
        1,
        f"tinkbox: no file {tmp_path}/no.tar: name an archive that `docker save` or `tinkbox image fetch --save` made\n",
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
        f"hello-world:v1,container,{DIGEST},4096,2020-07-08T15:17:02+00:00\n"
        in tinkbox("image", "list", "-o", "csv").out
    )
    assert tinkbox("image", "list", "-q").out == f"hello-world:v1\ntools/old@{DIGEST}\n"


def test_deleting_names_the_whole_reference(tinkbox: Tinkbox, images: FakeAppliance) -> None:
    assert tinkbox("image", "delete", "tools/old@sha256:77").status == 0
    both = tinkbox("image", "delete", "tools/old@sha256:77", "other")
    assert (both.status, both.out) == (1, "Deleted Image:  tools/old@sha256:77\n")
    assert tinkbox("image", "delete", "other").status == 1


def test_how_many_archives_are_loaded_is_told_to_who_reads_no_longer(
    tinkbox: Tinkbox, images: FakeAppliance, tmp_path: Path, piped: Callable[[], Callable[[], None]]
) -> None:
    for name in ("a.tar", "b.tar"):
        (tmp_path / name).write_bytes(b"x")
    piped()()
    ended = tinkbox("image", "load", str(tmp_path / "a.tar"), str(tmp_path / "b.tar"))
    assert (ended.status, ended.err) == (141, "tinkbox: 1 of 2 archives was loaded\n")
