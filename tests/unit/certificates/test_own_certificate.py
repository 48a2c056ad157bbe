"""What is said of the operator's certificate: which of a file is the server's, whose key there is, and who signed what."""

import re
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Network
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from tests.firm import Firm, fingerprint_of, pem, with_extension_twice
from tinkbox.certificates import Certificates
from tinkbox.certificates.own_certificate import read_own
from tinkbox.host_users import user_name
from tinkbox.model.errors import Unavailable

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.fixture
def firm(tmp_path: Path) -> Firm:
    return Firm(tmp_path, NOW)


@pytest.mark.parametrize(
    ("chain", "key", "told"),
    [
        (
            ["between", "leaf"],
            "leaf",
            r"begins with CN=Firm R10, and .* certificate 2 in it, CN=box: put that one first",
        ),
        (
            ["root", "between", "leaf"],
            "leaf",
            r"begins with CN=Firm Root, and .* certificate 3 in it, CN=box: put that",
        ),
        (
            ["leaf", "between"],
            "between",
            r"tls\.key: .* certificate 2 in .*, CN=Firm R10, which is an authority's: name the key of .*, CN=box, in tls\.key$",
        ),
        (
            ["root", "leaf", "between"],
            "between",
            r"certificate 3 in .*, CN=Firm R10, which is an authority's: .*, CN=box, in tls\.key, and put that certificate first$",
        ),
        (
            ["between", "leaf"],
            "between",
            r"begins with CN=Firm R10, which is an authority's, and .*key.pem is the key of that: .*, and put that certificate first$",
        ),
        (["root"], "root", "names no host"),
        (["leaf", "between"], "root", "is not the key of the certificate"),
    ],
)
def test_key_that_is_not_the_first_certificates_is_told_with_the_one_that_it_fits(
    firm: Firm, chain: list[str], key: str, told: str
) -> None:
    files = firm.files([getattr(firm, each) for each in chain], getattr(firm, f"{key}_key"))
    with pytest.raises(Unavailable, match=told):
        read_own(*files)


@pytest.mark.parametrize(
    ("life", "before"),
    [
        (timedelta(days=397), timedelta(days=14)),
        (timedelta(days=90), timedelta(days=14)),
        (timedelta(days=6), timedelta(hours=36)),
        (timedelta(days=1), timedelta(hours=6)),
    ],
)
def test_certificate_is_told_to_end_once_what_renews_it_is_late(
    tmp_path: Path, life: timedelta, before: timedelta
) -> None:
    firm = Firm(tmp_path, NOW, life)
    found = read_own(*firm.files([firm.leaf, firm.between, firm.root]))
    assert found.warnings(found.ends - before) == []
    (told,) = found.warnings(found.ends - before + timedelta(seconds=1))
    assert f"expires on {found.ends:%Y-%m-%d %H:%M} UTC: renew it" in told


def test_certificate_that_ends_soon_is_no_error(firm: Firm) -> None:
    own = firm.files([firm.leaf, firm.between, firm.root])
    ends = firm.leaf.not_valid_after_utc
    for before, told in ((timedelta(days=20), (0, 0)), (timedelta(days=7), (0, 1)), (timedelta(0), (1, 0))):
        found = Certificates.examine(firm.folder, own, ends - before)
        assert (len(found.wrong), len(found.warnings)) == told


@pytest.fixture
def trusts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Has this host trust these certificates alone."""

    def trust(*certificates: x509.Certificate) -> None:
        file = tmp_path / "trusted.pem"
        file.write_bytes(b"".join(map(pem, certificates)))
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
        monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path / "none"))

    return trust


def warnings(firm: Firm, *chain: x509.Certificate) -> list[str]:
    return read_own(*firm.files(chain)).warnings(NOW)


def test_certificate_alone_whose_signer_this_host_does_not_know_is_told_with_what_to_append(
    firm: Firm, trusts: Callable[..., None]
) -> None:
    trusts(firm.root)
    (told,) = warnings(firm, firm.leaf)
    path = firm.folder / "chain.pem"
    assert told.startswith(f"tls.certificate: {path} holds the certificate of CN=box alone. CN=Firm R10 signed it")
    assert "clients that trust only the root refuse the box: append the certificate of CN=Firm R10 with" in told
    assert f"`cat {path} intermediate.pem > fullchain.pem`" in told


def test_place_where_a_certificate_says_that_its_signers_is_to_be_had_is_told(
    tmp_path: Path, trusts: Callable[..., None]
) -> None:
    trusts()
    firm = Firm(tmp_path, NOW, issuer_at="http://pki.firm.example/r10.crt")
    (told,) = warnings(firm, firm.leaf)
    assert told.rpartition(": ")[2].startswith(
        "append the certificate of CN=Firm R10 (it is to be had at http://pki.firm.example/r10.crt, in DER; `openssl x509 -inform der"
    ), "the way out, whole"


def test_chains_that_clients_can_follow_are_told_nothing_of(firm: Firm, trusts: Callable[..., None]) -> None:
    trusts()
    for chain in (
        [firm.leaf, firm.between],
        [firm.leaf, firm.between, firm.root],
        [firm.self_signed()],
        [firm.of_root(), firm.root],
    ):
        assert warnings(firm, *chain) == []
    trusts(firm.root)
    assert warnings(firm, firm.of_root()) == []


@pytest.mark.parametrize(
    ("chain", "told"),
    [
        (["leaf", "root"], "certificate 2, CN=Firm Root, did not sign .* CN=box, so clients .*: put the certificate of CN=Firm R10 between"),
        (["leaf", "root", "between"], "certificate 2, CN=Firm Root, did not sign .*, CN=box, and some .* order: put certificate 3, CN=Firm R10, directly"),
        (["leaf", "between", "root", "leaf"], "certificate 4, CN=box, is certificate 1 once more: take out certificate 4$"),
    ],
)  # fmt: skip
def test_certificates_of_which_one_did_not_sign_the_one_before_are_told(
    firm: Firm, trusts: Callable[..., None], chain: list[str], told: str
) -> None:
    trusts()
    (found,) = warnings(firm, *(getattr(firm, each) for each in chain))
    assert re.search(told, found), found


def test_certificate_too_many_at_the_end_is_told_to_be_taken_out(firm: Firm, trusts: Callable[..., None]) -> None:
    trusts()
    extra = firm.sibling()
    (told,) = warnings(firm, firm.leaf, firm.between, extra)
    assert (
        "certificate 3, CN=Firm R11, did not sign the one before it, CN=Firm R10: take out certificate 3, unless"
        in told
    )
    (told,) = warnings(firm, firm.leaf, firm.between, firm.between)
    assert told.endswith("certificate 3, CN=Firm R10, is certificate 2 once more: take out certificate 3")
    trusts(firm.root)
    for chain in ([firm.leaf, firm.between, extra], [firm.of_root(), extra]):
        (told,) = warnings(firm, *chain)
        assert told.endswith(
            f"nor has to: this host trusts CN=Firm Root, which did. Take out certificate {len(chain)}"
        ), told


@pytest.mark.parametrize(
    ("begins", "ends", "told"),
    [
        (timedelta(-300), timedelta(hours=1), "expired on 2026-11-29, so clients refuse the box: get the current certificate of CN=Firm R10"),
        (timedelta(days=2), timedelta(days=300), "is not valid before 2026-12-01 12:00 UTC, and here it is 2026-11-30 12:00, so .*`date -u`"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("is_in_order", [True, False])
def test_authority_in_between_that_is_not_valid_now_is_an_error(
    firm: Firm, trusts: Callable[..., None], begins: timedelta, ends: timedelta, told: str, is_in_order: bool
) -> None:
    trusts(firm.root)
    behind = [firm.other_between(begins, ends), firm.root][:: 1 if is_in_order else -1]
    found, at = read_own(*firm.files([firm.leaf, *behind])).problem(NOW), 2 if is_in_order else 3
    assert re.search(f"chain.pem certificate {at}, CN=Firm R10, which signed CN=box, {told}", found), found
    assert f"and put it in the place of certificate {at}." in found


def test_authority_in_between_that_expired_is_no_error_where_clients_need_another(
    firm: Firm, trusts: Callable[..., None]
) -> None:
    expired = firm.other_between(timedelta(-300), timedelta(hours=1))
    trusts(firm.between)
    assert read_own(*firm.files([firm.leaf, expired])).problem(NOW) == ""
    trusts()
    assert read_own(*firm.files([firm.leaf, expired, firm.between])).problem(NOW) == ""
    assert read_own(*firm.files([firm.of_root(), firm.root, expired])).problem(NOW) == ""


@pytest.mark.parametrize(
    ("begins", "ends", "told"),
    [
        (-300, 0, "CN=Firm R10, expired on 2026-11-29, so clients that use GnuTLS, such as wget, refuse the box. It is not needed, for certificate"),
        (3, 300, "CN=Firm R10, is not valid before 2026-12-02, so clients that use GnuTLS, such as wget, refuse the box. It is not needed, for"),
        (0, 60, "CN=Firm R10, ends on 2027-01-28. It is not needed, for certificate 3 has the same name and key, and ends on 2027-02-27: take out"),
    ],
)  # fmt: skip
def test_certificate_beside_a_better_one_of_the_same_authority_is_named_until_it_is_taken_out(
    firm: Firm, trusts: Callable[..., None], begins: int, ends: int, told: str
) -> None:
    trusts()
    other = firm.other_between(timedelta(days=begins), timedelta(days=ends))
    before = read_own(*firm.files([firm.leaf, other, firm.between, firm.root]))
    assert before.problem(NOW) == ""
    (found,) = before.warnings(NOW)
    assert f"in {before.path} certificate 2, {told}" in found
    assert found.rpartition(": ")[2] == "take out certificate 2"
    (found,) = warnings(firm, firm.leaf, firm.between, other, firm.root)
    assert found.rpartition(": ")[2] == "take out certificate 3"
    assert "refuse" not in found, "no client takes it before the good one"
    assert warnings(firm, firm.leaf, firm.between, firm.root) == []


def test_root_that_expired_is_a_warning_as_clients_may_have_a_newer_one(
    firm: Firm, trusts: Callable[..., None]
) -> None:
    trusts()
    expired = firm.other_root(timedelta(-300), timedelta(hours=1))
    found = read_own(*firm.files([firm.leaf, firm.between, expired]))
    assert found.problem(NOW) == ""
    (told,) = found.warnings(NOW)
    assert (
        "certificate 3, CN=Firm Root, which is a root, expired on 2026-11-29, so clients refuse the box, unless" in told
    )
    assert "put it in the place of certificate 3" in told
    (told,) = warnings(firm, firm.leaf, firm.between, expired, firm.root)
    assert told.endswith("take out certificate 3")


def test_authority_that_people_compare_is_the_one_to_which_the_chain_leads(
    firm: Firm, trusts: Callable[..., None]
) -> None:
    trusts(firm.root)
    expired = firm.other_between(timedelta(-300), timedelta(hours=1))
    for chain, end in (
        ([firm.leaf], firm.leaf),
        ([firm.leaf, firm.between], firm.between),
        ([firm.leaf, firm.between, firm.root, firm.sibling()], firm.root),
        ([firm.leaf, firm.root, firm.between], firm.root),
        ([firm.leaf, expired, firm.between], firm.between),
    ):
        assert read_own(*firm.files(chain)).authority(NOW) == fingerprint_of(end)


def test_authority_in_between_that_ends_before_the_servers_certificate_is_told_in_time(
    firm: Firm, trusts: Callable[..., None]
) -> None:
    trusts(firm.root)
    soon = firm.other_between(timedelta(-300), timedelta(days=8))
    (told,) = warnings(firm, firm.leaf, soon)
    assert "CN=Firm R10, which signed CN=box, expires on 2026-12-07 12:00 UTC, and clients refuse" in told
    assert warnings(firm, firm.leaf, firm.other_between(timedelta(-300), timedelta(days=40))) == []


@pytest.mark.parametrize(
    ("purposes", "told"),
    [
        ([ExtendedKeyUsageOID.CLIENT_AUTH], "its extended key usage is clientAuth, and lacks serverAuth"),
        ([ExtendedKeyUsageOID.CLIENT_AUTH, x509.ObjectIdentifier("1.2.3")], "clientAuth, 1.2.3, and lacks serverAuth"),
        ([ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH], ""),
    ],
)
def test_certificate_that_is_not_for_servers_is_an_error(
    firm: Firm, trusts: Callable[..., None], purposes: list[x509.ObjectIdentifier], told: str
) -> None:
    trusts(firm.root)
    between = firm.other_between(timedelta(), timedelta(days=300), *purposes)
    for chain, which in (
        ([firm.leaf_for(*purposes), firm.between], "begins with CN=box, which is not for servers"),
        ([firm.leaf, between], "certificate 2, CN=Firm R10, which signed CN=box, is not for servers"),
    ):
        found = read_own(*firm.files(chain)).problem(NOW)
        assert (told in found, which in found, bool(found)) == (True, bool(told), bool(told))


def key_usage(*allowed: str) -> x509.KeyUsage:
    """One that allows this alone."""
    names = ("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "key_cert_sign", "crl_sign", "encipher_only", "decipher_only")  # fmt: skip
    return x509.KeyUsage(**{each: each in allowed for each in names})


@pytest.mark.parametrize(
    ("allowed", "told"),
    [
        (["key_cert_sign"], True),
        (["key_cert_sign", "crl_sign", "content_commitment", "data_encipherment"], True),
        (["key_cert_sign", "digital_signature"], False),
        (["key_encipherment"], False),
        (["key_agreement"], False),
    ],
)
def test_certificate_whose_key_may_do_nothing_of_a_handshake_is_an_error_where_openssl_refuses_it(
    firm: Firm, trusts: Callable[..., None], tmp_path: Path, allowed: list[str], told: bool
) -> None:
    trusts(firm.root)
    leaf = firm.strange_leaf(key_usage(*allowed))
    chain, key = firm.files([leaf, firm.between])
    found = read_own(chain, key).problem(NOW)
    says = "begins with CN=box, which is not for servers, so clients refuse the box: its key usage lacks digitalSignature. Have"
    assert (says in found, bool(found)) == (told, told)
    (tmp_path / "root.pem").write_bytes(pem(firm.root))
    verified = subprocess.run(
        ["openssl", "verify", "-purpose", "sslserver", "-no_check_time", "-CAfile", str(tmp_path / "root.pem"), "-untrusted", str(chain), str(chain)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (verified.returncode != 0, "certificate purpose" in verified.stderr) == (told, told), verified


def test_certificate_that_names_no_host_is_refused_with_who_goes_by_its_names_alone(tmp_path: Path) -> None:
    chain, key = tmp_path / "chain.pem", tmp_path / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=box.lab.example",
         "-addext", "basicConstraints=critical,CA:FALSE", "-keyout", str(key), "-out", str(chain)],
        capture_output=True, check=True,
    )  # fmt: skip
    with pytest.raises(
        Unavailable, match=r"its common name counts for no browser, nor for Go and this box \(RFC 9525\): have one made"
    ):
        read_own(chain, key)


NOT_CA = {"basic": x509.BasicConstraints(ca=False, path_length=None)}
NO_PATH = {"basic": x509.BasicConstraints(ca=True, path_length=0)}


def only(*names: str) -> dict[str, x509.NameConstraints]:
    return {"constraints": x509.NameConstraints([x509.DNSName(each) for each in names], None)}


def never(*names: str) -> dict[str, x509.NameConstraints]:
    return {"constraints": x509.NameConstraints(None, [x509.DNSName(each) for each in names])}


def is_taken(firm: Firm, *shown: x509.Certificate, root: x509.Certificate | None = None) -> bool:
    """Whether OpenSSL takes a chain where it trusts the root."""
    for name, content in (("root", [root or firm.root]), ("leaf", shown[:1]), ("between", shown[1:])):
        (firm.folder / f"{name}.pem").write_bytes(b"".join(map(pem, content)))
    asked = ["openssl", "verify", "-purpose", "sslserver", "-attime", str(int(NOW.timestamp()))]
    files = ["-CAfile", "root.pem", "-untrusted", "between.pem", "leaf.pem"]
    return subprocess.run([*asked, *files], cwd=firm.folder, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize(
    ("odd", "told"),
    [
        (NOT_CA, "may sign no certificates, for its basic constraints are CA:FALSE"),
        ({"signs": False}, "may sign no certificates, for its key usage lacks keyCertSign"),
        ({"has_basic": False}, "may sign no certificates, for it has no basic constraints"),
        ({"has_basic": False, "signs": False}, "may sign no certificates, for it has no basic constraints"),
        (only("firm.example"), r"may not sign for localhost, which the certificate is for \(its name constraints\)"),
        (only("firm.example", "localhost"), ""),
        (only(""), ""),
        (only("host"), "may not sign for localhost"),
        (only(".localhost"), "may not sign for localhost"),
        (never("localhost"), "may not sign for localhost"),
        (never("firm.example", "local"), ""),
        ({"constraints": x509.NameConstraints([x509.IPAddress(IPv4Network("10.0.0.0/8"))], None)}, ""),
        (NO_PATH, ""),
    ],
)
@pytest.mark.parametrize("with_root", [True, False])
def test_authority_in_between_that_may_not_sign_what_it_signed_is_an_error(
    firm: Firm, trusts: Callable[..., None], odd: dict[str, Any], told: str, with_root: bool
) -> None:
    trusts(firm.root)
    chain = [firm.leaf, firm.odd_between(**odd), *([firm.root] if with_root else [])]
    found = read_own(*firm.files(chain)).problem(NOW)
    assert is_taken(firm, *chain) == (not told)
    assert bool(found) == bool(told)
    if told:
        assert re.search(
            f"certificate 2, CN=Firm R10, which signed CN=box, {told}.*, so clients refuse the box: have ", found
        )
        assert found.count(": ") == 2, "the way out stands behind the last colon"


def test_authority_that_has_more_below_it_than_it_may_is_an_error(firm: Firm, trusts: Callable[..., None]) -> None:
    trusts()
    above = firm.above(path_length=0)
    chain = [firm.leaf, firm.between_of(above), above]
    assert not is_taken(firm, *chain)
    assert (
        "certificate 3, CN=Firm Above, which signed CN=Firm R10, may have at most 0 others below it (its path length), and has 1, so clients refuse"
    ) in read_own(*firm.files(chain)).problem(NOW)
    enough = firm.above(path_length=1)
    assert is_taken(firm, *chain[:2], enough)
    assert read_own(*firm.files([*chain[:2], enough])).problem(NOW) == ""


@pytest.mark.parametrize("odd", [NOT_CA, NO_PATH, only("firm.example")])
def test_root_that_may_not_sign_is_a_warning_as_clients_may_have_a_newer_one(
    firm: Firm, trusts: Callable[..., None], odd: dict[str, Any]
) -> None:
    trusts()
    root = firm.odd_root(**odd)
    own = read_own(*firm.files([firm.leaf, firm.between, root]))
    assert not is_taken(firm, firm.leaf, firm.between, root=root)
    assert own.problem(NOW) == ""
    (told,) = own.warnings(NOW)
    assert "certificate 3, CN=Firm Root, which signed CN=Firm R10, may " in told
    assert "so clients refuse the box, unless they trust a newer certificate of this root: have" in told


def test_root_without_basic_constraints_is_left_to_clients_as_openssl_takes_it(
    firm: Firm, trusts: Callable[..., None]
) -> None:
    trusts()
    root = firm.odd_root(has_basic=False)
    own = read_own(*firm.files([firm.leaf, firm.between, root]))
    assert is_taken(firm, firm.leaf, firm.between, root=root)
    assert (own.problem(NOW), own.warnings(NOW)) == ("", [])


STRANGE = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3.4.5"), b"\x05\x00")


def test_critical_extension_that_clients_do_not_know_is_an_error(firm: Firm, trusts: Callable[..., None]) -> None:
    trusts(firm.root)
    for chain, which in (
        ([firm.strange_leaf(STRANGE), firm.between], "1, CN=box,"),
        ([firm.leaf, firm.odd_between(strange=[STRANGE])], "2, CN=Firm R10,"),
    ):
        assert not is_taken(firm, *chain)
        found = read_own(*firm.files(chain)).problem(NOW)
        assert found == (
            f"tls.certificate: in {firm.folder / 'chain.pem'} certificate {which} has a critical extension that clients do not know, 1.2.3.4.5, so "
            "clients refuse the box: have one made without it, or with it not critical"
        )


def test_critical_extension_of_a_root_that_clients_do_not_know_is_a_warning(
    firm: Firm, trusts: Callable[..., None]
) -> None:
    trusts()
    root = firm.odd_root(strange=[STRANGE])
    own = read_own(*firm.files([firm.leaf, firm.between, root]))
    assert not is_taken(firm, firm.leaf, firm.between, root=root)
    assert own.problem(NOW) == ""
    (told,) = own.warnings(NOW)
    assert "1.2.3.4.5, so clients refuse the box, unless they trust a newer certificate of this root: have" in told


@pytest.mark.parametrize(
    "known",
    [
        x509.CertificatePolicies([x509.PolicyInformation(x509.ObjectIdentifier("1.2.3.4"), None)]),
        x509.CRLDistributionPoints(
            [x509.DistributionPoint([x509.UniformResourceIdentifier("http://firm.example/crl")], None, None, None)]
        ),
        x509.OCSPNoCheck(),
    ],
)
def test_critical_extension_that_clients_know_is_none_to_tell(
    firm: Firm, trusts: Callable[..., None], known: x509.ExtensionType
) -> None:
    trusts(firm.root)
    leaf = firm.strange_leaf(known)
    assert is_taken(firm, leaf, firm.between)
    assert read_own(*firm.files([leaf, firm.between])).problem(NOW) == ""


@pytest.mark.parametrize("which", [1, 2])
def test_certificate_with_an_extension_twice_is_refused(firm: Firm, which: int) -> None:
    twice = [x509.UnrecognizedExtension(x509.ObjectIdentifier(f"1.2.3.4.{each}"), b"\x05\x00") for each in (5, 6)]
    leaf, between = firm.leaf, firm.between
    if which == 1:
        leaf = with_extension_twice(firm.strange_leaf(*twice), firm.between_key)
    else:
        between = with_extension_twice(firm.odd_between(strange=twice), firm.root_key)
    with pytest.raises(
        Unavailable, match=rf"certificate {which} has the extension 1\.2\.3\.4\.5 twice, .*: have another"
    ):
        read_own(*firm.files([leaf, between]))


def test_of_two_certificates_of_one_authority_the_one_that_may_sign_counts(
    firm: Firm, trusts: Callable[..., None]
) -> None:
    trusts(firm.root)
    chain = [firm.leaf, firm.odd_between(**NOT_CA), firm.between]
    assert read_own(*firm.files(chain)).problem(NOW) == ""
    assert read_own(*firm.files([chain[0], chain[2], chain[1]])).problem(NOW) == ""


@pytest.fixture
def passable() -> Iterator[Path]:
    """A folder that every user of this host may pass through."""
    with TemporaryDirectory(dir="/tmp") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_key_that_others_may_read_is_a_warning_until_it_is_closed(passable: Path, trusts: Callable[..., None]) -> None:
    trusts()
    firm = Firm(passable, NOW)
    own = read_own(*firm.files([firm.leaf, firm.between]))
    key = passable / "key.pem"
    for mode in (0o644, 0o604, 0o444):
        key.chmod(mode)
        (told,) = own.warnings(NOW)
        assert told == (
            f"tls.key: every user of this host may read {key}, and who has it can pass for the box: close it with `chmod o= {key}`"
        )
    for mode in (0o640, 0o600, 0o400):
        key.chmod(mode)
        assert own.warnings(NOW) == []
    key.chmod(0o644)
    passable.chmod(0o750)
    assert own.warnings(NOW) == [], "nobody else gets to it"
    passable.chmod(0o755)
    key.rename(passable / "archive.pem")
    key.symlink_to("archive.pem")
    (told,) = own.warnings(NOW)
    assert told.endswith(f"`chmod o= {key}`")


def test_file_of_the_certificate_that_holds_a_key_is_a_warning_where_others_may_read_it(
    passable: Path, trusts: Callable[..., None]
) -> None:
    trusts()
    firm = Firm(passable, NOW)
    chain, key = firm.files([firm.leaf, firm.between])
    key.chmod(0o600)
    chain.chmod(0o644)
    assert read_own(chain, key).warnings(NOW) == []
    chain.write_bytes(chain.read_bytes() + key.read_bytes())
    (told,) = read_own(chain, key).warnings(NOW)
    assert told == (
        f"tls.certificate: every user of this host may read {chain}, which holds a private key, and who has it can pass for the box: take the key out, "
        f"or close the file with `chmod o= {chain}`"
    )
    (told,) = read_own(chain, chain).warnings(NOW)
    assert told.startswith("tls.key: every user"), "once, where both settings name it"
    chain.chmod(0o640)
    assert read_own(chain, key).warnings(NOW) == []


def test_key_of_another_user_is_closed_so_that_the_appliance_still_reads_it(
    passable: Path, trusts: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    trusts()
    firm = Firm(passable, NOW)
    own = read_own(*firm.files([firm.leaf, firm.between]))
    key = passable / "key.pem"
    key.chmod(0o644)
    monkeypatch.setattr("os.geteuid", lambda: 65534)
    monkeypatch.setattr("os.getegid", lambda: 65534)
    monkeypatch.setattr("os.getgroups", list)
    (told,) = own.warnings(NOW)
    assert told.endswith(f": close it with `chown {user_name(65534)} {key} && chmod 600 {key}`")
    monkeypatch.setattr("os.getgroups", lambda: [key.stat().st_gid])
    (told,) = own.warnings(NOW)
    assert told.endswith(f": close it with `chmod o= {key}`")
