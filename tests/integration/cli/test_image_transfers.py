"""Images from one place to another: archives, folders, standard input, and another appliance."""

import gzip
import io
import json
import lzma
import os
import signal
import subprocess
import sys
import tarfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from tests.integration.cli.carried_images import (
    OWN,
    SHARED,
    Signed,
    Tinkbox,
    index_layout,
    names,
    on,
    referring,
    write,
)
from tests.integration.cli.serving import Configuration, configure, run, serving
from tests.integration.registry.serving import (
    configuration,
    digest_of,
    docker_archive,
    layer,
    sha512_files,
    system_image_archive,
    tar,
)
from tests.system_disks import raw_disk
from tinkbox.client.operator.images import Images
from tinkbox.client.operator.lasting_connection import LastingConnection
from tinkbox.client.refusals import Unanswered
from tinkbox.registry.manifests.manifests import OCI_INDEX


def members(archive: bytes) -> list[str]:
    with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
        return packed.getnames()


def zstd(content: bytes) -> bytes:
    return subprocess.run(["zstd", "-q", "-c"], input=content, capture_output=True, check=True).stdout


def token_of(configuration: Configuration) -> str:
    return (configuration.data / "operator.token").read_text().strip()


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return write(tmp_path / "two.tar", tar(docker_archive(["one:v1", "quay.io/tools/two:v2"], [SHARED, OWN]).items()))


def test_load_keeps_the_whole_name_of_an_image(here: Tinkbox, tmp_path: Path) -> None:
    told = ["docker.io/library/alpine:3", "quay.io/tools/wipe:v1", "plain:v1"]
    path = write(tmp_path / "x.tar", tar(docker_archive(told, [OWN]).items()))
    assert here("image", "load", path).out == "".join(f"Loaded Image:  {name}\n" for name in told)
    assert sorted(names(here)) == sorted(told)
    assert here("image", "delete", "--yes", "docker.io/library/alpine:3").status == 0


@pytest.mark.parametrize("compress", [bytes, gzip.compress, lzma.compress, zstd])
def test_load_reads_standard_input_compressed_or_not(
    here: Tinkbox, archive: Path, compress: Callable[[bytes], bytes]
) -> None:
    done = here("image", "load", "-", stdin=compress(archive.read_bytes()))
    assert (done.status, done.out) == (0, "Loaded Image:  one:v1\nLoaded Image:  quay.io/tools/two:v2\n"), done


def test_load_reads_a_pipe_and_files_beside_it(appliance: Configuration, here: Tinkbox, archive: Path) -> None:
    more = write(archive.parent / "more.tar.zst", zstd(tar(docker_archive(["more:v1"], [OWN]).items())))
    done = run("--data", str(appliance.data), "image", "load", str(more), "-", stdin=archive.read_bytes())
    assert (done.status, done.out.splitlines()[:2]) == (0, ["Loaded Image:  more:v1", "Loaded Image:  one:v1"]), done


def test_a_tag_that_a_load_moves_is_told_with_what_it_was(here: Tinkbox, archive: Path, tmp_path: Path) -> None:
    assert here("image", "load", archive).err == ""
    before = names(here)["one:v1"]
    other = write(tmp_path / "one.tar", tar(docker_archive(["one:v1"], [layer({"x": b"y"})]).items()))
    told = f"tinkbox: one:v1 was another image before: one@{before}\n"
    moved = here("image", "load", other)
    assert (moved.status, moved.err) == (0, told), moved
    assert here("image", "load", other).err == ""
    for version in ("1", "2"):
        packed = write(tmp_path / "lab.tar", system_image_archive(version, "latest"))
        assert here("image", "load", packed).err == "", "`latest` of a system image moves on"


def test_a_truncated_zstd_archive_is_told_with_its_name(here: Tinkbox, archive: Path) -> None:
    cut = write(archive.parent / "cut.tar.zst", zstd(archive.read_bytes())[:-10])
    done = here("image", "load", cut)
    assert done.status == 1
    assert done.err.startswith(f"tinkbox: {cut}: it is truncated")
    assert names(here) == {}


@pytest.mark.parametrize("kind", ["docker", "index"])
def test_an_archive_without_names_needs_one(here: Tinkbox, tmp_path: Path, kind: str) -> None:
    files = docker_archive([], [OWN])
    path = write(tmp_path / "x.tar", tar(files.items()) if kind == "docker" else index_layout("", "amd64", "arm64"))
    refused = here("image", "load", path)
    assert refused.status == 1
    assert "names no image: load it with `--name NAME`" in refused.err
    assert here("image", "load", "--name", "quay.io/a/b:v1", path).out == "Loaded Image:  quay.io/a/b:v1\n"
    again = here("image", "load", "--name", "c", path)
    assert again.out == "Loaded Image:  c:latest\n"
    assert len(set(names(here).values())) == 1


def test_a_name_is_for_one_image(here: Tinkbox, tmp_path: Path, archive: Path) -> None:
    both = {**docker_archive(["a"], [OWN]), **docker_archive(["b"], [SHARED])}
    listed = [*json.loads(docker_archive(["a"], [OWN])["manifest.json"])]
    both["manifest.json"] = json.dumps([*listed, *json.loads(both["manifest.json"])]).encode()
    path = write(tmp_path / "both.tar", tar(both.items()))
    assert "has 2 images, and `--name` names one" in here("image", "load", "--name", "x", path).err
    assert here("image", "load", "--name", "x", path, archive).status == 2
    assert here("image", "load", "-", "-").status == 2


def test_what_is_saved_is_loaded_elsewhere_with_its_digests(
    here: Tinkbox, there: Tinkbox, archive: Path, tmp_path: Path
) -> None:
    whole = write(tmp_path / "index.tar", index_layout("tools/many:v1", "arm64", "amd64", lacking=("riscv64",)))
    system = write(tmp_path / "system.tar", system_image_archive("20261101", "latest"))
    assert here("image", "load", archive, whole, system).status == 0
    kept = names(here)
    saved = tmp_path / "saved.tar"
    done = here("image", "save", *kept, "-o", saved)
    assert (done.status, done.out) == (0, "".join(f"Saved Image:  {name}\n" for name in kept)), done
    listed = members(saved.read_bytes())
    assert len(listed) == len(set(listed)), "each blob is in it once"
    assert there("image", "load", saved).status == 0
    assert names(there) == kept
    assert [each["kind"] for each in json.loads(there("image", "list", "-o", "json").out)] == [
        each["kind"] for each in json.loads(here("image", "list", "-o", "json").out)
    ]
    with tarfile.open(saved) as packed:
        docker = json.loads((packed.extractfile("manifest.json") or io.BytesIO()).read())
    tagged = {name: each["Config"] for each in docker for name in each["RepoTags"]}
    assert set(tagged) == {name for name in kept if not name.startswith("lab:")}


def test_save_writes_to_standard_output_and_by_digest(
    appliance: Configuration, here: Tinkbox, there: Tinkbox, archive: Path
) -> None:
    assert here("image", "load", archive).status == 0
    digest = names(here)["one:v1"]
    done = subprocess.run(
        [sys.executable, "-m", "tinkbox", "--data", appliance.data, "image", "save", f"one@{digest}", "-o", "-"],
        capture_output=True,
        check=True,
    )
    assert done.stderr.decode() == f"Saved Image:  one@{digest}\n"
    assert there("image", "load", "-", "--name", "x:v1", stdin=done.stdout).status == 0
    assert names(there) == {"x:v1": digest}


def by_digest(tinkbox: Tinkbox) -> set[str]:
    """The images there that have no tag."""
    listed = json.loads(tinkbox("image", "list", "-o", "json").out)
    return {f"{each['name']}@{each['digest']}" for each in listed if not each["tag"]}


@pytest.mark.parametrize("way", ["save", "export"])
def test_images_by_digest_travel_beside_others(
    here: Tinkbox, there: Tinkbox, archive: Path, tmp_path: Path, way: str
) -> None:
    assert here("image", "load", archive).status == 0
    kept = names(here)
    pinned = [f"one@{kept['one:v1']}", f"quay.io/tools/two@{kept['quay.io/tools/two:v2']}"]
    more = write(tmp_path / "c.tar", tar(docker_archive(["c:v1"], [OWN, layer({"c": b"c"})]).items()))
    assert here("image", "load", more).status == 0
    for number, keys in enumerate(([pinned[0]], pinned, ["c:v1", *pinned])):
        target = tmp_path / f"{way}{number}"
        done = here("image", way, *keys, *([target] if way == "export" else ["-o", target]))
        verb = {"save": "Saved", "export": "Exported"}[way]
        assert (done.status, done.out) == (0, "".join(f"{verb} Image:  {each}\n" for each in keys)), done
        loaded = there("image", "load", target)
        assert (loaded.status, loaded.out) == (0, "".join(f"Loaded Image:  {each}\n" for each in keys)), loaded
        assert by_digest(there) == {*keys} - {"c:v1"}
        assert [*names(there)] == [each for each in keys if each == "c:v1"]
        for each in keys:
            assert there("image", "delete", "--yes", each).status == 0


def test_an_image_is_copied_by_its_digest(
    here: Tinkbox, there: Tinkbox, signed: "Signed", to_other: list[str | Path]
) -> None:
    assert here("image", "load", signed.path).status == 0
    pinned = f"tools/wipe@{signed.image}"
    done = here("image", "copy", pinned, *to_other)
    assert (done.status, done.out) == (0, f"Copied Image:  {pinned}\nCopied Image:  tools/wipe:{signed.tag}\n"), done
    assert referring(there, "tools/wipe") == {signed.image, signed.signature, signed.countersignature}


def test_a_name_with_the_digest_of_another_image_is_refused(here: Tinkbox, archive: Path, tmp_path: Path) -> None:
    assert here("image", "load", archive).status == 0
    one = write(tmp_path / "one.tar", tar(docker_archive(["one:v1"], [SHARED, OWN]).items()))
    refused = here("image", "load", "--name", f"x@sha256:{'a' * 64}", one)
    assert (refused.status, "has another digest than the image" in refused.err) == (1, True), refused
    digest = names(here)["one:v1"]
    assert here("image", "load", "--name", f"x@{digest}", one).out == f"Loaded Image:  x@{digest}\n"
    assert by_digest(here) == {f"x@{digest}"}


def test_a_system_image_by_its_digest_has_its_version_elsewhere(here: Tinkbox, there: Tinkbox, tmp_path: Path) -> None:
    assert here("image", "load", write(tmp_path / "lab.tar", system_image_archive("20261101", "latest"))).status == 0
    digest = names(here)["lab:20261101"]
    assert here("image", "export", f"lab@{digest}", tmp_path / "images").status == 0
    assert there("image", "load", tmp_path / "images").status == 0
    assert names(there)["lab:20261101"] == digest


def test_an_image_of_docker_hub_is_told_by_its_other_spelling(here: Tinkbox, tmp_path: Path) -> None:
    told = ["tools/y:v1", "docker.io/tools/z:v1", "docker.io/library/alpine:3"]
    assert here("image", "load", write(tmp_path / "y.tar", tar(docker_archive(told, [OWN]).items()))).status == 0
    for typed, kept in zip(("docker.io/tools/y:v1", "tools/z:v1", "alpine:3"), told, strict=True):
        for verb in (["copy", typed, "x:1"], ["save", typed, "-o", tmp_path / "x"], ["delete", "--yes", typed]):
            refused = here("image", *verb)
            assert (refused.status, f"no image {typed} here: there is {kept}, which" in refused.err) == (1, True), (
                refused
            )


def test_a_save_that_fails_leaves_no_file(here: Tinkbox, appliance: Configuration, archive: Path) -> None:
    assert here("image", "load", archive).status == 0
    target = archive.parent / "out" / "saved.tar"
    assert here("image", "save", "one:v1", "-o", target).err.startswith(f"tinkbox: no folder {target.parent}")
    target.parent.mkdir()
    assert here("image", "save", "one:v1", "none:v1", "-o", target).status == 1
    blob = appliance.data / "registry" / "blobs" / "sha256" / digest_of(SHARED)[7:]
    content = blob.read_bytes()
    blob.write_bytes(content[:-1] + b"x")
    failed = here("image", "save", "one:v1", "-o", target)
    assert failed.status == 1
    assert "damaged" in failed.err
    assert list(target.parent.iterdir()) == []


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Callable[[], set[str]]:
    """The blobs that were sent to an appliance since this was asked last."""
    archives: list[bytearray] = []
    load = Images.load

    async def noting(content: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        archives.append(bytearray())
        async for piece in content:
            archives[-1] += piece
            yield piece

    async def loading(self: Images, archive: Path | AsyncIterator[bytes], name: str = "", **more: Any) -> list[str]:
        assert not isinstance(archive, Path)
        return await load(self, noting(archive), name, **more)

    def blobs() -> set[str]:
        found = {name for archive in archives for name in members(bytes(archive)) if name.startswith("blobs/")}
        archives.clear()
        return {name.removeprefix("blobs/").replace("/", ":") for name in found}

    monkeypatch.setattr(Images, "load", loading)
    return blobs


def test_copy_sends_only_what_is_missing(
    here: Tinkbox, there: Tinkbox, sent: Callable[[], set[str]], to_other: list[str | Path], tmp_path: Path
) -> None:
    mine = layer({"mine": b"m" * 1000})
    first = write(tmp_path / "a.tar", tar(docker_archive(["a:v1"], [mine]).items()))
    second = write(tmp_path / "b.tar", tar(docker_archive(["b:v1"], [mine, OWN]).items()))
    assert here("image", "load", first, second).status == 0
    sent()
    done = here("image", "copy", "a:v1", *to_other)
    assert (done.status, done.out) == (0, "Copied Image:  a:v1\n"), done
    assert digest_of(mine) in sent()
    done = here("image", "copy", "b:v1", "quay.io/tools/b:v2", *to_other)
    assert (done.status, done.out) == (0, "Copied Image:  quay.io/tools/b:v2\n"), done
    assert digest_of(mine) not in sent()
    assert names(there) == {"a:v1": names(here)["a:v1"], "quay.io/tools/b:v2": names(here)["b:v1"]}
    assert here("image", "copy", "b:v1", "second").out == "Copied Image:  second:latest\n"
    assert sent() == {names(here)["b:v1"]}, "of an image that is here only its manifest is sent"


def test_copy_of_a_system_image_keeps_what_it_is(
    here: Tinkbox, there: Tinkbox, to_other: list[str | Path], tmp_path: Path
) -> None:
    assert here("image", "load", write(tmp_path / "lab.tar", system_image_archive("20261101", "latest"))).status == 0
    assert here("image", "copy", "lab:20261101", *to_other).status == 0
    assert there("image", "show", "lab:20261101").status == 0
    for renamed in ("else:1", "else:20261101", "lab:2", "lab2"):
        refused = here("image", "copy", "lab:20261101", renamed, *to_other)
        assert refused.status == 1
        assert "system images keep their names: it is lab:20261101 everywhere" in refused.err
    assert here("image", "copy", "lab:20261101", "lab", *to_other).status == 0
    assert there("image", "list", "-q").out == "lab:20261101\nlab:latest\n"


@pytest.mark.parametrize("way", ["save", "export", "copy"])
def test_a_system_image_takes_the_tag_of_its_version_along(
    here: Tinkbox, there: Tinkbox, to_other: list[str | Path], tmp_path: Path, way: str
) -> None:
    folder, saved = tmp_path / "images", tmp_path / "saved.tar"
    for version in ("20261101", "20261201"):
        packed = write(tmp_path / "lab.tar", system_image_archive(version, "latest"))
        assert here("image", "load", packed).status == 0
        if way == "copy":
            done = here("image", "copy", "lab", *to_other)
        elif way == "save":
            done = here("image", "save", "lab", "-o", saved)
            assert there("image", "load", saved).status == 0
        else:
            done = here("image", "export", "lab", folder)
        verb = {"save": "Saved", "export": "Exported", "copy": "Copied"}[way]
        assert done.out == f"{verb} Image:  lab:latest\n{verb} Image:  lab:{version}\n"
    if way == "export":
        assert there("image", "load", folder).status == 0
    assert names(there) == names(here)
    assert {*names(there)} == {"lab:20261101", "lab:20261201", "lab:latest"}
    assert there("image", "delete", "--yes", "lab").status == 0
    assert {*names(there)} == {"lab:20261101", "lab:latest"}


def test_a_copy_to_another_door_or_to_a_name_that_looks_like_one_is_told_the_way(
    here: Tinkbox, other: Configuration, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TINKBOX_TO_TOKEN", (other.data / "operator.token").read_text().strip())
    assert here("image", "load", archive).status == 0
    machines = here("image", "copy", "one:v1", "--to", f"http://127.0.0.1:{other.http_port}")
    assert machines.status == 1
    assert f"operator door: `--to https://127.0.0.1:{other.operator_port}`" in machines.err
    clear = here("image", "copy", "one:v1", "--to", f"http://127.0.0.1:{other.operator_port}")
    assert clear.status == 1
    assert f"this door speaks HTTPS alone: write https://127.0.0.1:{other.operator_port}" in clear.err
    named = here("image", "copy", "one:v1", "lab.example:7080/one:v1")
    assert (named.status, named.out) == (0, "Copied Image:  lab.example:7080/one:v1\n")
    assert "`--to https://lab.example:7080` sends an image to another one" in named.err


def test_copy_tells_what_is_wrong_with_the_other_appliance(
    here: Tinkbox, archive: Path, to_other: list[str | Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert here("image", "load", archive).status == 0
    monkeypatch.setenv("TINKBOX_TO_TOKEN", "wrong")
    refused = here("image", "copy", "one:v1", *to_other[:2])
    assert refused.status == 1
    assert refused.err.startswith(f"tinkbox: {to_other[1]}, the other appliance, says: the token is not known here")
    assert refused.err.endswith("Put yours into TINKBOX_TO_TOKEN\n")
    wrong = write(tmp_path / "wrong", b"wrong")
    assert here("image", "copy", "one:v1", *to_other[:3], wrong).err.endswith(f"Put yours into {wrong}\n")
    two_lines = write(tmp_path / "two-lines", b"two\nlines")
    assert f"the token of {two_lines} has letters" in here("image", "copy", "one:v1", *to_other[:3], two_lines).err
    away = here("image", "copy", "one:v1", "--to", "http://127.0.0.1:9")
    assert (away.status, "which --to names" in away.err) == (3, True), away
    assert here("image", "copy", "one:v1").status == 2
    assert here("image", "copy", "one:v1", "x", "--token-file", to_other[3]).status == 2
    assert "cannot read" in here("image", "copy", "one:v1", *to_other[:3], tmp_path / "none").err
    assert here("image", "copy", "none:v1", *to_other).status == 1


def test_copy_tells_that_the_other_appliance_is_full(
    here: Tinkbox, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert here("image", "load", archive).status == 0
    full = configure(tmp_path)
    with full.path.open("a") as more:
        more.write("images: {most: 1KiB}\n")
    url = f"https://127.0.0.1:{full.operator_port}"
    monkeypatch.setenv("SSL_CERT_FILE", str(full.authority))
    with serving(full):
        done = here("image", "copy", "one:v1", "--to", url, "--token-file", full.data / "operator.token")
    assert done.status == 1
    assert f"{url}, the other appliance, says: the registry holds" in done.err, done


def test_what_the_other_appliance_refuses_is_told_as_its_own_words_with_commands_for_it(
    here: Tinkbox, there: Tinkbox, other: Configuration, to_other: list[str | Path], archive: Path, tmp_path: Path
) -> None:
    mine, others = (
        write(tmp_path / f"{disk.decode()}.tar", system_image_archive("1", disk=disk)) for disk in (b"mine", b"others")
    )
    assert here("image", "load", mine, archive).status == 0
    assert there("image", "load", others).status == 0
    url = f"https://127.0.0.1:{other.operator_port}"
    for copied, why in (
        (["lab:1"], "the system image lab:1 is here already with another digest"),
        (["one:v1", "lab:e"], "lab has a system image"),
    ):
        refused = here("image", "copy", *copied, *to_other)
        assert refused.status == 1
        assert refused.err.startswith(f"tinkbox: {url}, the other appliance, says: {why}"), refused
        assert f"`TINKBOX_SERVER={url} tinkbox image delete lab:" in refused.err, refused
        assert "`tinkbox" not in refused.err, refused


def test_an_image_of_a_folder_that_has_no_room_is_told_and_the_others_are_loaded(here: Tinkbox, tmp_path: Path) -> None:
    sizes = {"a/small:v1": 1000, "b/large:v1": 400_000, "c/small:v1": 1000}
    for name, size in sizes.items():
        content = layer({name: os.urandom(size)})
        assert (
            here("image", "load", write(tmp_path / "x.tar", tar(docker_archive([name], [content]).items()))).status == 0
        )
    assert here("image", "export", "--all", tmp_path / "stick").status == 0
    full = configure(tmp_path)
    with full.path.open("a") as more:
        more.write("images: {most: 200KiB}\n")
    with serving(full):
        done = on(full)("image", "load", tmp_path / "stick")
        assert sorted(names(on(full))) == ["a/small:v1", "c/small:v1"]
    assert done.status == 1
    assert "tinkbox: b/large:v1: the registry holds" in done.err, done


def test_an_archive_of_half_of_what_is_free_has_room(tmp_path: Path) -> None:
    content = layer({"a": os.urandom(3_900_000)})
    path = write(tmp_path / "half.tar", tar(docker_archive(["a/half:v1"], [content]).items()))
    tight = configure(tmp_path)
    with tight.path.open("a") as more:
        more.write("images: {most: 8MiB}\n")
    with serving(tight):
        loaded = on(tight)("image", "load", path)
        assert (loaded.status, loaded.err) == (0, ""), loaded
        listed = on(tight)("image", "list").err
        assert "3.7MiB of 8MiB" in listed, listed


def test_what_has_no_room_is_refused_while_it_is_sent_and_what_comes_after_it_is_loaded(
    here: Tinkbox, tmp_path: Path
) -> None:
    paths = {}
    for name, size in {"large": 24 << 20, "small": 1000}.items():
        content = layer({name: os.urandom(size)})
        paths[name] = write(tmp_path / f"{name}.tar", tar(docker_archive([f"a/{name}:v1"], [content]).items()))
    full = configure(tmp_path)
    with full.path.open("a") as more:
        more.write("images: {most: 8MiB}\n")
    with serving(full):
        archives = on(full)("image", "load", paths["large"], paths["small"])
        assert (archives.status, archives.out) == (1, "Loaded Image:  a/small:v1\n"), archives
        assert archives.err.startswith(f"tinkbox: {paths['large']}: the registry holds "), archives
        assert here("image", "load", *paths.values()).status == 0
        assert here("image", "export", "--all", tmp_path / "stick").status == 0
        folder = on(full)("image", "load", tmp_path / "stick")
        assert (folder.status, folder.out) == (1, "Loaded Image:  a/small:v1\n"), folder
        assert folder.err.startswith("tinkbox: a/large:v1: the registry holds "), folder
        assert all(each.err.count("\n") == 1 for each in (archives, folder)), (archives, folder)


def test_a_copy_of_a_damaged_image_is_told_and_stores_nothing(
    appliance: Configuration, here: Tinkbox, there: Tinkbox, to_other: list[str | Path], tmp_path: Path
) -> None:
    mine = layer({"mine": b"d" * 1000})
    assert here("image", "load", write(tmp_path / "a.tar", tar(docker_archive(["a:v1"], [mine]).items()))).status == 0
    (appliance.data / "registry" / "blobs" / "sha256" / digest_of(mine)[7:]).unlink()
    failed = here("image", "copy", "a:v1", *to_other)
    assert failed.status == 1
    assert "push or load its image again" in failed.err
    assert names(there) == {}


@pytest.mark.parametrize("way", ["save", "export", "copy"])
def test_digests_by_sha512_stay(
    here: Tinkbox, there: Tinkbox, to_other: list[str | Path], tmp_path: Path, way: str
) -> None:
    mine = layer({"mine": way.encode()})
    files, digest = sha512_files(configuration([mine]), [mine])
    assert here("image", "load", write(tmp_path / "x.tar", tar(files.items()))).out == "Loaded Image:  x:1\n"
    assert names(here) == {"x:1": digest}
    if way == "copy":
        assert here("image", "copy", "x:1", *to_other).status == 0
    else:
        target = tmp_path / way
        assert here("image", way, "x:1", *([target] if way == "export" else ["-o", target])).status == 0
        assert there("image", "load", target).status == 0
    assert names(there) == {"x:1": digest}
    damaged = [each["problem"] for each in json.loads(there("image", "list", "-o", "json").out)]
    assert damaged == [""]


@pytest.mark.parametrize("way", ["save", "export", "copy"])
def test_signatures_travel_with_their_image(
    here: Tinkbox, there: Tinkbox, signed: Signed, to_other: list[str | Path], tmp_path: Path, way: str
) -> None:
    loaded = here("image", "load", signed.path)
    told = ["tools/wipe:v1", f"tools/wipe:{signed.tag}"]
    assert (loaded.status, loaded.out) == (0, "".join(f"Loaded Image:  {each}\n" for each in told)), loaded
    assert referring(here, "tools/wipe") == {signed.signature, signed.countersignature}
    if way == "copy":
        assert here("image", "copy", "tools/wipe:v1", *to_other).status == 0
    else:
        target = tmp_path / way
        flags = [target] if way == "export" else ["-o", target]
        assert here("image", way, "tools/wipe:v1", *flags).status == 0
        assert there("image", "load", target).status == 0
    assert names(there) == names(here)
    assert referring(there, "tools/wipe") == {signed.signature, signed.countersignature}


@pytest.mark.parametrize("way", ["save", "export", "copy"])
def test_signatures_get_the_new_name_of_their_image(here: Tinkbox, signed: Signed, tmp_path: Path, way: str) -> None:
    assert here("image", "load", signed.path).status == 0
    if way == "copy":
        done = here("image", "copy", "tools/wipe:v1", "quay.io/else/w:v2")
    else:
        target = tmp_path / way
        assert here("image", way, "tools/wipe:v1", *([target] if way == "export" else ["-o", target])).status == 0
        done = here("image", "load", "--name", "quay.io/else/w:v2", target)
    assert done.status == 0, done
    kept = names(here)
    assert kept["quay.io/else/w:v2"] == signed.image
    assert kept[f"quay.io/else/w:{signed.tag}"] == kept[f"tools/wipe:{signed.tag}"]
    assert referring(here, "quay.io/else/w") == {signed.signature, signed.countersignature}


def test_a_folder_takes_no_more_than_can_be_read_again(
    here: Tinkbox, signed: Signed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert here("image", "load", signed.path).status == 0
    monkeypatch.setattr("tinkbox.registry.archives.layout_folders.MAX_LISTED", 2)
    refused = here("image", "export", "tools/wipe:v1", tmp_path / "images")
    assert (refused.status, "would list more than 2 images and signatures" in refused.err) == (1, True), refused
    assert len(json.loads((tmp_path / "images" / "index.json").read_text())["manifests"]) == 2
    assert here("image", "load", tmp_path / "images").status == 0


def test_names_of_signatures_are_no_names_that_people_gave(
    here: Tinkbox, there: Tinkbox, signed: Signed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert here("image", "load", signed.path).status == 0
    monkeypatch.setattr("tinkbox.registry.archives.writing.MAX_NAMES", 1)
    monkeypatch.setattr("tinkbox.registry.archives.layouts.MAX_NAMES", 1)
    assert here("image", "save", "tools/wipe:v1", "-o", tmp_path / "x.tar").status == 0
    assert here("image", "copy", "tools/wipe:v1", "second:v1").status == 0
    refused = here("image", "save", "tools/wipe:v1", "second:v1", "-o", tmp_path / "two.tar")
    assert "the archive would have 2 names of images, and " in refused.err
    assert " image load` takes 1 at most" in refused.err
    assert (refused.status, (tmp_path / "two.tar").exists()) == (1, False)
    assert there("image", "load", tmp_path / "x.tar").status == 0
    assert names(there)["tools/wipe:v1"] == signed.image


def test_docker_does_not_load_a_signature_as_an_image(here: Tinkbox, signed: Signed, tmp_path: Path) -> None:
    assert here("image", "load", signed.path).status == 0
    assert here("image", "save", "tools/wipe:v1", f"tools/wipe:{signed.tag}", "-o", tmp_path / "x.tar").status == 0
    with tarfile.open(tmp_path / "x.tar") as packed:
        listed = json.loads((packed.extractfile("manifest.json") or io.BytesIO()).read())
    assert [each["RepoTags"] for each in listed] == [["tools/wipe:v1"]]


def test_a_signature_alone_is_an_image_of_its_own(here: Tinkbox, signed: Signed, tmp_path: Path) -> None:
    assert here("image", "load", signed.path).status == 0
    assert here("image", "save", f"tools/wipe@{signed.signature}", "-o", tmp_path / "x.tar").status == 0
    assert here("image", "load", "--name", "alone:v1", tmp_path / "x.tar").status == 0
    assert names(here)["alone:v1"] == signed.signature
    assert referring(here, "alone") == {signed.countersignature}


def export_all(here: Tinkbox, archive: Path, folder: Path) -> None:
    assert here("image", "load", archive).status == 0
    done = here("image", "export", "--all", folder)
    told = "Exported Image:  one:v1\nExported Image:  quay.io/tools/two:v2\n"
    assert (done.status, done.out, done.err) == (0, told, "")


def test_an_image_of_a_registry_with_a_port_is_carried_as_it_is_listed(
    here: Tinkbox, there: Tinkbox, tmp_path: Path
) -> None:
    """By both spellings of its name: that of its registry, and that of a path in the appliance's."""
    name, kept = "lab.example:5000/w:v1", "lab.example_5000/w:v1"
    path = write(tmp_path / "x.tar", tar(docker_archive([name], [OWN]).items()))
    assert here("image", "load", path).out == f"Loaded Image:  {name}\n"
    assert here("image", "list", "-o", "name").out == f"{name}\n"
    for number, each in enumerate((name, kept)):
        saved = here("image", "save", each, "-o", tmp_path / f"{number}.tar")
        assert (saved.status, saved.out) == (0, f"Saved Image:  {name}\n"), saved
        copied = here("image", "copy", each, f"copied:v{number}")
        assert (copied.status, copied.out) == (0, f"Copied Image:  copied:v{number}\n"), copied
        exported = here("image", "export", each, tmp_path / f"disk{number}")
        assert (exported.status, exported.out) == (0, f"Exported Image:  {name}\n"), exported
        assert there("image", "load", tmp_path / f"{number}.tar").out == f"Loaded Image:  {name}\n"
        assert name in names(there)
        deleted = there("image", "delete", "--yes", each)
        assert deleted.status == 0, deleted
        assert there("image", "load", tmp_path / f"disk{number}").out == f"Loaded Image:  {name}\n"
        there("image", "delete", "--yes", name)
    exported = here("image", "export", "--all", tmp_path / "all")
    assert (exported.status, f"Exported Image:  {name}\n" in exported.out) == (0, True), exported
    gone = there("image", "delete", "--yes", kept)
    assert (gone.status, f"no image {name} here" in gone.err) == (1, True), gone


def inodes(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_ino for path in (folder / "blobs").rglob("*") if path.is_file()}


def test_an_export_is_loaded_on_the_other_site(
    here: Tinkbox, there: Tinkbox, archive: Path, tmp_path: Path, sent: Callable[[], set[str]]
) -> None:
    folder = tmp_path / "disk" / "images"
    export_all(here, archive, folder)
    loaded = there("image", "load", folder)
    assert (loaded.status, loaded.out) == (0, "Loaded Image:  one:v1\nLoaded Image:  quay.io/tools/two:v2\n"), loaded
    assert names(there) == names(here)
    sent()
    assert there("image", "load", folder).status == 0
    assert digest_of(SHARED) not in sent()


def test_an_export_adds_only_what_is_missing(here: Tinkbox, archive: Path, tmp_path: Path) -> None:
    folder = tmp_path / "images"
    export_all(here, archive, folder)
    before = inodes(folder)
    many = write(tmp_path / "many.tar", index_layout("tools/many:v1", "amd64", "arm64", lacking=("riscv64",)))
    more = write(tmp_path / "more.tar", tar(docker_archive(["one:v1"], [SHARED, OWN, layer({"x": b"y"})]).items()))
    assert here("image", "load", many, more).status == 0
    assert here("image", "export", "tools/many:v1", "one:v1", folder).status == 0
    after = inodes(folder)
    assert before.items() < after.items()
    listed = json.loads((folder / "index.json").read_text())["manifests"]
    found = {each["annotations"]["org.opencontainers.image.ref.name"]: each["digest"] for each in listed}
    assert found == names(here), "a name that moved on is in its index once"


def test_an_export_resumes_and_repairs_what_is_damaged(
    here: Tinkbox, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "images"
    export_all(here, archive, folder)
    shared, own = (folder / "blobs" / "sha256" / digest_of(each)[7:] for each in (SHARED, OWN))
    own.write_bytes(b"!" + own.read_bytes()[1:])
    part = folder / ".incoming" / f"sha256-{shared.name}"
    part.write_bytes(shared.read_bytes()[:100_000])
    shared.unlink()
    asked: list[tuple[str, int]] = []
    blob = Images.blob

    def noting(self: Images, digest: str, start: int = 0) -> AsyncIterator[bytes]:
        asked.append((digest, start))
        return blob(self, digest, start)

    monkeypatch.setattr(Images, "blob", noting)
    assert here("image", "export", "one:v1", folder).status == 0
    assert (digest_of(SHARED), 100_000) in asked
    assert (shared.read_bytes(), own.read_bytes()) == (SHARED, OWN)
    assert list((folder / ".incoming").iterdir()) == []
    part.write_bytes(b"garbage")
    shared.unlink()
    failed = here("image", "export", "one:v1", folder)
    assert (failed.status, "came damaged" in failed.err, shared.exists()) == (1, True, False)
    assert here("image", "export", "one:v1", folder).status == 0
    assert shared.read_bytes() == SHARED


def test_an_export_tells_of_damaged_images_and_writes_the_others(
    appliance: Configuration, here: Tinkbox, archive: Path, tmp_path: Path
) -> None:
    mine = layer({"mine": b"e" * 1000})
    path = write(tmp_path / "a.tar", tar(docker_archive(["a:v1"], [mine]).items()))
    assert here("image", "load", path, archive).status == 0
    (appliance.data / "registry" / "blobs" / "sha256" / digest_of(mine)[7:]).unlink()
    done = here("image", "export", "--all", tmp_path / "images")
    assert done.status == 1
    assert done.err.startswith("tinkbox: a:v1: ")
    assert done.out == "Exported Image:  one:v1\nExported Image:  quay.io/tools/two:v2\n"


def test_an_export_leaves_other_folders_alone(here: Tinkbox, archive: Path, tmp_path: Path) -> None:
    assert here("image", "load", archive).status == 0
    (tmp_path / "full").mkdir()
    write(tmp_path / "full" / "mine", b"mine")
    refused = here("image", "export", "one:v1", tmp_path / "full")
    assert (refused.status, "has other files: name a new folder" in refused.err) == (1, True)
    assert [each.name for each in (tmp_path / "full").iterdir()] == ["mine"]
    assert here("image", "export", tmp_path / "new").status == 2
    assert here("image", "export", "--all", "one:v1", tmp_path / "new").status == 2
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("content", [b"", b'{"manifests": [', b"[]"])
def test_an_export_makes_a_damaged_index_anew(here: Tinkbox, archive: Path, tmp_path: Path, content: bytes) -> None:
    folder = tmp_path / "images"
    export_all(here, archive, folder)
    blobs = inodes(folder)
    index = write(folder / "index.json", content)
    refused = here("image", "load", folder)
    assert (refused.status, refused.err.startswith(f"tinkbox: {index} is damaged (")) == (1, True), refused
    again = here("image", "export", "--all", folder)
    assert (again.status, again.out.count("Exported Image:")) == (0, 2), again
    assert again.err.startswith(f"tinkbox: {index} was damaged, and is index.json.damaged now: ")
    assert (folder / "index.json.damaged").read_bytes() == content
    assert inodes(folder) == blobs
    loaded = here("image", "load", folder)
    assert (loaded.status, loaded.out.count("Loaded Image:")) == (0, 2), loaded
    assert here("image", "export", "--all", folder).err == ""


def unpacked(path: Path, folder: Path) -> Path:
    """The folder, with what is in the archive."""
    folder.mkdir(exist_ok=True)
    subprocess.run(["tar", "--extract", "--file", path, "--directory", folder], check=True)
    return folder


@pytest.mark.parametrize("in_a_folder", [True, False])
def test_a_layout_with_a_tag_alone_names_no_image(here: Tinkbox, tmp_path: Path, in_a_folder: bool) -> None:
    path = write(tmp_path / "skopeo.tar", index_layout("v1", "amd64"))
    if in_a_folder:
        path = unpacked(path, tmp_path / "skopeo")
    refused = here("image", "load", path)
    assert refused.status == 1
    assert "names no image, only the tag v1: load it with `--name NAME`" in refused.err
    assert here("image", "load", "--name", "tools/skd", path).out == "Loaded Image:  tools/skd:v1\n"
    assert here("image", "load", "--name", "tools/skd:v2", path).out == "Loaded Image:  tools/skd:v2\n"


def test_a_folder_of_several_images_with_tags_alone_is_told_how_to_push_them(here: Tinkbox, tmp_path: Path) -> None:
    folder = tmp_path / "several"
    indexes = []
    for tag in ("v1", "v2"):
        unpacked(write(tmp_path / "one.tar", index_layout(tag, "amd64" if tag == "v1" else "arm64")), folder)
        indexes += json.loads((folder / "index.json").read_text())["manifests"]
    (folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": indexes}))
    refused = here("image", "load", folder)
    command = f"skopeo copy --all --preserve-digests oci:{folder}:TAG docker://APPLIANCE/NAME:TAG"
    told = f"only the tag v1, v2: push each of its images, such as with `{command}`"
    assert (refused.status, told in refused.err) == (1, True), refused


def test_an_export_of_a_name_of_one_part_keeps_it(here: Tinkbox, tmp_path: Path) -> None:
    assert here("image", "load", write(tmp_path / "a.tar", index_layout("alpine:3", "amd64"))).status == 0
    assert here("image", "export", "alpine:3", tmp_path / "images").status == 0
    assert here("image", "load", tmp_path / "images").out == "Loaded Image:  alpine:3\n"


def test_nothing_is_made_where_there_is_nothing_to_export(here: Tinkbox, tmp_path: Path) -> None:
    for keys in (["nothere:1"], ["nothere:1", "nothere:2"]):
        refused = here("image", "export", *keys, tmp_path / "deep" / "new")
        assert (refused.status, "no image nothere:1 here" in refused.err) == (1, True), refused
    done = here("image", "export", "--all", tmp_path / "deep" / "new")
    assert (done.status, done.err) == (0, "tinkbox: no image has a tag: nothing is exported\n")
    assert not (tmp_path / "deep").exists()


def test_a_pipe_with_a_name_is_loaded_as_a_file_is(here: Tinkbox, archive: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cp", archive, pipe]) as writer:
        loaded = here("image", "load", pipe)
    assert (loaded.status, writer.returncode, {*names(here)}) == (0, 0, {"one:v1", "quay.io/tools/two:v2"}), loaded


def test_save_writes_where_a_link_leads(here: Tinkbox, archive: Path, tmp_path: Path) -> None:
    assert here("image", "load", archive).status == 0
    (tmp_path / "disk").mkdir()
    link = tmp_path / "saved.tar"
    link.symlink_to("disk/saved.tar")
    assert here("image", "save", "one:v1", "-o", link).status == 0
    assert link.is_symlink()
    assert "index.json" in members((tmp_path / "disk" / "saved.tar").read_bytes())


def test_an_image_that_is_not_there_is_told_with_the_way_to_find_it(here: Tinkbox, archive: Path) -> None:
    assert here("image", "load", archive).status == 0
    untagged = here("image", "delete", "--yes", "one")
    assert untagged.err == "tinkbox: no image one:latest here: its tags are v1\n"
    short = here("image", "delete", "--yes", f"one@{names(here)['one:v1'][:19]}")
    assert "all of its 64 hexadecimal digits" in short.err
    shown = here("image", "show", "one:v1")
    assert (shown.status, "one:v1 is a container image, which actions run from" in shown.err) == (1, True), shown


@pytest.mark.parametrize("content", [b"", b"no archive at all"])
def test_an_archive_that_cannot_be_read_is_told_with_its_name(here: Tinkbox, tmp_path: Path, content: bytes) -> None:
    path = write(tmp_path / "x.tar", content)
    refused = here("image", "load", path)
    assert (refused.status, refused.err.startswith(f"tinkbox: {path}: the image archive is ")) == (1, True), refused


def test_a_folder_that_lacks_a_blob_is_told_with_one_way_out(here: Tinkbox, archive: Path, tmp_path: Path) -> None:
    folder = tmp_path / "images"
    export_all(here, archive, folder)
    for each in ("one:v1", "quay.io/tools/two:v2"):
        assert here("image", "delete", "--yes", each).status == 0
    mine = layer({"never": b"here"})
    more = write(tmp_path / "a.tar", tar(docker_archive(["a:v1"], [mine]).items()))
    assert here("image", "load", more).status == 0
    assert here("image", "export", "a:v1", folder).status == 0
    assert here("image", "delete", "--yes", "a:v1").status == 0
    assert here("image", "gc").status == 0
    name = f"blobs/sha256/{digest_of(mine)[7:]}"
    (folder / name).unlink()
    told = f"tinkbox: a:v1: {folder} lacks {name}: export it again\n"
    refused = here("image", "load", folder)
    assert (refused.status, refused.err) == (1, told), "the others are loaded"
    assert {*names(here)} == {"one:v1", "quay.io/tools/two:v2"}


@pytest.mark.parametrize("way", ["changed", "truncated", "longer", "its manifest"])
def test_a_damaged_image_of_a_folder_is_told_and_the_others_are_loaded(
    here: Tinkbox, there: Tinkbox, archive: Path, tmp_path: Path, way: str
) -> None:
    folder = tmp_path / "images"
    mine = layer({"mine": b"f" * 1000})
    alone = write(tmp_path / "a.tar", tar(docker_archive(["a:v1"], [mine]).items()))
    assert here("image", "load", alone, archive).status == 0
    assert here("image", "export", "--all", folder).status == 0
    digest = names(here)["a:v1"] if way == "its manifest" else digest_of(mine)
    blob = folder / "blobs" / "sha256" / digest[7:]
    damaged = {"changed": b"!" + mine[1:], "truncated": mine[:9], "longer": mine + b"!", "its manifest": b"{}"}[way]
    blob.write_bytes(damaged)
    done = there("image", "load", folder)
    assert (done.status, done.out) == (1, "Loaded Image:  one:v1\nLoaded Image:  quay.io/tools/two:v2\n"), done
    assert done.err.startswith(f"tinkbox: a:v1: {blob} is damaged, "), done
    assert done.err.endswith(": export its image again\n"), done
    assert here("image", "export", "a:v1", folder).status == 0
    assert there("image", "load", folder).status == 0
    assert names(there) == names(here)


def test_a_damaged_archive_among_others_is_told_and_they_are_loaded(
    here: Tinkbox, archive: Path, tmp_path: Path
) -> None:
    broken = write(tmp_path / "broken.tar", archive.read_bytes()[:9000])
    done = here("image", "load", broken, tmp_path / "none.tar", archive)
    assert (done.status, {*names(here)}) == (1, {"one:v1", "quay.io/tools/two:v2"}), done
    first, second = done.err.splitlines()
    assert first.startswith(f"tinkbox: {broken}: the image archive is damaged")
    assert second.startswith(f"tinkbox: no file {tmp_path / 'none.tar'}")


@pytest.mark.parametrize("command", ["load", "copy", "copy --to", "load a folder", "import"])
def test_an_appliance_that_goes_away_meanwhile_could_not_be_reached(
    here: Tinkbox,
    archive: Path,
    to_other: list[str | Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
) -> None:
    """Exit status 3, as docs/commands.md has it; and to type it again is safe, whatever was done."""
    export_all(here, archive, tmp_path / "images")
    raw_disk(disk := tmp_path / "disk.raw")
    typed: dict[str, list[str | Path]] = {
        "load": ["load", archive],
        "copy": ["copy", "one:v1", "second"],
        "copy --to": ["copy", "one:v1", *to_other],
        "load a folder": ["load", tmp_path / "images"],
        "import": ["import", disk, "--id", "lab-disk"],
    }

    async def dying(*_: object) -> dict[str, object]:
        raise Unanswered("the appliance did not answer POST /v1/images (reset)", "look first")

    monkeypatch.setattr(LastingConnection, "upload", dying)
    ended = here("image", *typed[command])
    told = "tinkbox: the appliance did not answer POST /v1/images (reset): when the appliance runs again, type the same again\n"
    assert (ended.status, ended.err[-len(told) :]) == (3, told), ended


def test_an_export_that_ends_before_its_images_are_known_tells_no_number(
    here: Tinkbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def interrupted(_: Images) -> list[dict[str, object]]:
        raise KeyboardInterrupt

    monkeypatch.setattr(Images, "all", interrupted)
    ended = here("image", "export", "--all", tmp_path / "new")
    assert (ended.status, "0 of 0" in ended.err) == (130, False), ended


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small disk")
def test_a_full_disk_is_told_and_leaves_no_half_file(here: Tinkbox, archive: Path, tmp_path: Path) -> None:
    assert here("image", "load", archive).status == 0
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", small], check=True)
    try:
        saved = here("image", "save", "one:v1", "-o", small / "one.tar")
        assert (saved.status, "is full: make room, or name a file on another disk" in saved.err) == (1, True), saved
        assert list(small.iterdir()) == []
        exported = here("image", "export", "--all", small)
        assert (exported.status, "it resumes where it stopped" in exported.err) == (1, True), exported
        assert not (small / "index.json").exists()
        assert digest_of(SHARED)[7:] not in inodes(small)
        subprocess.run(["mount", "-o", "remount,size=2m", small], check=True)
        assert here("image", "export", "--all", small).status == 0
    finally:
        subprocess.run(["umount", small], check=True)


def test_ctrl_c_ends_a_load_that_waits_for_standard_input(appliance: Configuration) -> None:
    command = [sys.executable, "-m", "tinkbox", "--data", str(appliance.data), "image", "load", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(bytes(1 << 20))  # more than a pipe holds: it is reading when this is written
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command is told to end in the middle of a large blob."""
    blob = Images.blob

    async def breaking(self: Images, digest: str, start: int = 0) -> AsyncIterator[bytes]:
        async for piece in blob(self, digest, start):
            yield piece
            if digest == digest_of(SHARED):
                signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(Images, "blob", breaking)


@pytest.mark.usefixtures("ended")
def test_a_save_that_is_ended_leaves_no_file(here: Tinkbox, archive: Path) -> None:
    assert here("image", "load", archive).status == 0
    target = archive.parent / "out"
    target.mkdir()
    assert here("image", "save", "one:v1", "-o", target / "one.tar").status == 128 + signal.SIGTERM
    assert list(target.iterdir()) == []


@pytest.mark.usefixtures("ended")
def test_an_export_that_is_ended_is_resumed(
    here: Tinkbox, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert here("image", "load", archive).status == 0
    folder = tmp_path / "images"
    assert here("image", "export", "one:v1", folder).status == 128 + signal.SIGTERM
    assert digest_of(SHARED)[7:] not in inodes(folder)
    (part,) = (folder / ".incoming").iterdir()
    assert part.stat().st_size > 0
    monkeypatch.undo()
    assert here("image", "export", "one:v1", folder).status == 0
    assert digest_of(SHARED)[7:] in inodes(folder)
    assert not part.exists()


def test_an_image_of_an_index_that_is_missing_in_a_folder_is_told(
    here: Tinkbox, there: Tinkbox, tmp_path: Path
) -> None:
    folder = tmp_path / "images"
    sparse = write(tmp_path / "sparse.tar", index_layout("sparse:v1", "s390x", lacking=("riscv64",)))
    whole = write(tmp_path / "whole.tar", index_layout("tools/multi:v1", "amd64", "arm64", lacking=("ppc64le",)))
    assert here("image", "load", whole, sparse).status == 0
    assert here("image", "export", "--all", folder).status == 0
    assert there("image", "load", folder).status == 0, "what was sparse before it was exported stays so"
    forget_here = [*names(there)]
    assert there("image", "delete", "--yes", *forget_here).status == 0
    index = json.loads((folder / "blobs" / "sha256" / names(here)["tools/multi:v1"][7:]).read_text())
    (folder / "blobs" / "sha256" / index["manifests"][0]["digest"][7:]).unlink()
    told = there("image", "load", folder)
    assert (told.status, told.out) == (1, "Loaded Image:  sparse:v1\n"), told
    assert told.err == f"tinkbox: tools/multi:v1: {folder} lacks 1 of 3 manifests: export it again\n"
    assert here("image", "export", "tools/multi:v1", folder).status == 0
    assert there("image", "load", folder).status == 0


@pytest.mark.parametrize("way", ["save", "export", "copy"])
def test_an_index_of_which_no_image_is_here_travels_as_it_is(
    appliance: Configuration,
    here: Tinkbox,
    there: Tinkbox,
    to_other: list[str | Path],
    archive: Path,
    tmp_path: Path,
    way: str,
) -> None:
    with tarfile.open(fileobj=io.BytesIO(index_layout("", lacking=("amd64", "arm64")))) as packed:
        name = next(each for each in packed.getnames() if each.startswith("blobs/"))
        index = (packed.extractfile(name) or io.BytesIO()).read()
    pushed = Request(
        f"http://127.0.0.1:{appliance.http_port}/v2/quay.io/tools/twice/manifests/v1",
        data=index,
        method="PUT",
        headers={"Authorization": f"Bearer {token_of(appliance)}", "Content-Type": OCI_INDEX},
    )
    with urlopen(pushed) as answer:
        assert answer.status == 201
    assert here("image", "copy", "quay.io/tools/twice:v1", "second:v1").status == 0
    assert here("image", "load", archive).status == 0
    kept = names(here)
    target = tmp_path / "target"
    if way == "copy":
        assert [here("image", "copy", each, *to_other).status for each in kept] == [0] * len(kept)
    else:
        assert here("image", way, *kept, *(["-o", target] if way == "save" else [target])).status == 0
        loaded = there("image", "load", target)
        assert (loaded.status, loaded.err) == (0, ""), loaded
    assert names(there) == kept
    assert set(kept.values()) >= {digest_of(index)}


def test_an_archive_that_lost_an_image_of_an_index_since_it_was_saved_is_refused(here: Tinkbox, tmp_path: Path) -> None:
    loaded = write(tmp_path / "x.tar", index_layout("tools/many:v1", "amd64", "arm64", lacking=("riscv64",)))
    assert here("image", "load", loaded).status == 0
    saved = tmp_path / "saved.tar"
    assert here("image", "save", "tools/many:v1", "-o", saved).status == 0
    with tarfile.open(saved) as packed:
        files = {each.name: content.read() for each in packed if (content := packed.extractfile(each))}
    index = files[f"blobs/sha256/{names(here)['tools/many:v1'][7:]}"]
    del files[f"blobs/sha256/{json.loads(index)['manifests'][1]['digest'][7:]}"]
    refused = here("image", "load", write(saved, tar(files.items())))
    assert (refused.status, "lacks 1 of 3 manifests of sha256:" in refused.err) == (1, True), refused


def test_a_folder_of_others_that_lacks_all_that_an_index_lists_is_told(here: Tinkbox, tmp_path: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(index_layout("x:v1", lacking=("amd64", "arm64")))) as packed:
        files = {each.name: content.read() for each in packed if (content := packed.extractfile(each))}
    for name, content in files.items():
        path = tmp_path / "images" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    refused = here("image", "load", tmp_path / "images")
    assert (refused.status, "lacks everything that its index sha256:" in refused.err) == (1, True), refused
    assert names(here) == {}


def test_a_damaged_image_alone_in_a_folder_is_told_with_its_name(here: Tinkbox, tmp_path: Path) -> None:
    folder, mine = tmp_path / "images", layer({"alone": b"alone"})
    path = write(tmp_path / "a.tar", tar(docker_archive(["a:v1"], [mine]).items()))
    assert here("image", "load", path).status == 0
    assert here("image", "export", "a:v1", folder).status == 0
    blob = write(folder / "blobs" / "sha256" / names(here)["a:v1"][7:], b"{}")
    refused = here("image", "load", folder)
    assert (refused.status, refused.err.startswith(f"tinkbox: a:v1: {blob} is damaged")) == (1, True), refused


def test_an_export_takes_its_folder_whose_layout_file_is_missing(here: Tinkbox, archive: Path, tmp_path: Path) -> None:
    folder = tmp_path / "images"
    export_all(here, archive, folder)
    (folder / "oci-layout").unlink()
    assert here("image", "export", "one:v1", folder).status == 0
    assert (folder / "oci-layout").read_bytes() == b'{"imageLayoutVersion":"1.0.0"}'


def test_hostile_folders_are_refused(here: Tinkbox, there: Tinkbox, archive: Path, tmp_path: Path) -> None:
    folder = tmp_path / "images"
    export_all(here, archive, folder)
    shared = folder / "blobs" / "sha256" / digest_of(SHARED)[7:]
    secret = write(tmp_path / "secret", SHARED)
    shared.unlink()
    shared.symlink_to(secret)
    forgotten = layer({"forgotten": b"f" * 1000})
    other = tmp_path / "other"
    assert (
        here("image", "load", write(tmp_path / "f.tar", tar(docker_archive(["f:v1"], [forgotten]).items()))).status == 0
    )
    assert here("image", "export", "f:v1", other).status == 0
    assert here("image", "export", "one:v1", folder).status == 0
    assert (shared.is_symlink(), shared.read_bytes(), secret.read_bytes()) == (False, SHARED, SHARED)
    (folder / "blobs").rename(tmp_path / "elsewhere")
    (folder / "blobs").symlink_to(tmp_path / "elsewhere")
    assert "is a link: name a folder that an export made" in here("image", "export", "f:v1", folder).err
    blob = other / "blobs" / "sha256" / digest_of(forgotten)[7:]
    blob.rename(tmp_path / "elsewhere.tar")
    blob.symlink_to(tmp_path / "elsewhere.tar")
    assert "cannot read" in there("image", "load", other).err
    index = json.loads((other / "index.json").read_text())
    for wrong in ("sha256:../../../secret", "sha256:" + "a" * 64):
        index["manifests"][0]["digest"] = wrong
        (other / "index.json").write_text(json.dumps(index))
        refused = here("image", "load", other)
        assert (refused.status, len(refused.err.splitlines())) == (1, 1), refused
    (other / "index.json").unlink()
    (other / "index.json").symlink_to(secret)
    assert here("image", "load", other).status == 1
    (other / "index.json").unlink()
    os.mkfifo(other / "index.json")
    assert " image export` or " in here("image", "load", other).err


@pytest.mark.parametrize(
    ("typed", "left"),
    [
        (["lab:3", "lab:latest"], {"lab:1", "lab:2", "lab:latest"}),
        (["lab", "lab:3"], {"lab:1", "lab:2", "lab:latest"}),
        (["lab:latest", "lab", "lab:1"], {"lab:2", "lab:latest"}),
        (["lab:1", "lab:2", "lab:3", "lab:latest"], set()),
    ],
)
def test_names_mean_what_they_meant_when_the_deletion_was_typed(
    here: Tinkbox, tmp_path: Path, typed: list[str], left: set[str]
) -> None:
    for version in "123":
        file = write(tmp_path / f"{version}.tar", system_image_archive(version, "latest"))
        assert here("image", "load", file).status == 0
    deleted = here("image", "delete", "--yes", *typed)
    assert (deleted.status, deleted.err) == (0, "")
    assert names(here).keys() == left


def test_a_tag_and_its_digest_are_deleted_by_one_command(here: Tinkbox, archive: Path) -> None:
    assert here("image", "load", archive).status == 0
    digest = names(here)["one:v1"]
    deleted = here("image", "delete", "--yes", "one:v1", f"one@{digest}", "one:v2")
    assert deleted.out == f"Deleted Image:  one:v1\nDeleted Image:  one@{digest}\n"
    assert (deleted.status, "one:v2" in deleted.err) == (1, True), "which never was"
    assert "one:v1" not in names(here)


def test_what_a_rollout_or_logic_or_a_setting_needs_is_not_collected(tmp_path: Path) -> None:
    configuration = configure(tmp_path)
    site = on(configuration)
    images = ("ro", "jin", "instead", "unneeded")
    template = (
        'version: "0.1"\nname: t\nglobal_timeout: 600\ntasks:\n'
        '  - {name: a, worker: "{{.device_1}}", actions: [{name: b, image: "IMAGE", timeout: 60}]}\n'
    )

    def load(name: str, content: bytes) -> str:
        file = write(tmp_path / "image.tar", tar(docker_archive([f"h/{name}:v1"], [layer({"it": content})]).items()))
        assert site("image", "load", file).status == 0
        return names(site)[f"h/{name}:v1"]

    with serving(configuration):
        digests = {name: load(name, f"old {name}".encode()) for name in images}
        newer = {load(name, f"new {name}".encode()) for name in images}
    with configuration.path.open("a") as settings:
        settings.write(f"images: {{instead: {{quay.io/zz/inst: 'h/instead@{digests['instead']}'}}}}\n")
    with serving(configuration):
        for number in (1, 2):
            cards = [{"dhcp": {"mac": f"08:00:27:00:00:0{number}"}}]
            document = {"id": f"0000000{number}-0000-0000-0000-000000000000", "network": {"interfaces": cards}}
            file = write(tmp_path / "hardware.json", json.dumps(document).encode())
            assert site("hardware", "push", "--file", file).status == 0
        logic = f'{{{{ $dig := "{digests["jin"]}" }}}}\n' + template.replace("IMAGE", "h/jin@{{ $dig }}")
        for name, text in (("ro", template.replace("IMAGE", "h/ro@{{.dig}}")), ("jin", logic)):
            created = site("template", "create", "-n", name, "--file", write(tmp_path / "t.yaml", text.encode()))
            assert created.status == 0, created
        machines = ("08:00:27:00:00:01", "08:00:27:00:00:02")
        made = site(
            "workflow", "create", "-t", "ro", "--set", f"dig={digests['ro']}", "--max-parallel", "1", "--yes", *machines
        )
        assert made.status == 0, made
        assert "rollout" in site("image", "delete", "--yes", f"h/ro@{digests['ro']}").err
        assert "images.instead" in site("image", "delete", "--yes", f"h/instead@{digests['instead']}").err
        assert "template jin" in site("image", "delete", "--yes", f"h/jin@{digests['jin']}").err
        assert site("image", "gc", "--now", "--untagged").status == 0
        listed = json.loads(site("image", "list", "-o", "json").out)
        assert {each["digest"] for each in listed} == newer | {digests[name] for name in ("ro", "jin", "instead")}
