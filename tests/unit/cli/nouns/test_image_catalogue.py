"""`tinkbox image catalogue` and `tinkbox image show`."""

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.unit.cli.conftest import FakeAppliance, Printed
from tinkbox.cli.nouns.image import fetch as image_fetch

Tinkbox = Callable[..., Printed]
KEPT = {
    "id": "debian-13",
    "tags": ["20261101-1", "latest"],
    "digest": f"sha256:{'7' * 64}",
    "size": 400 << 20,
    "pushed_at": "2026-11-02T10:00:00+00:00",
    "config": {
        "schema": 1,
        "id": "debian-13",
        "title": "Debian 13 (trixie)",
        "version": "20261101-1",
        "architecture": "x86_64",
        "firmware": ["bios", "uefi"],
        "data_source": "nocloud",
        "growth": "cloud-init",
        "default_user": "debian",
        "licence": "free",
        "least_disk": 4 << 30,
        "raw": {"size": 3 << 30, "digest": f"sha256:{'8' * 64}", "frame_size": 4 << 20},
        "source": {
            "url": "https://x.example/debian.qcow2",
            "digest": f"sha512:{'9' * 128}",
            "size": 410 << 20,
            "format": "qcow2",
            "compression": "none",
            "verified": "sums",
            "signer": "",
        },
    },
}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr(image_fetch, "SHARED", tmp_path / "etc")
    return tmp_path / "tinkbox"


@pytest.fixture
def keeping(appliance: FakeAppliance) -> FakeAppliance:
    older = {**KEPT, "tags": ["20260901-1"], "config": {**KEPT["config"], "version": "20260901-1"}}
    appliance.answers["GET /v1/system-images"] = [older, KEPT]
    return appliance


def rows(printed: str) -> list[list[str]]:
    return [re.split("  +", line) for line in printed.splitlines()]


def told(printed: str) -> dict[str, str]:
    """The values of one thing by their names."""
    return {name: value.strip() for name, _, value in (line.partition(": ") for line in printed.splitlines())}


def test_the_table_tells_what_can_be_fetched_and_what_is_kept(tinkbox: Tinkbox, keeping: FakeAppliance) -> None:
    head, *found = rows(tinkbox("image", "catalogue").out)
    assert head == ["IMAGE", "TITLE", "ARCH", "FIRMWARE", "LEAST DISK", "SIGNED", "KEPT"]
    by_id = {row[0]: row[1:] for row in found}
    assert by_id["debian-13"] == [
        "Debian 13 (trixie)",
        "x86_64",
        "bios, uefi",
        "4GiB",
        "no",
        "20261101-1",
    ]
    assert by_id["ubuntu-24.04-aarch64"] == ["Ubuntu 24.04 LTS", "aarch64", "uefi", "4GiB", "yes"]
    assert by_id["talos"][4] == "no"
    assert "not verified" in tinkbox("image", "catalogue", "-o", "wide").out
    assert "debian-13\n" in tinkbox("image", "catalogue", "-q").out


def test_the_catalogue_needs_no_appliance(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.away = True
    printed = tinkbox("image", "catalogue")
    assert (printed.status, printed.err.startswith("tinkbox: what is kept is not shown: ")) == (0, True)
    assert "debian-13" in printed.out


def test_an_image_that_is_named_is_shown_whole(tinkbox: Tinkbox, keeping: FakeAppliance) -> None:
    shown = told(tinkbox("image", "catalogue", "ubuntu-24.04").out)
    assert shown["Key"] == "D2EB44626FDDC30B513D5BB71A5D6C4C7DB87C81"
    assert shown["Found By"] == "listing: https://cloud-images.ubuntu.com/releases/noble/"
    assert (shown["Proof"], shown["Default User"], shown["Layer"]) == ("signed", "ubuntu", "built-in")
    (document,) = json.loads(tinkbox("image", "catalogue", "debian-13", "--format", "json").out)
    assert (document["resolver"]["kind"], document["kept"], document["proof"]) == ("listing", "20261101-1", "sums")
    assert tinkbox("image", "catalogue", "debain-13").err == (
        "tinkbox: the catalogue has no image debain-13; did you mean debian-13?\n"
    )


def test_own_entries_are_given_by_file(tinkbox: Tinkbox, keeping: FakeAppliance, tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    entry = "{title: Lab, architectures: {x86_64: {}}, least_disk: 1GiB, resolver: {kind: fixed, version: '1'"
    own.write_text(f"images: {{lab: {entry}, file: https://x.example/lab.raw}}}}}}")
    shown = told(tinkbox("image", "catalogue", "lab", "--catalogue", str(own)).out)
    assert (shown["Title"], shown["Layer"], shown["Proof"]) == ("Lab", str(own), "not verified")
    own.write_text("images:\n  lab:\n    titel: Lab\n")
    refused = tinkbox("image", "catalogue", "--catalogue", str(own))
    assert refused.err.splitlines()[0] == f"tinkbox: the catalogue {own} has 5 problems"
    assert "  line 3, images.lab.titel: unknown key titel; did you mean title?" in refused.err


def test_a_newer_catalogue_is_installed(tinkbox: Tinkbox, tmp_path: Path, home: Path) -> None:
    issuer = Ed25519PrivateKey.generate()
    public = base64.b64encode(issuer.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)).decode()
    home.mkdir()
    (home / "catalogue.keys").write_text(f"ed25519 {public} the lab\n")
    new = tmp_path / "new.yaml"
    new.write_text("serial: 20\nimages: {}")
    (tmp_path / "new.yaml.sig").write_bytes(base64.b64encode(issuer.sign(new.read_bytes())))
    assert (
        tinkbox("image", "catalogue", "--install", str(new)).out == f"Installed catalogue 20 with 0 images in {home}\n"
    )
    assert "serial 20 is here: it is not newer" in tinkbox("image", "catalogue", "--install", str(new)).err
    (tmp_path / "new.yaml.sig").unlink()
    assert tinkbox("image", "catalogue", "--install", str(new)).err == (
        f"tinkbox: cannot read {new}.sig: No such file or directory\n"
    )


def test_an_image_that_is_kept_tells_where_it_is_from(tinkbox: Tinkbox, keeping: FakeAppliance) -> None:
    shown = told(tinkbox("image", "show", "debian-13").out)
    assert shown["Image"] == "debian-13:20261101-1"
    assert (shown["Verified"], shown["Source"]) == ("checksum over HTTPS", "https://x.example/debian.qcow2")
    assert (shown["Source Digest"], shown["Source Size"]) == (f"sha512:{'9' * 128}", "410MiB")
    assert shown["Disk"] == f"3GiB (sha256:{'8' * 64})"
    assert shown["Kept Since"] == "2026-11-02 10:00:00 UTC"
    assert "Signer" not in shown
    assert "20260901-1" in tinkbox("image", "show", "debian-13:20260901-1").out
    document = json.loads(tinkbox("image", "show", "debian-13", "--format", "json").out)
    assert document == KEPT


def test_an_image_that_is_not_kept_is_told_with_those_that_are(tinkbox: Tinkbox, keeping: FakeAppliance) -> None:
    assert tinkbox("image", "show", "debian-12").err == (
        "tinkbox: no system image debian-12 here; there are: debian-13:20260901-1, debian-13:20261101-1, debian-13:latest\n"
    )
    keeping.answers["GET /v1/system-images"] = [{**KEPT, "tags": ["latest"]}]
    assert tinkbox("image", "show", "debian-13:20261101-1").err == (
        "tinkbox: no system image debian-13:20261101-1 here; there are: debian-13:latest\n"
    )


@pytest.mark.parametrize("verb", ["show", "catalogue"])
def test_of_several_images_those_that_are_there_are_shown(tinkbox: Tinkbox, keeping: FakeAppliance, verb: str) -> None:
    told = tinkbox("image", verb, "debian-13", "no-such", "-o", "json")
    assert (told.status, [each["id"] for each in json.loads(told.out)]) == (1, ["debian-13"])
    assert (told.err.count("\n"), "image no-such" in told.err) == (1, True)
    for wrong in (("no-such",), ("no-such", "nor-such")):
        told = tinkbox("image", verb, *wrong, "-o", "json")
        assert (told.status, told.out, told.err.count("tinkbox: ")) == (1, "", len(wrong))


def test_nothing_kept_is_nothing_to_update(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers["GET /v1/system-images"] = []
    assert tinkbox("image", "update").out.startswith("No image of the catalogue is here")
