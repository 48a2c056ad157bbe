"""Files that `tinkbox init` puts on a host, and the unit."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from tinkbox.model.errors import Invalid, NotFound, Unavailable
from tinkbox.osie.image import OsieImage, describe, read, write
from tinkbox.setup import placing, release_files, unit
from tinkbox.setup.placing import packed, put, put_folder, put_program
from tinkbox.setup.release_files import find, place_osie

ROOT = Path(__file__).parents[3]


def test_a_file_is_put_once_and_with_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b"
    assert put(path, b"x", 0o755)
    assert not put(path, b"x", 0o755)
    assert put(path, b"y")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"y", 0o644)
    assert [each.name for each in path.parent.iterdir()] == ["b"]


def test_what_cannot_be_written_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Unavailable, match="cannot write"):
        put(tmp_path / "file" / "x", b"")


def test_a_program_that_is_there_stays(tmp_path: Path) -> None:
    program, place = tmp_path / "tinkbox", tmp_path / "bin" / "tinkbox"
    program.write_text("#!")
    assert put_program(program, place)
    assert place.stat().st_mode & 0o777 == 0o755
    assert not put_program(program, place)
    assert not put_program(place, place)


@pytest.mark.parametrize("name", placing.PLACES)
def test_the_files_of_the_unit_are_those_of_the_checkout(name: str) -> None:
    assert packed(name) == (ROOT / "systemd" / name).read_bytes()
    assert placing.PROGRAM.as_posix() in packed("tinkbox.service").decode()


def test_a_program_that_lacks_a_file_says_so() -> None:
    with pytest.raises(Unavailable, match=r"lacks systemd/nothing\.conf .*: type `make binary`"):
        packed("nothing.conf")


def test_the_unit_is_installed_once_and_read_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[Sequence[str]] = []
    monkeypatch.setattr(unit, "PLACES", {name: tmp_path / name for name in placing.PLACES})
    assert unit.install(ran.append, tmp_path, []) == [str(tmp_path / name) for name in placing.PLACES]
    read = [*ran]
    assert [Path(each[0]).name for each in read] == ["systemd-sysusers", "systemd-sysctl", "systemctl"]
    unit.start(ran.append)
    assert ran[3:] == [
        ["systemctl", "--quiet", "enable", "tinkbox.service"],
        ["systemctl", "restart", "tinkbox.service"],
    ]
    ran.clear()
    assert unit.install(ran.append, tmp_path, []) == []
    assert ran == read


def test_a_command_that_fails_is_named() -> None:
    with pytest.raises(Unavailable, match="`false` failed"):
        unit.run(["false"])
    with pytest.raises(Unavailable, match="cannot start nowhere-to-be-found"):
        unit.run(["nowhere-to-be-found"])


def test_a_command_that_takes_long_is_told_of_once(tmp_path: Path) -> None:
    gate, told = tmp_path / "gate", list[str]()
    os.mkfifo(gate)

    def slow() -> None:
        told.append("slow")
        gate.write_text("go on\n")

    unit.run(["cat", str(gate)], slow, patience=0)
    assert told == ["slow"]


def test_what_a_start_waits_for_is_what_systemd_starts_now() -> None:
    listed = """\
  91 systemd-networkd-wait-online.service start running
 101 network-online.target start waiting
 102 tinkbox.service start running
No jobs running.
"""
    assert unit.jobs_in(listed) == ["systemd-networkd-wait-online.service"]


@pytest.fixture
def release(tmp_path: Path) -> Path:
    osie = tmp_path / "release" / "osie" / "x86_64"
    osie.mkdir(parents=True)
    for name in ("vmlinuz", "initramfs"):
        (osie / name).write_text(name)
    files = {name: describe(osie / name) for name in ("vmlinuz", "initramfs")}
    write(OsieImage(architecture="x86_64", version="7", kernel="6.12", files=files, packages={}), osie)
    return tmp_path / "release"


def test_an_osie_is_placed_whole_and_once_and_replaced_by_another(release: Path, tmp_path: Path) -> None:
    (source,) = find(release, ()).osies
    (source / "firmware").write_text("of the second ramdisk")
    osie = tmp_path / "data" / "osie"
    image, placed = place_osie(source, osie)
    assert (placed, read(osie / "x86_64")) == (True, image)
    assert sorted(each.name for each in (osie / "x86_64").iterdir()) == [
        "firmware",
        "initramfs",
        "osie.json",
        "vmlinuz",
    ]
    assert [each.name for each in osie.iterdir()] == ["x86_64"]
    assert place_osie(source, osie) == (image, False)
    write(OsieImage(architecture="x86_64", version="8", kernel="6.12", files=image.files, packages={}), source)
    assert place_osie(source, osie)[1]
    assert read(osie / "x86_64").version == "8"


def test_an_osie_that_is_not_what_it_says_is_refused(release: Path, tmp_path: Path) -> None:
    (source,) = find(release, ()).osies
    (source / "vmlinuz").write_text("cut o")
    with pytest.raises(Invalid, match="vmlinuz is not what"):
        place_osie(source, tmp_path / "osie")
    assert not (tmp_path / "osie").exists()


@pytest.mark.parametrize("content", ["", "zinuxzz", None])
def test_an_osie_that_a_power_cut_damaged_is_placed_anew(release: Path, tmp_path: Path, content: str | None) -> None:
    (source,) = find(release, ()).osies
    osie = tmp_path / "data" / "osie"
    place_osie(source, osie)
    damaged = osie / "x86_64" / "vmlinuz"
    damaged.unlink()
    if content is not None:
        damaged.write_text(content)
    image, placed = place_osie(source, osie)
    assert (placed, describe(damaged)) == (True, image.files["vmlinuz"])
    assert place_osie(source, osie) == (image, False)


def test_a_folder_is_on_the_disk_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, place = tmp_path / "source", tmp_path / "data" / "place"
    source.mkdir()
    (source / "x").write_text("x")
    synced: list[tuple[str, bool]] = []

    def sync(descriptor: int) -> None:
        name = Path(f"/proc/self/fd/{descriptor}").readlink().name
        synced.append(("a file" if name.startswith(".x.") else name, place.exists()))

    monkeypatch.setattr("os.fsync", sync)
    put_folder(source, place)
    assert synced == [("a file", False), ("new", False), ("data", True)]
    assert ((place / "x").read_text(), (place / "x").stat().st_mode & 0o777) == ("x", 0o644)


def test_files_are_where_they_are_named_or_in_the_first_usual_place(release: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert find(None, [tmp_path / "empty", release]) == find(release, ())
    assert find(None, [tmp_path / "empty"]) == release_files.ReleaseFiles()
    with pytest.raises(NotFound, match="neither"):
        find(tmp_path / "empty", [release])


def test_a_folder_that_cannot_be_copied_leaves_the_old_one(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "x").write_text("x")
    with pytest.raises(Unavailable, match="cannot copy"):
        put_folder(tmp_path / "missing", tmp_path / "old")
    assert (tmp_path / "old" / "x").read_text() == "x"


def test_each_former_file_is_kept_under_a_name_of_its_own(tmp_path: Path) -> None:
    config = tmp_path / "tinkbox.yaml"
    placing.put(config, b"first", 0o640)
    kept = [placing.put_instead(config, content) for content in (b"second", b"third", b"fourth")]
    assert (config.read_bytes(), config.stat().st_mode & 0o777) == (b"fourth", 0o640)
    assert [each.name.removeprefix("tinkbox.yaml") for each in kept] == [
        ".before-init",
        ".before-init.2",
        ".before-init.3",
    ]
    assert [each.read_bytes() for each in kept] == [b"first", b"second", b"third"]
