import json
from pathlib import Path

import pytest

from tests.unit.osie.test_build import KERNEL, build, executable, mirror, with_firmware
from tinkbox.model.errors import Invalid
from tinkbox.osie.sbom import copyright_text, debian_package
from tinkbox.wire.cyclonedx import Component, written

__all__ = ["executable", "mirror", "with_firmware"]
RICH = Component(kind="library", name="rich", version="15", licences=("MIT",))
FIELDS = {
    "Package": "docker.io",
    "Version": "20.10+b6",
    "Architecture": "amd64",
    "Source": "docker (20.10)",
    "Maintainer": "Debian Go <go@example.org>",
    "Built-Using": "golang-1.19 (= 1.19.8-2), glibc (= 2.36-9)",
}


def bill(folder: Path) -> dict[str, dict[str, object]]:
    """The components of the OSIE's bill of materials, by name."""
    document = json.loads((folder / "osie.cdx.json").read_text())
    return {each["name"]: each for each in document["components"]}


def test_the_bill_has_the_packages_of_which_a_file_is_in_the_osie(mirror, executable, tmp_path) -> None:
    mirror.serve("Inst osie (1 Debian:12/stable [amd64])\nInst docs (3 Debian:12/stable [amd64])\n")
    mirror.content("docs", "usr/share/doc/docs/README", "words")
    build(tmp_path / "osie", executable, tmp_path / "cache", lambda _: None)
    found = bill(tmp_path / "osie/x86_64")
    assert found.keys() == {"osie", "tinkbox"}
    assert found["osie"]["version"] == "1"
    assert found["osie"]["hashes"]
    assert "upstream=source-of-osie%401:2" in str(found["osie"]["purl"])


def test_the_kernel_and_the_authorities_count_as_carried(mirror, executable, tmp_path) -> None:
    mirror.serve(
        f"Inst osie (1 Debian:12/stable [amd64])\nInst linux-image-{KERNEL} (6 Debian:12/stable [amd64])\n"
        "Inst ca-certificates (2 Debian:12/stable [all])\nInst ca-certificates (2 Debian:12/stable [amd64])\n"
    )
    mirror.content(f"linux-image-{KERNEL}", f"boot/vmlinuz-{KERNEL}", "kernel")
    mirror.content("ca-certificates", "usr/share/ca-certificates/mozilla/C.crt", "third\n")
    build(tmp_path / "osie", executable, tmp_path / "cache", lambda _: None)
    found = bill(tmp_path / "osie/x86_64")
    assert found[f"linux-image-{KERNEL}"]["type"] == "operating-system"
    assert "ca-certificates" in found


def test_firmware_is_in_the_bill(with_firmware, executable, tmp_path) -> None:
    build(tmp_path / "osie", executable, tmp_path / "cache", lambda _: None, with_firmware=True)
    found = bill(tmp_path / "osie/x86_64")
    assert found["firmware-realtek"]["type"] == "firmware"
    document = json.loads((tmp_path / "osie/x86_64/osie.cdx.json").read_text())
    files = [each["name"] for each in document["metadata"]["component"]["components"]]
    assert files == ["firmware", "initramfs", "vmlinuz"]


def test_the_bill_that_lies_beside_the_worker_is_in_that_of_the_osie(mirror, executable, tmp_path) -> None:
    worker = Component(kind="application", name="tinkbox")
    executable.with_name("tinkbox.cdx.json").write_text(written(worker, [RICH], "2026-11-30T12:00:00Z"))
    build(tmp_path / "osie", executable, tmp_path / "cache", lambda _: None)
    document = json.loads((tmp_path / "osie/x86_64/osie.cdx.json").read_text())
    [found] = [each for each in document["components"] if each["name"] == "tinkbox"]
    assert [part["name"] for part in found["components"]] == ["rich"]
    assert document["metadata"]["timestamp"] == "2026-11-30T12:00:00Z"


def test_a_bill_beside_the_worker_that_is_none_ends_the_build_with_the_way_out(mirror, executable, tmp_path) -> None:
    executable.with_name("tinkbox.cdx.json").write_text("not yet")
    with pytest.raises(Invalid, match=r"tinkbox\.cdx\.json is no bill of materials.*make binary"):
        build(tmp_path / "osie", executable, tmp_path / "cache", lambda _: None)


def test_a_bill_of_another_program_is_refused(mirror, executable, tmp_path) -> None:
    other = Component(kind="application", name="tinkbox", sha256="ab" * 32)
    executable.with_name("tinkbox.cdx.json").write_text(written(other, [RICH]))
    with pytest.raises(Invalid, match=r"is of another program than .*tinkbox: make both again with `make binary`"):
        build(tmp_path / "osie", executable, tmp_path / "cache", lambda _: None)


def test_the_program_itself_brings_the_bill_that_it_carries(mirror, executable, tmp_path, monkeypatch) -> None:
    place = tmp_path / "carried" / "tinkbox.cdx.json"
    place.parent.mkdir()
    place.write_text(written(Component(kind="application", name="tinkbox"), [RICH]))
    monkeypatch.setattr("tinkbox.osie.executable.CARRIED_BILL", place)
    monkeypatch.setattr("sys.executable", str(executable))
    build(tmp_path / "osie", executable, tmp_path / "cache", lambda _: None)
    assert [part["name"] for part in bill(tmp_path / "osie/x86_64")["tinkbox"]["components"]] == ["rich"]  # type: ignore[attr-defined]


def test_two_builds_have_the_same_bill(mirror, executable, tmp_path) -> None:
    for name in ("one", "other"):
        build(tmp_path / name, executable, tmp_path / "cache", lambda _: None)
    one, other = ((tmp_path / name / "x86_64/osie.cdx.json").read_bytes() for name in ("one", "other"))
    assert one == other


def test_a_package_tells_its_source_and_what_was_linked_into_it() -> None:
    found = debian_package(FIELDS, "", "debian-12")
    assert found.purl == "pkg:deb/debian/docker.io@20.10%2Bb6?arch=amd64&distro=debian-12&upstream=docker%4020.10"
    assert [(part.name, part.version) for part in found.parts] == [("glibc", "2.36-9"), ("golang-1.19", "1.19.8-2")]
    assert found.publisher == "Debian Go <go@example.org>"


def test_a_package_without_a_known_licence_says_where_that_is_to_be_read() -> None:
    assert debian_package(FIELDS, "all mine").licences == ("as in /usr/share/doc/docker.io/copyright",)


def test_a_copyright_file_is_found_by_the_link_to_another_packages(tmp_path: Path) -> None:
    documents = tmp_path / "usr/share/doc"
    (documents / "gcc-12-base").mkdir(parents=True)
    (documents / "gcc-12-base/copyright").write_text("words")
    (documents / "libgcc-s1").symlink_to("gcc-12-base")
    assert copyright_text(tmp_path, "libgcc-s1") == "words"
    assert copyright_text(tmp_path, "nothing") == ""


def test_a_link_out_of_the_packages_is_not_followed(tmp_path: Path) -> None:
    documents = tmp_path / "root/usr/share/doc"
    documents.mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/copyright").write_text("of this host")
    (documents / "odd").symlink_to(tmp_path / "outside")
    (documents / "loop").symlink_to("loop")
    assert copyright_text(tmp_path / "root", "odd") == ""
    assert copyright_text(tmp_path / "root", "loop") == ""
