"""Images of which a part is damaged or missing: it is told, with the exit status 1, and what is whole is carried."""

import json
import tarfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.integration.cli.carried_images import Signed, Tinkbox, index_layout, names, on, referring, write
from tests.integration.cli.serving import Configuration, configure, serving
from tests.integration.registry.serving import digest_of, docker_archive, layer, tar
from tinkbox.registry.blobs.verified import _identity

WAYS = ("save", "export", "copy")


def blob(registry: Path, digest: str) -> Path:
    return registry / "blobs" / "sha256" / digest.removeprefix("sha256:")


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-2] ^= 1
    path.write_bytes(content)


def problems(tinkbox: Tinkbox) -> list[str]:
    return [each["problem"] for each in json.loads(tinkbox("image", "list", "-o", "json").out) if each["problem"]]


def carried(here: Tinkbox, way: str, name: str, target: Path, to_other: list[str | Path]) -> tuple[int, str]:
    flags = {"copy": to_other, "export": [target], "save": ["-o", target]}[way]
    done = here("image", way, name, *flags)
    return done.status, done.err


@pytest.mark.parametrize("way", WAYS)
def test_an_index_is_not_carried_without_an_image_that_is_damaged(
    appliance: Configuration,
    here: Tinkbox,
    there: Tinkbox,
    to_other: list[str | Path],
    tmp_path: Path,
    way: str,
) -> None:
    loaded = write(tmp_path / "x.tar", index_layout("tools/many:v1", "amd64", "arm64", lacking=("riscv64",)))
    assert here("image", "load", loaded).status == 0
    registry = appliance.data / "registry"
    index = json.loads(blob(registry, names(here)["tools/many:v1"]).read_text())
    flip(blob(registry, index["manifests"][0]["digest"]))
    assert len(problems(here)) == 1
    for _ in range(2):  # it is dropped once it is found
        status, told = carried(here, way, "tools/many:v1", tmp_path / "target", to_other)
        lost = index["manifests"][0]["digest"]
        assert (status, f"tools/many:v1 is damaged, its manifest {lost}" in told) == (1, True), told
    assert names(there) == {}
    done = here("image", "export", "--all", tmp_path / "all")
    assert (done.status, done.out) == (1, "")


@pytest.mark.parametrize("way", ["load", "copy"])
def test_what_an_appliance_finds_damaged_while_it_looks_is_sent_after_all(
    other: Configuration,
    here: Tinkbox,
    there: Tinkbox,
    to_other: list[str | Path],
    tmp_path: Path,
    way: str,
) -> None:
    contents = [layer({f"{way}{number}": b"x" * 1000}) for number in range(2)]
    loaded = write(tmp_path / "x.tar", tar(docker_archive(["tools/b:v1"], contents).items()))
    assert here("image", "load", loaded).status == 0
    assert here("image", "export", "tools/b:v1", tmp_path / "images").status == 0
    assert there("image", "load", loaded).status == 0
    places = [blob(other.data / "registry", digest_of(each)) for each in contents]
    for place in places:
        flip(place)
    if way == "load":
        done = there("image", "load", tmp_path / "images")
    else:
        done = here("image", "copy", "tools/b:v1", *to_other)
    assert (done.status, done.err) == (0, ""), done
    assert [place.read_bytes() for place in places] == contents


@pytest.mark.parametrize("part", ["manifest", "content"])
@pytest.mark.parametrize("way", WAYS)
def test_an_image_is_carried_without_a_damaged_signature_which_is_told(
    appliance: Configuration,
    here: Tinkbox,
    there: Tinkbox,
    signed: Signed,
    to_other: list[str | Path],
    tmp_path: Path,
    way: str,
    part: str,
) -> None:
    assert here("image", "load", signed.path).status == 0
    registry = appliance.data / "registry"
    document = json.loads(blob(registry, signed.countersignature).read_text())
    flip(blob(registry, signed.countersignature if part == "manifest" else document["layers"][0]["digest"]))
    for _ in range(2):
        status, told = carried(here, way, "tools/wipe:v1", tmp_path / "target", to_other)
        assert status == 1
        assert f"tools/wipe:v1: its signature or SBOM {signed.countersignature}: " in told
    if way != "copy":
        assert there("image", "load", tmp_path / "target").status == 0
    assert names(there)["tools/wipe:v1"] == signed.image
    assert referring(there, "tools/wipe") == {signed.signature}


def rot(registry: Path, digest: str) -> None:
    """Damage a blob while the appliance is stopped, so that nothing tells that it changed since it was hashed today."""
    path = blob(registry, digest)
    flip(path)
    with (registry / "verified").open("a") as journal:
        journal.write(f"{digest} {_identity(path.stat()).hex()} {int(datetime.now(UTC).timestamp())}\n")


@pytest.mark.parametrize("way", WAYS)
def test_a_blob_that_came_damaged_is_looked_at_again_by_the_appliance_and_marked(
    to_other: list[str | Path], tmp_path: Path, way: str
) -> None:
    configuration = configure(tmp_path)
    here, content = on(configuration), layer({"rotten": b"r" * 1000 + way.encode()})
    archive = write(tmp_path / "x.tar", tar(docker_archive(["tools/r:v1"], [content]).items()))
    with serving(configuration):
        assert here("image", "load", archive).status == 0
    rot(configuration.data / "registry", digest_of(content))
    with serving(configuration):
        assert problems(here) == []
        status, told = carried(here, way, "tools/r:v1", tmp_path / "target", to_other)
        assert status != 0
        assert f"tinkbox: {digest_of(content)} is damaged on the disk: push or load its image again" in told
        assert len(problems(here)) == 1
        _, told = carried(here, way, "tools/r:v1", tmp_path / "target", to_other)
        assert told.count("push or load") == 1, told
        assert here("image", "load", archive).status == 0
        assert problems(here) == []
        assert carried(here, way, "tools/r:v1", tmp_path / "target", to_other) == (0, "")


def exported(here: Tinkbox, signed: Signed, folder: Path) -> None:
    assert here("image", "load", signed.path).status == 0
    assert here("image", "export", "tools/wipe:v1", folder).status == 0


@pytest.mark.parametrize("damage", [flip, Path.unlink])
@pytest.mark.parametrize("part", ["manifest", "content", "of a tag"])
def test_a_folder_is_loaded_without_a_signature_that_is_damaged_or_missing(
    here: Tinkbox,
    there: Tinkbox,
    signed: Signed,
    tmp_path: Path,
    part: str,
    damage: Callable[[Path], None],
) -> None:
    folder = tmp_path / "images"
    exported(here, signed, folder)
    digest = signed.countersignature
    document = json.loads(blob(folder, digest).read_text())
    if part == "of a tag":
        digest = names(here)[f"tools/wipe:{signed.tag}"]
    place = blob(folder, document["layers"][0]["digest"] if part == "content" else digest)
    damage(place)
    done = there("image", "load", folder)
    assert (done.status, "Loaded Image:  tools/wipe:v1\n" in done.out) == (1, True), done
    assert (place.name in done.err, "export" in done.err) == (True, True), done
    if part != "manifest":  # which would say what it is
        assert f"tools/wipe:v1: its signature or SBOM {digest}: " in done.err
    assert (signed.signature in referring(there, "tools/wipe"), names(there)["tools/wipe:v1"]) == (True, signed.image)
    again = there("image", "load", "--name", "x:v1", folder)
    assert (again.status, names(there)["x:v1"]) == (1, signed.image), again
    assert here("image", "export", "tools/wipe:v1", folder).status == 0
    assert there("image", "load", folder).status == 0
    assert names(there).items() >= names(here).items()


def test_an_archive_of_which_a_signature_is_damaged_or_missing_is_refused(
    here: Tinkbox,
    signed: Signed,
    tmp_path: Path,
) -> None:
    name = f"blobs/sha256/{signed.countersignature[7:]}"
    with tarfile.open(signed.path) as packed:
        files = {each.name: content.read() for each in packed if (content := packed.extractfile(each))}
    for wrong in ({**files, name: files[name].replace(b"a/signature", b"a/signaturE")}, {**files, name: b""}):
        refused = here("image", "load", write(tmp_path / "x.tar", tar(wrong.items())))
        assert (refused.status, signed.countersignature in refused.err) == (1, True), refused
    del files[name]
    refused = here("image", "load", write(tmp_path / "x.tar", tar(files.items())))
    assert (refused.status, signed.countersignature in refused.err) == (1, True), refused
    assert names(here) == {}
