"""The certificates that the doors show, over their whole life."""

import errno
import os
import re
import resource
import shutil
import ssl
import stat
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from ssl import PEM_cert_to_DER_cert
from typing import NoReturn

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import dsa, ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from tests.handshakes import certificate_shown, client_trusting, shake_hands
from tinkbox.certificates import Certificates, Door
from tinkbox.certificates.issuing import new_key, self_signed, signed
from tinkbox.certificates.own_certificate import Remarks, foreign_names
from tinkbox.model.errors import Unavailable

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
NAMES = ["provisioner", "172.30.0.1", "127.0.0.1"]
Open = Callable[..., Certificates]


class Theirs:
    """An authority of the operator's firm, and files that it gives out."""

    def __init__(self, folder: Path) -> None:
        self.authority = self_signed(new_key())
        self.pem = self.authority.certificate.public_bytes(Encoding.PEM).decode()
        self.files = folder / "fullchain.pem", folder / "privkey.pem"

    def give(self, names: list[str], moment: datetime = NOW) -> tuple[Path, Path]:
        key = new_key()
        leaf = signed(self.authority, key.public_key(), names, moment)
        chain = leaf.public_bytes(Encoding.PEM) + self.pem.encode()
        for path, content in zip(self.files, (chain, pem(key)), strict=True):
            fresh = path.with_suffix(".fresh")
            fresh.write_bytes(content)
            fresh.replace(path)
        return self.files


@pytest.fixture
def theirs(tmp_path: Path) -> Theirs:
    return Theirs(tmp_path)


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def opened(tmp_path: Path, clock: Clock) -> Open:
    def open_it(
        names: list[str] = NAMES,
        own: tuple[Path, Path] | None = None,
        authority_key: Path | None = None,
        known: str = "",
    ) -> Certificates:
        return Certificates.open(tmp_path, names, own, clock.now, authority_key=authority_key, known=known, clock=clock)

    return open_it


def shown(certificates: Certificates, host: str, authority: str = "") -> x509.Certificate:
    """What a client sees that trusts an authority, the box's by default."""
    client = client_trusting(authority or certificates.authority_pem)
    found = shake_hands(client, certificates.server_context(Door.OPERATOR), host).getpeercert(binary_form=True)
    assert found is not None
    return x509.load_der_x509_certificate(found)


def test_client_that_trusts_the_authority_reaches_every_name_and_address(opened: Open) -> None:
    certificates = opened()
    for host in NAMES:
        shown(certificates, host)


def test_stranger_to_the_authority_refuses_the_box(opened: Open, tmp_path: Path) -> None:
    other = Certificates.open(_folder(tmp_path / "other"), NAMES, None, NOW)
    with pytest.raises(ssl.SSLCertVerificationError):
        shown(opened(), "172.30.0.1", other.authority_pem)


def test_name_that_is_not_the_boxs_is_refused(opened: Open) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match=r"172\.30\.0\.2"):
        shown(opened(), "172.30.0.2")


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_both_versions_of_tls_are_spoken(opened: Open, version: ssl.TLSVersion) -> None:
    certificates = opened()
    client = client_trusting(certificates.authority_pem)
    client.minimum_version = client.maximum_version = version
    assert shake_hands(
        client, certificates.server_context(Door.OPERATOR), "127.0.0.1"
    ).version() == version.name.replace("_", ".")


FORWARD_SECRET = ("ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-RSA-CHACHA20-POLY1305")
OF_OLD_FIRMWARE = ("AES128-GCM-SHA256", "AES256-SHA256", "AES128-SHA")


def suite(certificates: Certificates, door: Door, *offered: str, host: str = "127.0.0.1", trusted: str = "") -> str:
    """The one that a client of TLS 1.2 gets, which offers these.  Raises ssl.SSLError for none."""
    client = client_trusting(trusted or certificates.authority_pem)
    client.maximum_version = ssl.TLSVersion.TLSv1_2
    client.set_ciphers(":".join(offered))
    return (shake_hands(client, certificates.server_context(door), host).cipher() or ("",))[0]


@pytest.mark.parametrize("offered", FORWARD_SECRET)
@pytest.mark.parametrize("door", Door)
async def test_every_door_speaks_with_forward_secrecy(opened: Open, door: Door, offered: str, clock: Clock) -> None:
    certificates = opened()
    assert suite(certificates, door, offered) == offered
    clock.now += timedelta(days=300)
    await certificates.look()
    assert suite(certificates, door, *OF_OLD_FIRMWARE, offered) == offered


@pytest.mark.parametrize("offered", [*OF_OLD_FIRMWARE, "ECDHE-RSA-AES128-SHA256", "ECDHE-RSA-AES128-SHA"])
async def test_operator_door_speaks_in_no_other_way(opened: Open, theirs: Theirs, clock: Clock, offered: str) -> None:
    certificates = opened(own=theirs.give(["box.example.org"]))
    with pytest.raises(ssl.SSLError, match="NO_SHARED_CIPHER"):
        suite(certificates, Door.OPERATOR, offered)
    with pytest.raises(ssl.SSLError, match="NO_SHARED_CIPHER"):
        suite(certificates, Door.OPERATOR, offered, host="box.example.org", trusted=theirs.pem)
    clock.now += timedelta(days=300)
    await certificates.look()
    with pytest.raises(ssl.SSLError, match="NO_SHARED_CIPHER"):
        suite(certificates, Door.OPERATOR, offered)


@pytest.mark.parametrize("offered", OF_OLD_FIRMWARE)
async def test_firmware_without_elliptic_curves_is_spoken_to_at_the_node_door(
    opened: Open, clock: Clock, offered: str
) -> None:
    certificates = opened()
    assert suite(certificates, Door.NODE, offered) == offered
    clock.now += timedelta(days=300)
    await certificates.look()
    assert suite(certificates, Door.NODE, offered) == offered


def test_restart_keeps_authority_and_certificate(opened: Open) -> None:
    first = opened()
    before = shown(first, "127.0.0.1")
    second = opened()
    assert second.fingerprint == first.fingerprint
    assert shown(second, "127.0.0.1") == before


def test_files_are_their_owners_alone(opened: Open, tmp_path: Path) -> None:
    opened()
    files = {each.name: stat.S_IMODE(each.stat().st_mode) for each in (tmp_path / "tls").iterdir()}
    assert files == dict.fromkeys(("authority.key", "authority.pem", "server.pem"), 0o600)
    assert stat.S_IMODE((tmp_path / "tls").stat().st_mode) == 0o700


def test_new_address_gets_a_certificate_of_the_same_authority(opened: Open) -> None:
    first = opened()
    second = opened([*NAMES, "10.0.0.1"])
    assert second.fingerprint == first.fingerprint
    shown(second, "10.0.0.1")


async def test_running_box_renews_in_place(opened: Open, clock: Clock) -> None:
    certificates = opened()
    context = certificates.server_context(Door.OPERATOR)
    before = shown(certificates, "127.0.0.1")
    clock.now += timedelta(days=264)
    await certificates.look()
    assert shown(certificates, "127.0.0.1") == before
    clock.now += timedelta(days=1)
    await certificates.look()
    after = shown(certificates, "127.0.0.1")
    assert after.not_valid_after_utc == clock.now + timedelta(days=397)
    assert certificates.server_context(Door.OPERATOR) is context


async def test_box_that_cannot_write_goes_on_and_says_so(opened: Open, clock: Clock, tmp_path: Path) -> None:
    certificates = opened()
    before = shown(certificates, "127.0.0.1")
    (tmp_path / "tls").rename(tmp_path / "away")
    await certificates.look()
    assert shown(certificates, "127.0.0.1") == before
    assert "cannot write" in certificates.problems[0]
    (tmp_path / "away").rename(tmp_path / "tls")
    await certificates.look()
    assert certificates.problems == []


async def test_box_without_descriptors_goes_on_and_says_so(opened: Open, theirs: Theirs, clock: Clock) -> None:
    certificates = opened(own=theirs.give(["box.example.org"]))
    theirs.give(["box.example.org"])
    clock.now += timedelta(days=300)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        await certificates.look()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert [each for each in certificates.problems if "Too many open files" in each] == certificates.problems
    await certificates.look()
    assert certificates.problems == []


async def test_defect_in_a_look_does_not_end_the_box(
    opened: Open, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificates = opened()
    before = shown(certificates, "127.0.0.1")
    clock.now += timedelta(days=300)

    def no_room() -> NoReturn:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr("tinkbox.certificates.certificates.new_key", no_room)
        await certificates.look()
    assert shown(certificates, "127.0.0.1") == before
    assert "was not renewed: MemoryError" in certificates.problems[0]
    assert certificates.refused == []
    clock.now += timedelta(days=200)
    (told,) = certificates.refused
    assert re.match(
        r"the box's certificate expired on 2028-.*refuse it; the box's .* was not renewed: MemoryError", told
    )
    assert certificates.problems == []
    await certificates.look()
    assert (certificates.problems, certificates.refused) == ([], [])


async def test_renewed_certificate_that_could_not_be_loaded_is_loaded_by_the_next_look(
    opened: Open, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificates = opened()
    before = shown(certificates, "127.0.0.1")
    clock.now += timedelta(days=300)

    def no_descriptors() -> NoReturn:
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as patch:
        patch.setattr("tinkbox.certificates.certificates.server_contexts", no_descriptors)
        await certificates.look()
    assert shown(certificates, "127.0.0.1") == before
    await certificates.look()
    assert shown(certificates, "127.0.0.1").not_valid_after_utc == clock.now + timedelta(days=397)
    assert certificates.problems == []


@pytest.mark.parametrize("damage", [b"", b"nothing", None])
def test_lost_certificate_is_made_anew(opened: Open, tmp_path: Path, damage: bytes | None) -> None:
    first = opened()
    server = tmp_path / "tls/server.pem"
    server.unlink() if damage is None else server.write_bytes(damage)
    second = opened()
    assert second.fingerprint == first.fingerprint
    shown(second, "127.0.0.1")


@pytest.mark.parametrize("left", [(), ("authority.key.new",), ("authority.key",), ("authority.key", "authority.pem.new"), ("authority.key", "authority.pem", "server.pem.new")])  # fmt: skip
def test_start_that_was_killed_in_between_is_finished_by_the_next(
    opened: Open, tmp_path: Path, left: tuple[str, ...]
) -> None:
    opened()
    for each in (tmp_path / "tls").iterdir():
        if each.name not in left:
            each.unlink()
    for name in left:
        if name.endswith(".new"):
            (tmp_path / "tls" / name).write_bytes(b"-----BEGIN")
    shown(opened(), "127.0.0.1")
    assert not [*(tmp_path / "tls").glob("*.new")]


def test_lost_certificate_of_the_authority_is_found_beside_the_servers(opened: Open, tmp_path: Path) -> None:
    first = opened()
    (tmp_path / "tls/authority.pem").unlink()
    assert opened().fingerprint == first.fingerprint
    assert (tmp_path / "tls/authority.pem").read_text() == first.authority_pem


@pytest.mark.parametrize(
    ("lost", "told"),
    [
        (["authority.key"], "authority.key is lost"),
        (["authority.key", "authority.pem"], "are lost"),
    ],
)
def test_lost_authority_is_refused_with_the_way_out(opened: Open, tmp_path: Path, lost: list[str], told: str) -> None:
    opened()
    for name in lost:
        (tmp_path / "tls" / name).unlink()
    with pytest.raises(Unavailable, match=f"{told}.*put it back from a backup.*rm -r"):
        opened()
    assert not (tmp_path / "tls/authority.key").exists()


def test_certificate_that_is_no_authoritys_is_refused_with_the_way_out(opened: Open, tmp_path: Path) -> None:
    authority = self_signed(new_key())
    no_authority = signed(authority, authority.key.public_key(), NAMES, NOW)
    _folder(tmp_path / "tls")
    (tmp_path / "tls/authority.key").write_bytes(pem(authority.key))
    (tmp_path / "tls/authority.pem").write_bytes(no_authority.public_bytes(Encoding.PEM))
    with pytest.raises(Unavailable, match=r"is no certificate of an authority.*put it back from a backup"):
        opened()


@pytest.mark.parametrize("name", ["authority.key", "authority.pem"])
@pytest.mark.parametrize("damage", [b"", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", b"\xff\0"])
def test_damaged_authority_is_refused_with_the_way_out(opened: Open, tmp_path: Path, name: str, damage: bytes) -> None:
    opened()
    (tmp_path / "tls" / name).write_bytes(damage)
    with pytest.raises(Unavailable, match=f"{name} holds no .*put it back from a backup"):
        opened()
    assert (tmp_path / "tls" / name).read_bytes() == damage


def test_key_of_another_authority_is_refused(opened: Open, tmp_path: Path) -> None:
    opened()
    (tmp_path / "tls/authority.key").write_bytes(pem(new_key()))
    with pytest.raises(Unavailable, match="is not the key of the authority"):
        opened()


def test_right_key_beside_another_authority_is_put_right_by_what_the_refusal_names(
    opened: Open, tmp_path: Path
) -> None:
    first, key = opened(), (tmp_path / "tls/authority.key").read_bytes()
    shutil.rmtree(tmp_path / "tls")
    opened()
    (tmp_path / "tls/authority.key").write_bytes(key)
    with pytest.raises(Unavailable) as refused:
        opened(known=first.fingerprint)
    typed = re.search(r"`rm -f ([^`]*)`", str(refused.value))
    assert typed
    for each in typed[1].split():
        Path(each).unlink(missing_ok=True)
    assert opened(known=first.fingerprint).fingerprint == first.fingerprint


@pytest.mark.parametrize("folder", [True, False])
def test_box_that_had_an_authority_makes_no_other_one(opened: Open, tmp_path: Path, *, folder: bool) -> None:
    known, key = opened().fingerprint, (tmp_path / "tls/authority.key").read_bytes()
    shutil.rmtree(tmp_path / "tls")
    if folder:
        _folder(tmp_path / "tls")
    told = (
        f"has no authority, and this box had {known}: put .*authority.key back.*`tinkbox authority --forget` has the next "
        "start make a new .*logs in again, with its --fingerprint.* enrolled anew"
    )
    with pytest.raises(Unavailable, match=told):
        opened(known=known)
    with pytest.raises(Unavailable, match=told):
        Certificates.examine(tmp_path, None, NOW, known=known)
    assert not [*(tmp_path / "tls").glob("*")]
    (tmp_path / "tls").mkdir(exist_ok=True, mode=0o700)
    (tmp_path / "tls/authority.key").write_bytes(key)
    assert Certificates.examine(tmp_path, None, NOW, known=known) == Remarks()
    assert opened(known=known).fingerprint == known


def test_box_with_another_ones_authority_is_refused_with_both_ways_out(opened: Open, tmp_path: Path) -> None:
    known = opened().fingerprint
    shutil.rmtree(tmp_path / "tls")
    other = opened().fingerprint
    with pytest.raises(Unavailable, match=f"authority {other}, and this box had {known}.*rm -f.*authority --forget"):
        opened(known=known)
    assert opened().fingerprint == other


def test_key_that_firmware_cannot_use_is_refused(opened: Open, tmp_path: Path) -> None:
    _folder(tmp_path / "tls")
    (tmp_path / "tls/authority.key").write_bytes(pem(ec.generate_private_key(ec.SECP256R1())))
    with pytest.raises(Unavailable, match="no RSA key of 2048 bits"):
        opened()


def test_key_may_be_a_credential_of_systemd(opened: Open, tmp_path: Path) -> None:
    credential = tmp_path / "tinkbox-authority-key"
    credential.write_bytes(pem(new_key()))
    first = opened(authority_key=credential)
    assert not (tmp_path / "tls/authority.key").exists()
    assert opened(authority_key=credential).fingerprint == first.fingerprint
    credential.unlink()
    with pytest.raises(Unavailable, match="LoadCredential"):
        opened(authority_key=credential)
    for broken in (b"", pem(ec.generate_private_key(ec.SECP256R1())), pem(new_key())):
        credential.write_bytes(broken)
        with pytest.raises(Unavailable, match="it is a credential of systemd, so seal the right key") as refused:
            opened(authority_key=credential)
        assert "tls. See first" not in str(refused.value)


def test_backup_of_the_authoritys_key_alone_brings_back_the_authority(
    opened: Open, tmp_path: Path, clock: Clock
) -> None:
    first, key = opened(), (tmp_path / "tls/authority.key").read_bytes()
    shutil.rmtree(tmp_path / "tls")
    _folder(tmp_path / "tls")
    (tmp_path / "tls/authority.key").write_bytes(key)
    clock.now += timedelta(days=1000)
    second = opened(["other", "10.0.0.1"])
    assert (second.fingerprint, second.authority_pem) == (first.fingerprint, first.authority_pem)
    shown(second, "10.0.0.1", first.authority_pem)


def test_certificate_of_the_authority_that_is_there_is_kept_as_it_is(opened: Open, tmp_path: Path) -> None:
    made = self_signed(new_key())
    earlier = x509.CertificateBuilder(
        made.certificate.subject, made.certificate.subject, made.key.public_key(), 7,
        made.certificate.not_valid_before_utc, made.certificate.not_valid_after_utc, list(made.certificate.extensions),
    ).sign(made.key, hashes.SHA256())  # fmt: skip
    _folder(tmp_path / "tls")
    (tmp_path / "tls/authority.key").write_bytes(pem(made.key))
    (tmp_path / "tls/authority.pem").write_bytes(earlier.public_bytes(Encoding.PEM))
    assert x509.load_pem_x509_certificate(opened().authority_pem.encode()) == earlier


def test_examination_makes_nothing(tmp_path: Path) -> None:
    assert Certificates.examine(tmp_path, None, NOW) == Remarks()
    assert [*tmp_path.iterdir()] == []


def test_authority_that_ends_is_told_a_year_before(opened: Open, clock: Clock) -> None:
    opened()
    clock.now = datetime(2049, 1, 1, tzinfo=UTC)
    assert "authority ends on 2049-12-31" in opened().problems[0]


def test_operators_certificate_is_for_who_asks_by_its_name(opened: Open, theirs: Theirs) -> None:
    certificates = opened(own=theirs.give(["box.example.org"]))
    shown(certificates, "box.example.org", theirs.pem)
    shown(certificates, "172.30.0.1")
    with pytest.raises(ssl.SSLCertVerificationError):
        shown(certificates, "172.30.0.1", theirs.pem)


def test_machine_that_asks_by_address_gets_the_boxs_certificate_whatever_the_operators_is_for(
    opened: Open, theirs: Theirs
) -> None:
    """iPXE sends an address as the name that it asks for, and trusts the box's authority alone."""
    certificates = opened(own=theirs.give(["box.example.org", "172.30.0.1", "fd00::1"]))
    context = certificates.server_context(Door.OPERATOR)
    boxs = certificate_shown(context, None)
    assert certificate_shown(context, b"box.example.org") != boxs
    for address in (b"172.30.0.1", b"fd00::1"):
        assert certificate_shown(context, address) == boxs


async def test_operators_certificate_is_read_again_when_it_was_renewed(
    opened: Open, theirs: Theirs, clock: Clock
) -> None:
    certificates = opened(own=theirs.give(["box.example.org"]))
    clock.now += timedelta(days=390)
    assert ("expires on 2028-01-01" in certificates.warnings[0], certificates.problems) == (True, [])
    theirs.give(["box.example.org"], clock.now)
    await certificates.look()
    assert (certificates.warnings, certificates.problems) == ([], [])
    assert shown(certificates, "box.example.org", theirs.pem).not_valid_after_utc == clock.now + timedelta(days=397)


async def test_half_of_a_renewal_leaves_the_certificate_of_before(opened: Open, theirs: Theirs) -> None:
    certificates = opened(own=theirs.give(["box.example.org"]))
    before = shown(certificates, "box.example.org", theirs.pem)
    key = theirs.files[1].read_bytes()
    theirs.give(["box.example.org"])
    renewed, _ = theirs.files[1].read_bytes(), theirs.files[1].write_bytes(key)
    await certificates.look()
    assert shown(certificates, "box.example.org", theirs.pem) == before
    assert "is not the key of the certificate" in certificates.problems[0]
    theirs.files[1].write_bytes(renewed)
    await certificates.look()
    assert certificates.problems == []
    assert shown(certificates, "box.example.org", theirs.pem) != before


def test_expired_certificate_is_told_and_stops_nothing(opened: Open, theirs: Theirs, clock: Clock) -> None:
    own = theirs.give(["box.example.org"])
    clock.now += timedelta(days=400)
    certificates = opened(own=own)
    assert ("expired on" in certificates.refused[0], certificates.problems) == (True, [])
    shown(certificates, "172.30.0.1")


def test_certificate_that_is_not_valid_yet_is_told(opened: Open, theirs: Theirs, tmp_path: Path) -> None:
    certificate, key = theirs.files
    mine = new_key()
    leaf = signed(theirs.authority, mine.public_key(), ["box.example.org"], NOW)
    later = x509.CertificateBuilder(
        leaf.issuer, leaf.subject, mine.public_key(), 7, NOW + timedelta(days=1), NOW + timedelta(days=90), list(leaf.extensions)
    ).sign(theirs.authority.key, hashes.SHA256())  # fmt: skip
    certificate.write_bytes(later.public_bytes(Encoding.PEM))
    key.write_bytes(pem(mine))
    (found,) = Certificates.examine(tmp_path, theirs.files, NOW).wrong
    assert "is not valid before 2026-12-01 12:00 UTC, and here it is 2026-11-30 12:00" in found
    assert opened(own=theirs.files).refused == [found]


def test_certificate_for_other_names_than_the_boxs_is_told(theirs: Theirs) -> None:
    own = theirs.give(["other.example.org"])
    assert "is for other.example.org, by none of which this box is known" in foreign_names(own, NAMES, "box")
    for names, host in (([*NAMES, "other.example.org"], "box"), (NAMES, "other"), (NAMES, "other.lan")):
        assert foreign_names(own, names, host) == ""
    assert foreign_names(theirs.give(["*.example.org"]), ["a.example.org"], "box") == ""
    assert foreign_names(None, NAMES, "box") == ""


@pytest.mark.parametrize(
    ("chain", "key", "told"),
    [
        (None, "key", "cannot read .*fullchain.pem: No such file"),
        ("leaf", None, "cannot read .*privkey.pem: No such file"),
        ("key", "key", "holds no certificate in PEM: name"),
        (
            "der",
            "key",
            "holds no certificate in PEM: make PEM of it with `openssl x509 -inform der -in .*fullchain.pem -out",
        ),
        ("leaf", "leaf", "holds no private key in PEM"),
        ("leaf", "other", "is not the key of the certificate"),
        ("backwards", "key", "put that one first"),
        ("nameless", "key", "names no host"),
        ("leaf", "locked", "has a passphrase"),
    ],
)
async def test_certificate_that_cannot_be_shown_is_told_with_its_setting_and_keeps_nobody_from_booting(
    opened: Open, theirs: Theirs, chain: str | None, key: str | None, told: str, tmp_path: Path
) -> None:
    mine = new_key()
    leaf = signed(theirs.authority, mine.public_key(), ["box.example.org"], NOW).public_bytes(Encoding.PEM)
    locked = mine.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret"))
    contents = {
        "leaf": leaf,
        "backwards": theirs.pem.encode() + leaf,
        "nameless": self_signed(mine).certificate.public_bytes(Encoding.PEM),
        "key": pem(mine),
        "der": PEM_cert_to_DER_cert(leaf.decode()),
        "other": pem(new_key()),
        "locked": locked,
    }
    for path, name in zip(theirs.files, (chain, key), strict=True):
        if name:
            path.write_bytes(contents[name])
    (found,) = Certificates.examine(tmp_path, theirs.files, NOW).wrong
    assert re.match(rf"tls\.(certificate|key): .*{told}", found)
    certificates = opened(own=theirs.files)
    assert re.match(rf"tls\.(certificate|key): .*{told}.*Until then the box's own is shown", certificates.problems[0])
    shown(certificates, "172.30.0.1")
    theirs.give(["box.example.org"])
    await certificates.look()
    assert certificates.problems == []
    shown(certificates, "box.example.org", theirs.pem)
    shown(certificates, "172.30.0.1")


def test_operators_key_is_of_a_kind_that_browsers_take(opened: Open, theirs: Theirs) -> None:
    certificate, key = theirs.give(["box.example.org"])
    old = dsa.generate_private_key(1024)
    leaf = signed(theirs.authority, old.public_key(), ["box.example.org"], NOW)  # type: ignore[arg-type]
    certificate.write_bytes(leaf.public_bytes(Encoding.PEM))
    key.write_bytes(pem(old))
    assert re.match(
        r"tls\.key: .* is no key of RSA, an elliptic curve or Ed25519", opened(own=(certificate, key)).problems[0]
    )


def test_operators_key_may_be_of_an_elliptic_curve(opened: Open, theirs: Theirs) -> None:
    certificate, key = theirs.give(["box.example.org"])
    curve = ec.generate_private_key(ec.SECP256R1())
    leaf = signed(theirs.authority, curve.public_key(), ["box.example.org"], NOW)  # type: ignore[arg-type]
    certificate.write_bytes(leaf.public_bytes(Encoding.PEM))
    key.write_bytes(pem(curve))
    certificates = opened(own=(certificate, key))
    shown(certificates, "box.example.org", theirs.pem)
    shown(certificates, "172.30.0.1")


def pem(key: object) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())  # type: ignore[attr-defined, no-any-return]


def _folder(path: Path) -> Path:
    path.mkdir(mode=0o700)
    assert os.access(path, os.W_OK)
    return path
