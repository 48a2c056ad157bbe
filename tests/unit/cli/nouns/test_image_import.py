"""`tinkbox image import`, as far as it goes before anything is packed."""

import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.system_disks import raw_disk
from tests.unit.cli.conftest import FakeAppliance, Printed

Tinkbox = Callable[..., Printed]
TODAY = "20200708"


@pytest.fixture
def disk(tmp_path: Path) -> str:
    raw_disk(tmp_path / "disk.raw", 1 << 20)
    return str(tmp_path / "disk.raw")


def here(*tags: str, kind: str = "system") -> list[dict[str, object]]:
    moment = "2020-07-08T15:17:02+00:00"
    return [
        {"name": "lab", "tag": tag, "digest": "sha256:7", "size": 1, "pushed_at": moment, "kind": kind} for tag in tags
    ]


@pytest.mark.parametrize(
    ("tags", "version"), [([], TODAY), ([TODAY], f"{TODAY}.1"), ([TODAY, f"{TODAY}.1", "latest"], f"{TODAY}.2")]
)
def test_the_version_is_today_unless_that_is_taken(
    tinkbox: Tinkbox,
    appliance: FakeAppliance,
    tmp_path: Path,
    disk: str,
    tags: list[str],
    version: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tinkbox.cli.nouns.image.importing.now", lambda: datetime(2020, 7, 8, 23, 59, tzinfo=UTC))
    appliance.answers = {"GET /v1/images": here(*tags), "POST /v1/images": {"loaded": [f"lab:{version}"]}}
    done = tinkbox("image", "import", disk, "--id", "lab", "--scratch", str(tmp_path))
    assert done.out.startswith(f"Imported lab:{version} (sha256:"), done.err
    assert [asked for asked, _ in appliance.asked] == ["GET /v1/images", "POST /v1/images"]
    assert [each.name for each in tmp_path.iterdir()] == ["disk.raw"]


def test_a_version_that_is_here_is_not_replaced(tinkbox: Tinkbox, appliance: FakeAppliance, disk: str) -> None:
    appliance.answers = {"GET /v1/images": here("1")}
    failed = tinkbox("image", "import", disk, "--id", "lab", "--version", "1")
    remedy = "choose another `--version`, or delete it first with `tinkbox image delete lab:1`"
    assert (failed.status, failed.err) == (1, f"tinkbox: lab:1 is here already: {remedy}\n")


def test_the_image_of_an_action_is_not_replaced(tinkbox: Tinkbox, appliance: FakeAppliance, disk: str) -> None:
    appliance.answers = {"GET /v1/images": here("v1", kind="container")}
    failed = tinkbox("image", "import", disk, "--id", "lab")
    assert (failed.status, "is a container image here" in failed.err) == (1, True)


def test_what_is_wrong_is_told_before_anything_is_asked(
    tinkbox: Tinkbox, appliance: FakeAppliance, disk: str, tmp_path: Path
) -> None:
    for words, text in {
        (disk, "--id", "Lab"): "no id of an image",
        (disk, "--id", "lab", "--version", "latest"): "no version of an image",
        (disk, "--id", "lab", "--default-user", "a b;$(x)"): "no name of a user",
        (disk + "x", "--id", "lab"): f"no file {disk}x: name",
        (str(tmp_path), "--id", "lab"): f"{tmp_path} is a folder: name",
        ("/dev/null", "--id", "lab"): "/dev/null is no regular file: name",
        (disk, "--id", "lab", "--scratch", str(tmp_path / "no")): "no folder",
    }.items():
        failed = tinkbox("image", "import", *words)
        assert (failed.status, text in failed.err) == (1, True), failed.err
    assert tinkbox("image", "import", disk, "--id", "lab", "--max-size", "much").status == 2
    assert appliance.asked == []


def test_what_a_killed_import_left_is_removed_by_the_next(
    tinkbox: Tinkbox, appliance: FakeAppliance, tmp_path: Path, disk: str
) -> None:
    scratch, loading, killed = tmp_path / "scratch", threading.Event(), threading.Event()
    scratch.mkdir()
    words = ("image", "import", disk, "--id", "lab", "--scratch", str(scratch))

    def load() -> object:
        appliance.answers["POST /v1/images"] = {"loaded": []}
        loading.set()
        killed.wait(60)
        return {"loaded": []}

    appliance.answers = {"GET /v1/images": [], "POST /v1/images": load}
    with subprocess.Popen([sys.executable, "-m", "tinkbox", *words]) as first:
        assert loading.wait(60)
        (left,) = scratch.iterdir()
        assert tinkbox(*words).status == 0
        assert list(scratch.iterdir()) == [left], "another import removed the folder of one that runs"
        first.kill()
    killed.set()
    assert (left / "image.tar").exists()
    assert tinkbox(*words).status == 0
    assert list(scratch.iterdir()) == []
