"""The second ramdisk: the firmware that the OSIE's modules ask for, and nothing else."""

import lzma
from pathlib import Path

import pytest

from tests.unit.osie.elves import elf, kernel_module
from tests.unit.osie.test_tree import unpacked
from tinkbox.model.errors import Unavailable
from tinkbox.osie.debian import Package
from tinkbox.osie.elf import section
from tinkbox.osie.firmware import Unpacked, choose, compose, index, inherited, wanted
from tinkbox.osie.modules import read_dependencies


@pytest.fixture
def modules(tmp_path) -> Path:
    folder = tmp_path / "modules"
    content = {
        "net/bnx2.ko": kernel_module("bnx2/a.fw", "bnx2/b.fw", "bnx2/a.fw"),
        "net/plain.ko": kernel_module(),
        "scsi/qla-2xxx.ko.xz": lzma.compress(kernel_module("ql2400_fw.bin")),
        "net/odd.ko": kernel_module("/etc/passwd", "../../x", "a b", "ok.bin", "new\nline"),
    }
    for name, octets in content.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(octets)
    return folder


def packages(root: Path, **files: str) -> Unpacked:
    folder = root / "usr/lib/firmware"
    folder.mkdir(parents=True)
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    licence = root / "usr/share/doc/firmware-x/copyright"
    licence.parent.mkdir(parents=True)
    licence.write_text("you may pass it on\n")
    return Unpacked(root, (Package(name="firmware-x", version="1-2", architecture="all"),))


def test_what_modules_ask_for_is_read_from_them_packed_or_not(modules) -> None:
    assert wanted(modules) == {
        "bnx2": ("bnx2/a.fw", "bnx2/b.fw"),
        "qla_2xxx": ("ql2400_fw.bin",),
        "odd": ("ok.bin",),
    }


def test_the_osie_is_told_which_modules_ask(modules) -> None:
    assert index(wanted(modules)) == b"bnx2 bnx2/a.fw bnx2/b.fw\nodd ok.bin\nqla_2xxx ql2400_fw.bin\n"


def test_a_module_whose_helper_asks_counts_as_one_that_asks() -> None:
    needs = read_dependencies(
        "net/qede.ko.xz: lib/crc-8.ko net/qed.ko.xz\nnet/qed.ko.xz: lib/crc-8.ko\nlib/crc-8.ko:\n"
    )
    assert inherited({"qed": ("qed/a.bin",)}, needs) == {"qed": ("qed/a.bin",), "qede": ("qed/a.bin",)}


@pytest.mark.parametrize("name", ["x.ko", "x.ko.xz"])
@pytest.mark.parametrize("content", [b"", b"\x7fELF\x02\x01", kernel_module("a")[:-20], b"text"])
def test_a_damaged_module_is_reported_with_the_way_out(tmp_path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(Unavailable, match=r"x\.ko.* cannot be read .*remove the cache"):
        wanted(tmp_path)


def test_a_file_without_the_section_has_nothing_in_it() -> None:
    assert section(kernel_module(), ".text") == b""
    assert section(elf(), ".modinfo") == b""


def test_just_what_is_asked_for_is_taken_and_what_no_package_has_is_told(tmp_path) -> None:
    source = packages(tmp_path / "p", bnx2__a="one", unused="noise", bnx2__c="three")
    chosen = choose({"bnx2": ("bnx2/a", "bnx2/b"), "other": ("x",)}, [source])
    assert chosen.files.keys() == {"bnx2/a"}
    assert (chosen.modules, chosen.absent) == ({"bnx2": ("bnx2/a",)}, ("bnx2/b", "x"))


def test_the_first_source_that_has_a_file_gives_it(tmp_path) -> None:
    first, second = packages(tmp_path / "p", a="first"), packages(tmp_path / "q", a="second", b="b")
    chosen = choose({"m": ("a", "b")}, [first, second])
    assert {name: path.read_text() for name, path in chosen.files.items()} == {"a": "first", "b": "b"}


def test_a_link_comes_with_what_it_leads_to_and_a_packed_file_as_it_is(tmp_path) -> None:
    source = packages(tmp_path / "p", nic__real="content", **{"packed.xz": "xz"})
    folder = source.root / "usr/lib/firmware"
    (folder / "ice").mkdir()
    (folder / "ice/link").symlink_to("../nic/real")
    chosen = choose({"m": ("ice/link", "packed")}, [source])
    tree = unpacked(b"".join(compose(chosen, [source])[0].archive()))
    assert tree["usr/lib/firmware/nic/real"].content == b"content"
    assert tree["usr/lib/firmware/ice/link"].content == b"../nic/real"
    assert tree["usr/lib/firmware/packed.xz"].content == b"xz"


def test_a_link_that_leads_out_of_the_folder_is_not_followed(tmp_path) -> None:
    source = packages(tmp_path / "p")
    (tmp_path / "secret").write_text("secret")
    (source.root / "usr/lib/firmware/a").symlink_to(tmp_path / "secret")
    assert choose({"m": ("a",)}, [source]).absent == ("a",)


def test_each_licence_text_travels_once_with_the_names_of_its_packages(tmp_path) -> None:
    sources = [packages(tmp_path / "p"), packages(tmp_path / "q")]
    tree, licences = compose(choose({}, sources), sources)
    assert licences == b"firmware-x 1-2, firmware-x 1-2\n\nyou may pass it on\n"
    assert unpacked(b"".join(tree.archive()))["usr/share/doc/firmware/copyright"].content == licences
