"""`tinkbox image fetch` and its kin, from a publisher on loopback into an appliance's registry."""

import hashlib
import io
import json
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import zstandard

from tests.integration.catalogue.conftest import NAME, Client, sums_of
from tests.integration.catalogue.mirror import File
from tests.root_tars import system, tar
from tests.unit.cli.conftest import FakeAppliance, Printed, appliance, tinkbox
from tinkbox.cli.nouns.image import fetch as image_fetch
from tinkbox.settings import default_cache
from tinkbox.wire.system_images import decode_config

__all__ = ["appliance", "tinkbox"]

# A master boot record with a partition from the second sector on.
_PARTITION = b"\x80\0\0\0\x83\0\0\0" + (1).to_bytes(4, "little") + (2047).to_bytes(4, "little")
DISK = (b"\xeb" * 446 + _PARTITION + b"\0" * 48 + b"\x55\xaa" + b"lab" * 1000).ljust(1 << 20, b"\0")
DIGEST = f"sha256:{hashlib.sha256(DISK).hexdigest()}"
Tinkbox = Callable[..., Printed]


@pytest.fixture
def lab(
    client: Client, appliance: FakeAppliance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[FakeAppliance]:
    """An appliance, and a publisher whose entry `lab` is the operator's own."""
    monkeypatch.setenv("SSL_CERT_FILE", str(client.mirror.authority))
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setattr(image_fetch, "SHARED", tmp_path / "etc")
    sums = sums_of([(NAME, DISK)])
    client.mirror.publish({f"/{NAME}": DISK, "/SUMS": sums, "/SUMS.sig": client.publisher.detached(sums.content)})
    own = tmp_path / "etc" / "catalogue.d"
    client.publisher.put(own)
    (own / "lab.yaml").write_text(
        f"""
        images:
          lab:
            title: Lab
            architectures: {{x86_64: {{}}}}
            least_disk: 4GiB
            firmware: [bios]
            default_user: lab
            resolver: {{kind: sums, sums: {client.mirror.url}/SUMS, file: 'lab-(?P<version>[0-9]+)\\.raw'}}
            signature: {client.signed()}
        """
    )
    appliance.answers |= {"GET /v1/images": [], "POST /v1/images": {"loaded": []}, "GET /v1/system-images": []}
    return appliance


def archive_of(appliance: FakeAppliance) -> tarfile.TarFile:
    ((_, content),) = [each for each in appliance.asked if each[0] == "POST /v1/images"]
    return tarfile.open(fileobj=io.BytesIO(content))


def config_in(archive: tarfile.TarFile) -> dict[str, object]:
    index = read(archive, "index.json")
    manifest = read(archive, blob(index["manifests"][0]["digest"]))
    content = archive.extractfile(blob(manifest["config"]["digest"])).read()
    decode_config(content)
    return json.loads(content)


def read(archive: tarfile.TarFile, name: str) -> dict:
    return json.loads(archive.extractfile(name).read())


def blob(digest: str) -> str:
    return f"blobs/sha256/{digest.removeprefix('sha256:')}"


def test_an_image_is_fetched_proven_and_loaded(tinkbox: Tinkbox, lab: FakeAppliance, client: Client) -> None:
    printed = tinkbox("image", "fetch", "lab")
    assert printed.status == 0, printed.err
    first, second = printed.out.splitlines()
    assert first == f"Fetching lab:20261101 from {client.mirror.url}/{NAME}, 1MiB"
    assert second.startswith("Fetched lab:20261101 (sha256:")
    assert second.endswith(f", signed by {client.publisher.fingerprint} (publisher <publisher@example.org>)")
    with archive_of(lab) as archive:
        names = [
            each["annotations"]["org.opencontainers.image.ref.name"]
            for each in read(archive, "index.json")["manifests"]
        ]
        config = config_in(archive)
    assert names == ["lab:20261101", "lab:latest"]
    assert config["source"] == {
        "url": f"{client.mirror.url}/{NAME}",
        "digest": DIGEST,
        "size": len(DISK),
        "format": "raw",
        "compression": "none",
        "verified": "signed",
        "signer": f"{client.publisher.fingerprint} (publisher <publisher@example.org>)",
    }
    assert (config["raw"]["digest"], config["default_user"], config["least_disk"]) == (DIGEST, "lab", 4 << 30)
    assert list((default_cache() / "downloads").iterdir()) == []


def test_a_version_that_is_here_stays_as_it_is(tinkbox: Tinkbox, lab: FakeAppliance, client: Client) -> None:
    here = {"name": "lab", "digest": "sha256:1", "size": 1}
    lab.answers["GET /v1/images"] = [{**here, "tag": "20261101"}]
    assert tinkbox("image", "fetch", "lab").out.endswith(
        "here already, and no version is the latest: name it lab:20261101\n"
    )
    lab.answers["GET /v1/images"] = [{**here, "tag": "20261101"}, {**here, "tag": "latest"}]
    assert tinkbox("image", "fetch", "lab").out == "lab:20261101 is here already\n"
    assert client.mirror.ranges(f"/{NAME}") == []
    assert "POST /v1/images" not in dict(lab.asked)


def test_what_another_command_has_just_loaded_is_not_fetched_again(
    tinkbox: Tinkbox, lab: FakeAppliance, client: Client
) -> None:
    tags = iter([[], ["20261101", "latest"]])
    lab.answers["GET /v1/images"] = lambda: [
        {"name": "lab", "tag": each, "digest": "sha256:1", "size": 1} for each in next(tags)
    ]
    assert tinkbox("image", "fetch", "lab").out == "lab:20261101 is here already\n"
    assert client.mirror.ranges(f"/{NAME}") == []
    assert list((default_cache() / "downloads").iterdir()) == []


@pytest.mark.parametrize("loaded", [True, False], ids=["first loads it", "first fails"])
def test_a_second_fetch_waits_for_the_first(
    tinkbox: Tinkbox, lab: FakeAppliance, client: Client, tmp_path: Path, loaded: bool
) -> None:
    entry = f"resolver: {{kind: sums, sums: {client.mirror.url}/SUMS, file: 'lab-(?P<version>[0-9]+)\\.raw'}}"
    (tmp_path / "own.yaml").write_text(
        f"images: {{lab: {{title: Lab, architectures: {{x86_64: {{}}}}, least_disk: 4GiB, {entry}}}}}"
    )
    words = ("image", "fetch", "lab", "--catalogue", str(tmp_path / "own.yaml"))
    others = list[tuple[subprocess.Popen[str], str]]()

    def load() -> object:
        """The first has downloaded and packed the image: begin the second, and answer when that says that it waits."""
        lab.answers["POST /v1/images"] = {"loaded": []}
        command = [sys.executable, "-m", "tinkbox", *words]
        second = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        others.append((second, second.stdout.readline()))
        if not loaded:
            return None
        here = {"name": "lab", "digest": "sha256:1", "size": 1}
        lab.answers["GET /v1/images"] = [{**here, "tag": each} for each in ("20261101", "latest")]
        return {"loaded": []}

    lab.answers["POST /v1/images"] = load
    first = tinkbox(*words)
    ((second, said),) = others
    rest, _ = second.communicate(timeout=60)
    assert said == "Another command is fetching lab:20261101. Waiting for it; Ctrl-C stops the waiting\n", rest
    assert (first.status, second.returncode) == (0 if loaded else 1, 0)
    if loaded:
        assert rest == "lab:20261101 is here already\n"
    else:
        assert rest.splitlines()[-1].startswith("Fetched lab:20261101 (sha256:")
    assert len(client.mirror.ranges(f"/{NAME}")) == 1
    assert list((default_cache() / "downloads").iterdir()) == []


def test_a_version_that_is_here_as_another_file_is_told(tinkbox: Tinkbox, lab: FakeAppliance, client: Client) -> None:
    lab.answers["GET /v1/images"] = [{"name": "lab", "tag": "20261101", "digest": "sha256:1", "size": 1}]
    for digest, same in ((DIGEST, True), (f"sha512:{'0' * 128}", True), (f"sha256:{'0' * 64}", False)):
        lab.answers["GET /v1/system-images"] = [
            {"id": "lab", "tags": ["20261101"], "config": {"version": "20261101", "source": {"digest": digest}}}
        ]
        printed = tinkbox("image", "fetch", "lab", "--digest", DIGEST)
        assert printed.status == (0 if same else 1)
        assert same or f"its digest was {digest}, and now it is {DIGEST}" in printed.err
    assert client.mirror.ranges(f"/{NAME}") == []


def test_a_version_that_is_older_than_one_here_is_fetched_with_a_warning(tinkbox: Tinkbox, lab: FakeAppliance) -> None:
    here = {"name": "lab", "digest": "sha256:1", "size": 1}
    lab.answers["GET /v1/images"] = [{**here, "tag": each} for each in ("9", "20261102", "latest")]
    printed = tinkbox("image", "fetch", "lab")
    assert printed.status == 0
    assert printed.err.startswith("tinkbox: warning: lab:20261101 is older than 20261102, which is here: ")


def test_an_archive_is_saved_where_there_is_no_appliance(tinkbox: Tinkbox, lab: FakeAppliance, tmp_path: Path) -> None:
    lab.away = True
    printed = tinkbox("image", "fetch", "lab", "--save", str(tmp_path / "lab.tar"), "--keep-download")
    assert (printed.status, lab.asked) == (0, []), printed.err
    assert printed.out.splitlines()[2].startswith("Saved lab:20261101")
    with tarfile.open(tmp_path / "lab.tar") as archive:
        assert config_in(archive)["version"] == "20261101"
    kept = Path(printed.out.splitlines()[1].removeprefix("Kept download: "))
    assert kept.read_bytes() == DISK


def test_a_folder_that_is_not_there_is_told_before_anything_is_downloaded(
    tinkbox: Tinkbox, lab: FakeAppliance, client: Client, tmp_path: Path
) -> None:
    for flags in (["--scratch", str(tmp_path / "none")], ["--save", str(tmp_path / "none" / "lab.tar")]):
        refused = tinkbox("image", "fetch", "lab", *flags)
        assert (refused.status, refused.err.count("\n")) == (1, 1), refused.err
        assert f"{tmp_path / 'none'}" in refused.err
    assert client.mirror.ranges(f"/{NAME}") == []


def test_a_root_file_system_of_the_catalogue_becomes_a_disk(
    tinkbox: Tinkbox, lab: FakeAppliance, client: Client, tmp_path: Path
) -> None:
    root = zstandard.compress(tar(system(files={"usr/bin/cloud-init": None})))
    sums = sums_of([(NAME, root)])
    client.mirror.publish({f"/{NAME}": root, "/SUMS": sums, "/SUMS.sig": client.publisher.detached(sums.content)})
    entry = tmp_path / "etc" / "catalogue.d" / "lab.yaml"
    entry.write_text(entry.read_text().replace("firmware: [bios]", "format: tar\n            compression: zstd"))
    printed = tinkbox("image", "fetch", "lab")
    assert printed.status == 0, printed.err
    assert "tinkbox: warning: lab:20261101: it has no cloud-init" in printed.err
    with archive_of(lab) as archive:
        config = config_in(archive)
    assert (config["source"]["format"], config["firmware"]) == ("tar", ["bios", "uefi"])


def test_what_cannot_be_proven_is_fetched_on_demand_only(tinkbox: Tinkbox, lab: FakeAppliance, client: Client) -> None:
    client.mirror.publish({"/SUMS.sig": b"none"})
    refused = tinkbox("image", "fetch", "lab")
    assert refused.status == 1
    assert refused.err.startswith(f"tinkbox: lab: the signature of {client.mirror.url}/SUMS proves nothing: ")
    taken = tinkbox("image", "fetch", "lab", "--unverified")
    assert taken.status == 0
    assert taken.out.endswith(", checksum over HTTPS\n")
    assert "proves nothing" in taken.err
    with archive_of(lab) as archive:
        assert config_in(archive)["source"]["verified"] == "sums"


def test_update_compares_and_changes_nothing(tinkbox: Tinkbox, lab: FakeAppliance) -> None:
    source = {"digest": "sha256:old", "size": 7, "verified": "sums"}
    kept = {"id": "lab", "tags": ["20260101", "latest"], "config": {"version": "20260101", "source": source}}
    lab.answers["GET /v1/system-images"] = [kept]
    (document,) = json.loads(tinkbox("image", "update", "--format", "json").out)
    assert document["changed"] is True
    assert document["kept"] == {"version": "20260101", **source}
    assert document["newest"]["version"] == "20261101"
    assert (document["newest"]["digest"], document["newest"]["size"]) == (DIGEST, len(DISK))
    assert document["newest"]["verified"] == "signed"
    printed = tinkbox("image", "update").out
    assert "lab    20260101  20261101  1MiB  signed" in printed
    assert printed.endswith("To fetch: `tinkbox image fetch lab`\n")
    assert {request for request, _ in lab.asked} == {"GET /v1/system-images"}


def test_update_tells_what_cannot_be_found_and_goes_on(tinkbox: Tinkbox, lab: FakeAppliance, client: Client) -> None:
    del client.mirror.files["/SUMS"]
    printed = tinkbox("image", "update", "lab")
    assert (printed.status, printed.err.startswith("tinkbox: lab: https://")) == (1, True)


@pytest.mark.parametrize("flag", ["--digest=sha256:0", "--source=ftp://x/"])
def test_what_is_no_digest_or_url_is_refused_before_anything_is_asked(
    tinkbox: Tinkbox, lab: FakeAppliance, client: Client, flag: str
) -> None:
    assert tinkbox("image", "fetch", "lab", flag).status == 1
    assert (client.mirror.asked, lab.asked) == ([], [])
    assert tinkbox("image", "fetch", "lab", "debian-13", flag).status == 2


def test_the_name_of_a_container_image_is_not_taken(tinkbox: Tinkbox, lab: FakeAppliance, client: Client) -> None:
    lab.answers["GET /v1/images"] = [{"name": "lab", "tag": "v1", "digest": "sha256:1", "size": 1, "kind": "container"}]
    assert tinkbox("image", "fetch", "lab").err.startswith("tinkbox: lab is a container image here: delete it")
    assert client.mirror.asked == []


def test_a_system_that_gets_no_updates_any_more_is_told(tinkbox: Tinkbox, lab: FakeAppliance, tmp_path: Path) -> None:
    own = tmp_path / "etc" / "catalogue.d" / "lab.yaml"
    own.write_text(own.read_text().replace("default_user: lab", "end_of_life: 2020-01-01"))
    assert tinkbox("image", "fetch", "lab").err == "tinkbox: warning: Lab gets no updates since 2020-01-01\n"


@pytest.mark.parametrize("careless", [True, False], ids=["without length and ETag", "with both"])
@pytest.mark.parametrize("kept", [True, False])
def test_a_download_that_is_no_disk_is_removed_unless_it_is_to_be_kept(
    tinkbox: Tinkbox, lab: FakeAppliance, client: Client, kept: bool, careless: bool
) -> None:
    text = b"404: no image here\n" * 1000
    sums, image = sums_of([(NAME, text)]), File(text, untold=careless, untagged=careless)
    client.mirror.publish({f"/{NAME}": image, "/SUMS": sums, "/SUMS.sig": client.publisher.detached(sums.content)})
    failed = tinkbox("image", "fetch", "lab", *(["--keep-download"] if kept else []))
    assert (failed.status, "is a text, not a disk image" in failed.err) == (1, True), failed.err
    assert bool(list((default_cache() / "downloads").iterdir())) is kept


def test_a_download_that_nothing_proves_is_kept_on_demand(
    tinkbox: Tinkbox, lab: FakeAppliance, client: Client, tmp_path: Path
) -> None:
    text = b"404: no image here\n" * 1000
    client.mirror.publish({f"/{NAME}": File(text, untold=True, untagged=True)})
    (tmp_path / "own.yaml").write_text(
        "images: {lab: {title: Lab, architectures: {x86_64: {}}, least_disk: 4GiB, "
        f"resolver: {{kind: fixed, version: '1', file: {client.mirror.url}/{NAME}}}}}}}"
    )
    words = ("image", "fetch", "lab", "--unverified", "--catalogue", str(tmp_path / "own.yaml"))
    for flags, sizes in (["--keep-download"], [len(text)]), ([], []):
        failed = tinkbox(*words, *flags)
        assert (failed.status, "is a text, not a disk image" in failed.err) == (1, True), failed.err
        assert [each.stat().st_size for each in (default_cache() / "downloads").glob("*.raw")] == sizes


@pytest.mark.parametrize("untold", [True, False])
@pytest.mark.parametrize("damaged", [True, False])
def test_a_proven_download_stays_when_only_the_load_fails(
    tinkbox: Tinkbox, lab: FakeAppliance, client: Client, untold: bool, damaged: bool
) -> None:
    client.mirror.publish({f"/{NAME}": File(DISK, untold=untold, untagged=True)})
    lab.answers["POST /v1/images"] = None
    assert tinkbox("image", "fetch", "lab").status == 1
    (part,) = (default_cache() / "downloads").glob("*.raw")
    assert part.read_bytes() == DISK
    if damaged:
        part.write_bytes(DISK[:-1] + b"x")
    lab.asked.clear()
    lab.answers["POST /v1/images"] = {"loaded": []}
    printed = tinkbox("image", "fetch", "lab")
    assert printed.status == 0, printed.err
    assert client.mirror.ranges(f"/{NAME}") == ([""] * (2 if damaged else 1))
    with archive_of(lab) as archive:
        assert config_in(archive)["raw"]["digest"] == DIGEST
    assert list((default_cache() / "downloads").iterdir()) == []
