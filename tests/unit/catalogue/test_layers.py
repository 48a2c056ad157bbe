"""The layers of the catalogue, and who may issue a newer one."""

import base64
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.unit.catalogue.test_reading import entry_with
from tinkbox.catalogue.layers import Folders, install, load, newest_issue
from tinkbox.model.errors import Conflict, Invalid, NotFound

ISSUER = Ed25519PrivateKey.from_private_bytes(b"\1" * 32)
FIXED = "{kind: fixed, file: https://x.example/x, version: '1'}"


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    """With an issuer that is trusted here."""
    made = Folders(shared=tmp_path / "etc", own=tmp_path / "home")
    for folder in made.keys:
        folder.mkdir(parents=True)
    public = ISSUER.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    (made.shared / "catalogue.keys").write_text(f"# ours\n\ned25519 {base64.b64encode(public).decode()} the lab\n")
    return made


def issue(serial: int, title: str = "X") -> bytes:
    return f"serial: {serial}\n{entry_with(FIXED)}".replace("title: X", f"title: {title}").encode()


def test_a_newer_issue_takes_the_place_of_the_programs(folders: Folders) -> None:
    content = issue(9)
    assert install(content, base64.b64encode(ISSUER.sign(content)) + b"\n", folders, "new.yaml").serial == 9
    catalogue = load(folders)
    assert (catalogue.serial, list(catalogue.entries)) == (9, ["x"])
    newer = issue(10, "newer")
    install(newer, ISSUER.sign(newer), folders, "newer.yaml")
    assert load(folders).entry("x").title == "newer"


@pytest.mark.parametrize("serial", [0, 1, 9])
def test_an_issue_that_is_not_newer_is_refused(folders: Folders, serial: int) -> None:
    content = issue(9)
    install(content, ISSUER.sign(content), folders, "new.yaml")
    older = issue(serial, "older")
    with pytest.raises(Conflict, match=f"old.yaml has serial {serial}, and serial 9 is here: it is not newer"):
        install(older, ISSUER.sign(older), folders, "old.yaml")
    assert newest_issue(folders).serial == 9


def test_an_issue_that_nobody_trusted_signed_is_refused(folders: Folders) -> None:
    content = issue(9)
    other = Ed25519PrivateKey.from_private_bytes(b"\2" * 32)
    for signature in (other.sign(content), ISSUER.sign(content + b" ")):
        with pytest.raises(Invalid, match=r"new\.yaml is not signed by a key that is trusted here"):
            install(content, signature, folders, "new.yaml")
    for signature in (b"", b"short", b"x" * 5000):
        with pytest.raises(Invalid, match=r"new\.yaml\.sig is no ed25519 signature"):
            install(content, signature, folders, "new.yaml")
    (folders.shared / "catalogue.keys").unlink()
    with pytest.raises(Invalid, match="no key is trusted here: put one into"):
        install(content, ISSUER.sign(content), folders, "new.yaml")


def test_an_issue_that_was_changed_where_it_lies_is_not_used(folders: Folders) -> None:
    content = issue(9)
    install(content, ISSUER.sign(content), folders, "new.yaml")
    (folders.own / "catalogue.yaml").write_bytes(issue(9, "changed"))
    with pytest.raises(Invalid, match="is not signed by a key"):
        load(folders)


@pytest.mark.parametrize("fault", ["interrupted", "no signature", "another issuer", "older"])
def test_an_issue_that_is_not_believed_any_more_can_be_replaced(folders: Folders, fault: str) -> None:
    content, newer = issue(9), issue(10, "newer")
    install(content, ISSUER.sign(content), folders, "new.yaml")
    issuer = ISSUER
    if fault == "interrupted":
        (folders.own / "catalogue.yaml.sig").write_bytes(ISSUER.sign(newer))
    elif fault == "no signature":
        (folders.own / "catalogue.yaml.sig").unlink()
    else:
        issuer = Ed25519PrivateKey.from_private_bytes(b"\2" * 32)
        public = issuer.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        (folders.shared / "catalogue.keys").write_text(f"ed25519 {base64.b64encode(public).decode()}\n")
    with pytest.raises((Invalid, NotFound), match=r"catalogue\.yaml.*: install a newer issue with"):
        load(folders)
    if fault == "older":
        newer = issue(9, "older")
        with pytest.raises(Conflict, match="serial 9 is here"):
            install(newer, issuer.sign(newer), folders, "new.yaml")
        return
    install(newer, issuer.sign(newer), folders, "new.yaml")
    assert load(folders).entry("x").title == "newer"


def test_a_key_file_names_its_wrong_line(folders: Folders) -> None:
    (folders.shared / "catalogue.keys").write_text("# ours\nrsa AAAA\n")
    with pytest.raises(Invalid, match=r"catalogue\.keys, line 2: expected `ed25519`"):
        install(issue(9), b"\0" * 64, folders, "new.yaml")


def test_own_entries_lie_over_all_others(folders: Folders, tmp_path: Path) -> None:
    shared, own = folders.keys
    text = entry_with(FIXED)
    (shared / "a.yaml").write_text(text.replace("x:", "debian-13:", 1))
    assert load(folders).entry("debian-13").layer == str(shared / "a.yaml")
    (own / "a.yaml").write_text(text.replace("x:", "debian-13:", 1).replace("title: X", "title: mine"))
    assert load(folders).entry("debian-13").title == "mine"
    (tmp_path / "given.yaml").write_text(text.replace("x:", "debian-13:", 1).replace("title: X", "title: given"))
    catalogue = load(folders, [tmp_path / "given.yaml"])
    assert catalogue.entry("debian-13").title == "given"
    assert "ubuntu-24.04" in catalogue.entries


def test_problems_name_the_file(folders: Folders) -> None:
    (folders.keys[0] / "bad.yaml").write_text("images: {x: {}}")
    with pytest.raises(Invalid, match=r"the catalogue .*bad\.yaml has \d+ problems"):
        load(folders)
    (folders.keys[0] / "bad.yaml").unlink()
    with pytest.raises(NotFound, match=r"no file .*nothing\.yaml: name a catalogue"):
        load(folders, [Path("nothing.yaml")])
    (folders.keys[0] / "large.yaml").write_bytes(b" " * (2 << 20))
    with pytest.raises(Invalid, match="has more than 1 MiB"):
        load(folders)


def test_an_image_that_is_not_there_is_told_with_the_nearest(folders: Folders) -> None:
    with pytest.raises(NotFound, match=r"the catalogue has no image debain-13; did you mean debian-13\?"):
        load(folders).entry("debain-13")
