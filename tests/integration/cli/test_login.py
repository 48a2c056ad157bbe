"""`tinkbox login`: a box is trusted by its authority, and nothing is sent to another."""

import json
import stat
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from subprocess import PIPE, run

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID

from tests.firm import Firm, fingerprint_of, pem
from tests.integration.cli.person import Person
from tests.integration.cli.serving import run_here
from tests.integration.cli.tls_box import TOKEN, TlsBox, tls_box
from tinkbox.certificates.issuing import new_key, self_signed, signed
from tinkbox.cli.nouns.login import STORY
from tinkbox.client.operator.connection import Connection

LINE = f"{TOKEN}\n".encode()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's own configuration."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("TINKBOX_SERVER", "TINKBOX_TOKEN", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "config/tinkbox/boxes.json"


@pytest.fixture
def box(tmp_path: Path) -> Iterator[TlsBox]:
    with tls_box(tmp_path / "box") as made:
        yield made


def log_in(box: TlsBox) -> None:
    done = run_here("login", box.url, "--fingerprint", box.certificates.fingerprint, stdin=LINE)
    assert done.status == 0, done.err


def test_person_compares_the_fingerprint_types_the_token_and_is_logged_in(
    box: TlsBox, tmp_path: Path, home: Path
) -> None:
    with Person(["login", box.url], {"XDG_CONFIG_HOME": str(tmp_path / "config")}) as anna:
        anna.sees(box.certificates.fingerprint.encode())
        anna.type(b"yes\r")
        anna.sees(b"Token for ")
        assert box.heard == []
        anna.type(f"{TOKEN}\r".encode())
        anna.sees(b"Logged in to ")
        assert anna.ends() == 0
        assert TOKEN.encode() not in anna.seen
    assert stat.S_IMODE(home.stat().st_mode) == 0o600
    assert run_here("osie", "list", "-o", "json").out == "[]\n"
    assert box.heard == [TOKEN, TOKEN]


def test_person_who_says_no_sends_nothing_and_keeps_nothing(box: TlsBox, tmp_path: Path, home: Path) -> None:
    with Person(["login", box.url], {"XDG_CONFIG_HOME": str(tmp_path / "config")}) as anna:
        anna.sees(b"Is it the same?")
        anna.type(b"\r")
        anna.sees(b"you did not say yes")
        assert anna.ends() == 1
    assert box.heard == []
    assert not home.exists()


def test_script_names_the_fingerprint(box: TlsBox) -> None:
    done = run_here("login", box.url, "--fingerprint", box.certificates.fingerprint.lower(), stdin=LINE)
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith(f"Logged in to {box.url}. Commands speak to it from now on")
    assert run_here("login", "--list").out == f"* {box.url}  {box.certificates.fingerprint}\n"


def test_script_without_a_fingerprint_is_refused(box: TlsBox, home: Path) -> None:
    failed = run_here("login", box.url, stdin=LINE)
    assert failed.status == 1
    assert f"nobody is there to say whether {box.certificates.fingerprint}" in failed.err
    assert (box.heard, home.exists()) == ([], False)


def test_other_fingerprint_than_the_named_one_is_refused(box: TlsBox, home: Path) -> None:
    failed = run_here("login", box.url, "--fingerprint", "00" * 32, stdin=LINE)
    assert failed.status == 3
    named, shown = f"SHA256:{':'.join(['00'] * 32)}", box.certificates.fingerprint
    assert (
        f"\n  named: {named}\n  shown: {shown}\n  `tinkbox authority` on the box prints the right one\n" in failed.err
    )
    assert (box.heard, home.exists()) == ([], False)


def test_token_that_is_none_is_not_kept(box: TlsBox, home: Path) -> None:
    failed = run_here("login", box.url, "--fingerprint", box.certificates.fingerprint, stdin=b"guessed\n")
    assert failed.status == 1
    assert "the token is not known here" in failed.err
    assert f"`tinkbox login {box.url}` takes another one" in failed.err
    assert not home.exists()


def test_token_that_may_only_push_is_kept(box: TlsBox, home: Path) -> None:
    done = run_here("login", box.url, "--fingerprint", box.certificates.fingerprint, stdin=b"may-push\n")
    assert done.status == 0
    assert "may-push" in home.read_text()


def test_kept_token_is_used_again_where_none_comes(box: TlsBox) -> None:
    log_in(box)
    assert run_here("login", box.url, stdin=b"").status == 0
    assert run_here("logout").status == 0
    failed = run_here("login", box.url, "--fingerprint", box.certificates.fingerprint, stdin=b"")
    assert (failed.status, "no token came on standard input" in failed.err) == (1, True)


def test_token_of_an_issuer_is_kept_once_the_box_is_trusted(
    box: TlsBox, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def token_by_issuer(connection: Connection) -> str:
        asked.append((connection.url, connection.authority, connection.headers))
        return TOKEN

    monkeypatch.setattr("tinkbox.cli.device_login.token_by_issuer", token_by_issuer)
    assert run_here("login", box.url, "--oidc", "--fingerprint", "00" * 32).status == 3
    assert asked == []
    done = run_here("login", box.url, "--oidc", "--fingerprint", box.certificates.fingerprint)
    assert done.status == 0, done.err
    assert asked == [(box.url, box.certificates.authority_pem, {})]
    assert TOKEN in home.read_text()


def test_changed_authority_is_refused_with_both_fingerprints(box: TlsBox, tmp_path: Path) -> None:
    log_in(box)
    before = box.certificates.fingerprint
    with tls_box(tmp_path / "impostor", names=["127.0.0.1"]) as impostor:
        kept = json.loads((tmp_path / "config/tinkbox/boxes.json").read_text())
        kept["boxes"][impostor.url] = kept["boxes"].pop(box.url)
        kept["current"] = impostor.url
        (tmp_path / "config/tinkbox/boxes.json").write_text(json.dumps(kept))
        for command in (["osie", "list"], ["events", "watch"], ["login", impostor.url]):
            failed = run_here(*command, stdin=LINE)
            assert failed.status == 3
            told = f"\n  accepted: {before}\n  now:      {impostor.certificates.fingerprint}\n"
            assert told in failed.err
            assert f"`tinkbox login {impostor.url} --fingerprint SHA256:" in failed.err
        assert impostor.heard == []
        new = run_here("login", impostor.url, "--fingerprint", impostor.certificates.fingerprint, stdin=LINE)
        assert new.status == 0
        assert run_here("osie", "list").status == 0


def test_variable_uses_what_is_kept_of_its_box(box: TlsBox, monkeypatch: pytest.MonkeyPatch) -> None:
    log_in(box)
    monkeypatch.setenv("TINKBOX_SERVER", box.url.removeprefix("https://"))
    assert run_here("osie", "list").status == 0
    monkeypatch.setenv("TINKBOX_TOKEN", "guessed")
    assert run_here("osie", "list").status == 1
    assert box.heard[-2:] == [TOKEN, "guessed"]


@pytest.mark.parametrize("command", [["osie", "list"], ["events", "watch"]])
def test_unknown_authority_is_refused_and_login_named(
    box: TlsBox, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.setenv("TINKBOX_SERVER", box.url)
    monkeypatch.setenv("TINKBOX_TOKEN", TOKEN)
    failed = run_here(*command)
    assert failed.status == 3
    assert f"`tinkbox login {box.url}` shows the fingerprint of its authority" in failed.err
    assert box.heard == []


def test_authority_printed_by_the_box_serves_scripts_and_curl(
    box: TlsBox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log_in(box)
    printed = run_here("authority")
    assert printed.err == f"{box.certificates.fingerprint}\n"
    ca = tmp_path / "ca.pem"
    ca.write_text(printed.out)
    asked = ["curl", "-sSf", "--cacert", ca, "-H", f"Authorization: Bearer {TOKEN}", f"{box.url}/v1/osie"]
    assert run(asked, stdout=PIPE, check=True).stdout == b"[]"
    assert run_here("logout").status == 0
    monkeypatch.setenv("TINKBOX_SERVER", box.url)
    monkeypatch.setenv("TINKBOX_TOKEN", TOKEN)
    monkeypatch.setenv("SSL_CERT_FILE", str(ca))
    assert run_here("osie", "list", "-o", "json").out == "[]\n"


def test_certificate_that_this_host_trusts_needs_no_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = datetime.now(UTC)
    firm, key = self_signed(new_key()), new_key()
    chain, private, ca = tmp_path / "chain.pem", tmp_path / "key.pem", tmp_path / "firm.pem"
    chain.write_bytes(signed(firm, key.public_key(), ["localhost"], now).public_bytes(Encoding.PEM))
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    ca.write_bytes(firm.certificate.public_bytes(Encoding.PEM))
    monkeypatch.setenv("SSL_CERT_FILE", str(ca))
    with tls_box(tmp_path / "box", own=(chain, private)) as box:
        url = box.url.replace("127.0.0.1", "localhost")
        assert run_here("login", url, stdin=LINE).status == 0
        assert run_here("login", "--list").out == f"* {url}  trusted by this host\n"
        assert run_here("osie", "list").status == 0


@pytest.fixture
def firm(tmp_path: Path) -> Firm:
    return Firm(tmp_path)


def test_each_way_out_that_is_named_for_an_operators_certificate_works(
    firm: Firm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tls_box(tmp_path / "box", own=firm.files([firm.leaf, firm.between])) as box:
        url = box.url.replace("127.0.0.1", "localhost")
        monkeypatch.setenv("TINKBOX_SERVER", url)
        monkeypatch.setenv("TINKBOX_TOKEN", TOKEN)
        asked = run_here("osie", "list")
        assert f"`tinkbox login {url}` shows the fingerprint of its authority" in asked.err
        monkeypatch.delenv("TINKBOX_SERVER")
        monkeypatch.delenv("TINKBOX_TOKEN")
        failed = run_here("login", url, stdin=LINE)
        assert failed.status == 1
        assert f"whether {fingerprint_of(firm.between)}, which {url} shows, is the right authority" in failed.err
        assert (
            "It is none that a box makes: either it signed the operator's certificate (tls.certificate), or this is not the box"
            in failed.err
        )
        assert "have this host trust it" in failed.err
        of_root = run_here("login", url, "--fingerprint", fingerprint_of(firm.root), stdin=LINE)
        assert (of_root.status, "Where you named the authority that signed the one shown" in of_root.err) == (3, True)
        assert box.heard == []
        done = run_here("login", url, "--fingerprint", fingerprint_of(firm.between), stdin=LINE)
        assert done.status == 0, done.err
        assert run_here("osie", "list").status == 0
        assert run_here("logout").status == 0
        root = tmp_path / "root.pem"
        root.write_bytes(firm.root.public_bytes(Encoding.PEM))
        monkeypatch.setenv("SSL_CERT_FILE", str(root))
        assert run_here("login", url, stdin=LINE).status == 0
        assert run_here("osie", "list").status == 0


def test_operators_chain_with_its_root_is_told_as_the_operators(firm: Firm, tmp_path: Path) -> None:
    with tls_box(tmp_path / "box", own=firm.files([firm.leaf, firm.between, firm.root])) as box:
        url = box.url.replace("127.0.0.1", "localhost")
        failed = run_here("login", url, stdin=LINE)
        assert f"whether {fingerprint_of(firm.root)}, which {url} shows, is the right authority" in failed.err
        assert "It is none that a box makes" in failed.err
        assert run_here("login", url, "--fingerprint", fingerprint_of(firm.root), stdin=LINE).status == 0
        assert box.certificates.own == (fingerprint_of(firm.root), frozenset(["localhost"]))


@pytest.mark.parametrize("unneeded", ["behind", "of the same authority", "out of order"])
def test_certificates_that_clients_do_not_need_keep_no_person_out(
    firm: Firm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unneeded: str
) -> None:
    expired = firm.other_between(timedelta(-300), timedelta(hours=1))
    chain = {
        "behind": [firm.leaf, firm.between, firm.root, firm.sibling()],
        "of the same authority": [firm.leaf, expired, firm.between, firm.root],
        "out of order": [firm.leaf, firm.root, firm.between],
    }[unneeded]
    root = tmp_path / "root.pem"
    root.write_bytes(pem(firm.root))
    with tls_box(tmp_path / "box", own=firm.files(chain)) as box:
        url = box.url.replace("127.0.0.1", "localhost")
        asked = ["curl", "-sSf", "--cacert", root, "-H", f"Authorization: Bearer {TOKEN}", f"{url}/v1/osie"]
        assert run(asked, stdout=PIPE, check=True).stdout == b"[]"
        failed = run_here("login", url, stdin=LINE)
        assert f"whether {fingerprint_of(firm.root)}, which {url} shows, is the right authority" in failed.err
        assert box.certificates.own == (fingerprint_of(firm.root), frozenset(["localhost"]))
        for named in (firm.root, firm.between):
            assert run_here("login", url, "--fingerprint", fingerprint_of(named), stdin=LINE).status == 0
            assert run_here("osie", "list").status == 0
        assert run_here("logout").status == 0
        monkeypatch.setenv("SSL_CERT_FILE", str(root))
        assert run_here("login", url, stdin=LINE).status == 0
        assert run_here("login", "--list").out == f"* {url}  trusted by this host\n"


def test_authority_of_a_stranger_behind_a_certificate_that_this_host_trusts_asks_for_nothing(
    firm: Firm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, stranger = tmp_path / "root.pem", self_signed(new_key()).certificate
    root.write_bytes(pem(firm.root))
    monkeypatch.setenv("SSL_CERT_FILE", str(root))
    with tls_box(tmp_path / "box", own=firm.files([firm.of_root(), stranger])) as box:
        done = run_here("login", box.url.replace("127.0.0.1", "localhost"), stdin=LINE)
    assert (done.status, done.err) == (0, "")


def test_certificate_alone_is_not_called_an_authority(firm: Firm, tmp_path: Path) -> None:
    with tls_box(tmp_path / "box", own=firm.files([firm.leaf])) as box:
        url, alone = box.url.replace("127.0.0.1", "localhost"), fingerprint_of(firm.leaf)
        failed = run_here("login", url, stdin=LINE)
        assert f"whether {alone}, which {url} shows, is the right certificate: compare" in failed.err
        assert (
            "It is no authority, but a certificate itself: either the operator's (tls.certificate), or this is not the box. After each renewal"
            in failed.err
        )
        assert run_here("login", url, "--fingerprint", alone, stdin=LINE).status == 0
        assert run_here("osie", "list").status == 0
        assert run_here("login", "--list").out == f"* {url}  {alone}  (its certificate itself, until that is renewed)\n"
    renewed = Firm(tmp_path)
    port = int(url.rpartition(":")[2])
    with tls_box(tmp_path / "box", port, own=renewed.files([renewed.leaf])) as box:
        failed = run_here("login", url, stdin=LINE)
        assert f"{url} shows another certificate than the one that you accepted" in failed.err
        assert "You accepted a certificate itself, which is another one after each renewal" in failed.err
        assert box.heard == []


def test_box_that_shows_an_operators_certificate_since_is_logged_in_to_once_its_fingerprint_is_confirmed(
    firm: Firm, tmp_path: Path, home: Path
) -> None:
    own, ours, root = firm.files([firm.leaf, firm.between, firm.root]), tmp_path / "root.pem", fingerprint_of(firm.root)
    ours.write_bytes(pem(firm.root))
    with tls_box(tmp_path / "box") as box:
        url, boxs, port = (
            box.url.replace("127.0.0.1", "localhost"),
            box.certificates.fingerprint,
            box.url.rpartition(":")[2],
        )
        assert run_here("login", url, "--fingerprint", boxs, stdin=LINE).status == 0
    before = home.read_text()
    with tls_box(tmp_path / "box", int(port), own=own) as box:
        for command in (["osie", "list"], ["login", url]):
            failed = run_here(*command, stdin=LINE)
            assert (failed.status, f"\n  accepted: {boxs}\n  now:      {root}\n" in failed.err) == (3, True)
            assert "the operator may have set tls.certificate since, for the name by which you ask" in failed.err
            assert f"`tinkbox login {url} --fingerprint {root}` keeps the new one" in failed.err
        with Person(["login", url], {"XDG_CONFIG_HOME": str(tmp_path / "config")}) as anna:
            anna.sees(f"now:      {root}".encode())
            anna.sees(b"Is it the same?")
            anna.type(b"\r")
            anna.sees(b"what was kept stays")
            assert anna.ends() == 1
        assert (box.heard, home.read_text()) == ([], before)
        for environment, trust in (({}, root), ({"SSL_CERT_FILE": str(ours)}, "trusted by this host")):
            home.write_text(before)
            with Person(["login", url], {"XDG_CONFIG_HOME": str(tmp_path / "config"), **environment}) as anna:
                anna.sees(f"accepted: {boxs}".encode())
                anna.sees(b"Is it the same?")
                anna.type(b"yes\r")
                anna.sees(b"(empty: the one that is kept)")
                anna.type(b"\r")
                anna.sees(b"Logged in to ")
                assert anna.ends() == 0
            assert run_here("login", "--list").out == f"* {url}  {trust}\n"


@pytest.mark.parametrize("since", ["the box's own", "another authority's"])
def test_box_that_this_host_trusted_and_does_not_any_more_is_told_as_changed(
    firm: Firm, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, since: str
) -> None:
    root = tmp_path / "root.pem"
    root.write_bytes(pem(firm.root))
    monkeypatch.setenv("SSL_CERT_FILE", str(root))
    with tls_box(tmp_path / "box", own=firm.files([firm.leaf, firm.between])) as box:
        url, port = box.url.replace("127.0.0.1", "localhost"), int(box.url.rpartition(":")[2])
        assert run_here("login", url, stdin=LINE).status == 0
    before, other = home.read_text(), Firm(tmp_path)
    own = None if since == "the box's own" else other.files([other.leaf, other.between, other.root])
    with tls_box(tmp_path / "box", port, own=own) as box:
        now = box.certificates.fingerprint if own is None else fingerprint_of(other.root)
        for command in (["osie", "list"], ["events", "watch"], ["login", url]):
            failed = run_here(*command, stdin=LINE)
            assert failed.status == 3
            assert (
                "shows an authority that this host does not trust. When you logged in, this host trusted" in failed.err
            )
            assert "so somebody may be between you and the box. Nothing was sent." in failed.err
            assert f"\n  accepted: a box trusted by this host\n  now:      {now}\n" in failed.err
            assert f"`tinkbox login {url} --fingerprint {now}` keeps the new one" in failed.err
            told = "tls.certificate may have been taken out" if own is None else "renewed by another authority"
            assert told in failed.err
        with Person(["login", url], {"XDG_CONFIG_HOME": str(tmp_path / "config"), "SSL_CERT_FILE": str(root)}) as anna:
            anna.sees(b"accepted: a box trusted by this host")
            anna.sees(f"now:      {now}".encode())
            anna.sees(b"Is it the same?")
            anna.type(b"\r")
            anna.sees(b"what was kept stays")
            assert anna.ends() == 1
        assert (box.heard, home.read_text()) == ([], before)
        assert run_here("login", url, "--fingerprint", now, stdin=b"").status == 0
        assert run_here("login", "--list").out == f"* {url}  {now}\n"


@pytest.mark.parametrize("appended", [False, True])
def test_impostor_of_a_box_that_this_host_trusted_is_told_by_its_own_certificate(
    firm: Firm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, appended: bool
) -> None:
    root = tmp_path / "root.pem"
    root.write_bytes(pem(firm.root))
    monkeypatch.setenv("SSL_CERT_FILE", str(root))
    with tls_box(tmp_path / "box", own=firm.files([firm.leaf, firm.between])) as box:
        url, port = box.url.replace("127.0.0.1", "localhost"), int(box.url.rpartition(":")[2])
        assert run_here("login", url, stdin=LINE).status == 0
    other = Firm(tmp_path)
    forged = other.leaf_as_of(firm.root)
    with tls_box(tmp_path / "box", port, forged=other.files([forged, firm.root][: 1 + appended])) as box:
        failed = run_here("osie", "list")
        assert (failed.status, box.heard) == (3, [])
    assert "shows a certificate that this host does not trust. When you logged in" in failed.err
    assert "so somebody may be between you and the box. Nothing was sent.\n  accepted: " in failed.err
    assert f"  now:      {fingerprint_of(forged)}\n" in failed.err


def test_box_that_this_host_trusted_and_whose_certificate_expired_is_told_so(
    firm: Firm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "root.pem"
    root.write_bytes(pem(firm.root))
    monkeypatch.setenv("SSL_CERT_FILE", str(root))
    with tls_box(tmp_path / "box", own=firm.files([firm.leaf, firm.between])) as box:
        url, port = box.url.replace("127.0.0.1", "localhost"), int(box.url.rpartition(":")[2])
        assert run_here("login", url, stdin=LINE).status == 0
    expired = firm.other_between(timedelta(-300), timedelta(hours=1))
    with tls_box(tmp_path / "box", port, own=firm.files([firm.leaf, expired])):
        failed = run_here("login", url, stdin=LINE)
    assert failed.status == 3
    assert "(certificate has expired): the authority Firm R10 behind the box's certificate ended on " in failed.err


def test_operators_chain_that_does_not_hold_together_is_told(firm: Firm, tmp_path: Path) -> None:
    with tls_box(tmp_path / "box", own=firm.files([firm.leaf, firm.root])) as box:
        url = box.url.replace("127.0.0.1", "localhost")
        failed = run_here("login", url, "--fingerprint", fingerprint_of(firm.root), stdin=LINE)
        assert failed.status == 3
        assert f"\n  shown:          {fingerprint_of(firm.leaf)}\n" in failed.err
        assert "It shows the first as well, but that one did not sign the second." in failed.err
        assert "the file of tls.certificate in its tinkbox.yaml is wrong" in failed.err
        assert box.certificates.own == (fingerprint_of(firm.leaf), frozenset(["localhost"])), "which the box prints"
        assert "tinkbox login" not in failed.err


@pytest.mark.parametrize("shown", ["signed by none", "its own", "by name", "as if signed", "namesake", "other host"])
def test_impostor_that_shows_the_kept_authority_as_well_is_told_with_both_fingerprints(
    firm: Firm, tmp_path: Path, shown: str
) -> None:
    with tls_box(tmp_path / "box") as box:
        url, boxs, port = box.url.replace("127.0.0.1", "localhost"), box.certificates.fingerprint, box.url[-5:]
        assert run_here("login", url, "--fingerprint", boxs, stdin=LINE).status == 0
        authority = x509.load_pem_x509_certificate(box.certificates.authority_pem.encode())
    chain = {
        "signed by none": [firm.self_signed()],
        "its own": [firm.leaf, firm.between, firm.root],
        "by name": [firm.leaf_of(authority)],
        "as if signed": [firm.leaf_as_of(authority)],
        "namesake": [firm.leaf_of(authority), firm.namesake(authority)],
        "other host": [firm.leaf_as_of(authority, "other.example")],
    }[shown]
    end = firm.root if shown == "its own" else chain[0]
    with tls_box(tmp_path / "impostor", int(port), forged=firm.files([*chain, authority])) as box:
        for command in (["osie", "list"], ["events", "watch"], ["login", url], ["login", url, "--fingerprint", boxs]):
            failed = run_here(*command, stdin=LINE)
            assert failed.status == 3
            assert "so somebody may be between you and the box. Nothing was sent." in failed.err
            leads = "leads to:       " if end != chain[0] else "shown:          "
            assert f"\n  has to lead to: {boxs}\n  {leads}{fingerprint_of(end)}\n" in failed.err
            assert max(map(len, failed.err.splitlines())) < 220, "a line for each thing that is said"
            assert "Only if that prints" in failed.err
            assert "the file of tls.certificate in its tinkbox.yaml is wrong" in failed.err
            assert "--fingerprint" not in failed.err
        assert box.heard == []


def test_chain_that_is_refused_for_an_authority_that_may_not_sign_is_told_with_both_reasons(
    firm: Firm, tmp_path: Path
) -> None:
    """As the certificate of a server, which is public, in the place of an authority's."""
    no_authority = firm.odd_between(basic=x509.BasicConstraints(ca=False, path_length=None))
    with tls_box(tmp_path / "box", own=firm.files([firm.leaf, no_authority, firm.root])) as box:
        url = box.url.replace("127.0.0.1", "localhost")
        failed = run_here("login", url, "--fingerprint", fingerprint_of(firm.root), stdin=LINE)
        assert (failed.status, box.heard) == (3, [])
    assert "so somebody may be between you and the box. Nothing was sent." in failed.err
    fingerprints = f"\n  has to lead to: {fingerprint_of(firm.root)}\n  shown:          {fingerprint_of(firm.leaf)}\n"
    assert fingerprints in failed.err
    assert "It shows the first as well, but its chain is refused (invalid CA certificate).\n" in failed.err
    assert "\n  `tinkbox serve --check` on the box tells" in failed.err


@pytest.mark.parametrize("odd", ["authority", "extension"])
@pytest.mark.parametrize("logged_in", [False, True])
def test_chain_to_a_trusted_authority_that_every_client_refuses_is_told_with_where_to_look(
    firm: Firm, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, odd: str, logged_in: bool
) -> None:
    root = tmp_path / "root.pem"
    root.write_bytes(pem(firm.root))
    monkeypatch.setenv("SSL_CERT_FILE", str(root))
    with tls_box(tmp_path / "box", own=firm.files([firm.leaf, firm.between])) as box:
        url, port = box.url.replace("127.0.0.1", "localhost"), int(box.url.rpartition(":")[2])
        if logged_in:
            assert run_here("login", url, stdin=LINE).status == 0
        else:
            monkeypatch.setenv("TINKBOX_SERVER", url)
            monkeypatch.setenv("TINKBOX_TOKEN", TOKEN)
    strange = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3.4.5"), b"\x05\x00")
    chain = {
        "authority": [firm.leaf, firm.odd_between(has_basic=False), firm.root],
        "extension": [firm.strange_leaf(strange), firm.between, firm.root],
    }[odd]
    why = {"authority": "invalid CA certificate", "extension": "unhandled critical extension"}[odd]
    with tls_box(tmp_path / "box", port, own=firm.files(chain)) as box:
        for command in (["osie", "list"], ["events", "watch"], ["login", url]):
            failed = run_here(*command, stdin=LINE)
            assert failed.status == 3
            assert (
                f"shows a certificate that is not valid ({why}), though it leads by name to an authority" in failed.err
            )
            assert "somebody may be between you and the box. Nothing was sent" in failed.err
            assert "`tinkbox serve --check` there" in failed.err
            assert ("tinkbox login" in failed.err, "--fingerprint" in failed.err) == (False, False)
        failed = run_here("login", url, "--fingerprint", fingerprint_of(firm.root), stdin=LINE)
        assert f"but its chain is refused ({why})" in failed.err
        assert "`tinkbox serve --check` on the box tells" in failed.err
        assert box.heard == []


def test_name_that_an_authority_may_not_sign_is_told(firm: Firm, tmp_path: Path) -> None:
    limited = firm.odd_between(constraints=x509.NameConstraints([x509.DNSName("firm.example")], None))
    with tls_box(tmp_path / "box", own=firm.files([firm.leaf, limited, firm.root])) as box:
        url = box.url.replace("127.0.0.1", "localhost")
        failed = run_here("login", url, "--fingerprint", fingerprint_of(firm.root), stdin=LINE)
    assert failed.status == 3
    assert "(permitted subtree violation): an authority behind the box's certificate may not sign for one" in failed.err


def test_authority_in_between_that_expired_is_not_told_as_the_end_of_the_boxs_certificate(
    firm: Firm, tmp_path: Path
) -> None:
    expired = firm.other_between(timedelta(-300), timedelta(hours=1))
    with tls_box(tmp_path / "box", own=firm.files([firm.leaf, expired, firm.root])) as box:
        url = box.url.replace("127.0.0.1", "localhost")
        failed = run_here("login", url, "--fingerprint", fingerprint_of(firm.root), stdin=LINE)
    assert failed.status == 3
    assert "(certificate has expired): the authority Firm R10 behind the box's certificate ended on " in failed.err
    assert "put the current certificate of that authority into the file of tls.certificate" in failed.err


def test_certificate_for_clients_alone_is_told_with_its_purpose(firm: Firm, tmp_path: Path) -> None:
    leaf = firm.leaf_for(ExtendedKeyUsageOID.CLIENT_AUTH)
    with tls_box(tmp_path / "box", own=firm.files([leaf, firm.between, firm.root])) as box:
        url = box.url.replace("127.0.0.1", "localhost")
        failed = run_here("login", url, "--fingerprint", fingerprint_of(firm.root), stdin=LINE)
    assert failed.status == 3
    assert "is for another purpose, as for clients alone (its extended key usage lacks serverAuth)" in failed.err
    assert "has to stand first" not in failed.err


def test_line_of_the_help_works(box: TlsBox) -> None:
    assert "tinkbox login box --fingerprint SHA256:... < token" in STORY
    assert run_here("login", box.url, "--fingerprint", box.certificates.fingerprint, stdin=LINE).status == 0


def test_port_without_tls_is_told_with_what_to_write(tmp_path: Path) -> None:
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as plain:
        thread = threading.Thread(target=plain.handle_request)
        thread.start()
        failed = run_here("login", f"https://127.0.0.1:{plain.server_port}", stdin=LINE)
        thread.join()
    assert failed.status == 3
    assert "does not speak TLS" in failed.err
    assert "operator.listen of the box's tinkbox.yaml" in failed.err


def test_name_that_the_certificate_lacks_is_told(tmp_path: Path) -> None:
    with tls_box(tmp_path / "box", names=["provisioner", "172.30.0.1"]) as box:
        failed = run_here("login", box.url, "--fingerprint", box.certificates.fingerprint, stdin=LINE)
    assert failed.status == 3
    assert "IP address mismatch" in failed.err
    assert "tls.names" in failed.err


def test_logout_forgets_the_box(box: TlsBox, home: Path) -> None:
    log_in(box)
    assert run_here("logout").out.startswith(f"Logged out of {box.url}.")
    assert TOKEN not in home.read_text()
    failed = run_here("logout")
    assert (failed.status, "you are logged in to no box" in failed.err) == (1, True)


def test_box_that_is_away_is_told_with_logout(tmp_path: Path) -> None:
    with tls_box(tmp_path / "box") as box:
        log_in(box)
    failed = run_here("osie", "list")
    assert failed.status == 3
    assert f"no appliance answers at {box.url}" in failed.err
    assert "`tinkbox logout`" in failed.err
    failed = run_here("login", box.url, stdin=LINE)
    assert (failed.status, "no box answers at" in failed.err) == (3, True)


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("http://127.0.0.1:7080", "is not encrypted"),
        ("unix:///operator.sock", "is not encrypted|names no box"),
        ("https://", "names no box"),
        ("a b", "names no box"),
        ("https://anna:secret@box", "the URL has a user in it"),
        ("box:70800", "names no box"),
    ],
)
def test_what_is_no_box_is_refused(typed: str, told: str) -> None:
    failed = run_here("login", typed, stdin=LINE)
    assert failed.status == 1
    assert any(each in failed.err for each in told.split("|")), failed.err


@pytest.mark.parametrize("command", [["hardware", "list"], ["events", "watch"], ["image", "delete", "--yes", "x"]])
def test_commands_refuse_in_the_words_of_login_to_show_a_token_to_the_network(
    command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = "http://192.0.2.1:7080"
    monkeypatch.setenv("TINKBOX_SERVER", url)
    monkeypatch.setenv("TINKBOX_TOKEN", TOKEN)
    words = (
        f"'{url}' is not encrypted, and no token or secret may cross the network so: write https:// instead of http://"
    )
    for typed in (command, ["login", url]):
        failed = run_here(*typed, stdin=LINE)
        assert (failed.status, failed.err.startswith(f"tinkbox: {words}")) == (1, True), failed.err


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"current": 1, "boxes": {}}', '{"current": "", "boxes": {"x": 1}}'])
def test_damaged_file_of_boxes_is_told(home: Path, damage: str) -> None:
    home.parent.mkdir(parents=True)
    home.write_text(damage)
    failed = run_here("osie", "list")
    assert failed.status == 1
    assert f"{home} is damaged: delete it" in failed.err
