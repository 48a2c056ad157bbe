"""What the box's authority and its certificates say."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from subprocess import run

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from tinkbox.certificates.issuing import Authority, covers, is_due, names_of, new_key, self_signed, signed, usable

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
NAMES = ["box.example.org", "172.30.0.1", "fd00::1", "*.workflows.tinkbox.internal", "127.0.0.1"]


@pytest.fixture(scope="module")
def authority() -> Authority:
    return self_signed(new_key())


@pytest.fixture(scope="module")
def leaf(authority: Authority) -> x509.Certificate:
    return signed(authority, new_key().public_key(), NAMES, NOW)


def test_machine_of_1970_accepts_both(authority: Authority, leaf: x509.Certificate) -> None:
    begin = datetime(1970, 1, 1, tzinfo=UTC)
    assert authority.certificate.not_valid_before_utc == leaf.not_valid_before_utc == begin


def test_authority_lives_until_2049_and_a_certificate_397_days(authority: Authority, leaf: x509.Certificate) -> None:
    assert authority.certificate.not_valid_after_utc == datetime(2049, 12, 31, 23, 59, 59, tzinfo=UTC)
    assert leaf.not_valid_after_utc - NOW == timedelta(days=397)


def test_box_whose_clock_stopped_makes_a_certificate_that_lasts() -> None:
    stopped = datetime(1970, 1, 1, 0, 1, tzinfo=UTC)
    authority = self_signed(new_key())
    leaf = signed(authority, authority.key.public_key(), NAMES, stopped)
    assert not is_due(leaf, authority, NAMES, stopped)
    assert not is_due(leaf, authority, NAMES, NOW)


def test_certificate_has_every_name_and_address(leaf: x509.Certificate) -> None:
    assert names_of(leaf) == set(NAMES)


def test_certificate_does_not_outlive_its_authority(authority: Authority) -> None:
    late = authority.certificate.not_valid_after_utc - timedelta(days=10)
    leaf = signed(authority, new_key().public_key(), NAMES, late)
    assert leaf.not_valid_after_utc == authority.certificate.not_valid_after_utc
    assert not is_due(leaf, authority, NAMES, late)


@pytest.mark.parametrize(("days", "due"), [(0, False), (264, False), (265, True), (500, True)])
def test_certificate_is_renewed_when_a_third_of_its_life_is_left(
    authority: Authority, leaf: x509.Certificate, days: int, due: bool
) -> None:
    assert is_due(leaf, authority, NAMES, NOW + timedelta(days=days)) is due


def test_certificate_is_renewed_when_a_name_comes_or_goes(authority: Authority, leaf: x509.Certificate) -> None:
    assert is_due(leaf, authority, [*NAMES, "10.0.0.1"], NOW)
    assert is_due(leaf, authority, NAMES[1:], NOW)
    assert not is_due(leaf, authority, [*reversed(NAMES)], NOW)


def test_certificate_of_another_authority_is_renewed(leaf: x509.Certificate) -> None:
    assert is_due(leaf, self_signed(new_key()), NAMES, NOW)


def test_authority_of_a_key_is_always_the_same(authority: Authority) -> None:
    assert self_signed(authority.key).certificate == authority.certificate


def test_two_boxes_have_authorities_of_different_names(authority: Authority) -> None:
    other = self_signed(new_key())
    assert other.certificate.subject != authority.certificate.subject


def test_long_name_of_a_box_is_shortened() -> None:
    name = ".".join(["a" * 60] * 4)
    authority = self_signed(new_key())
    leaf = signed(authority, authority.key.public_key(), [name], NOW)
    assert names_of(leaf) == {name}


def test_names_that_no_certificate_can_have_are_left_out() -> None:
    asked = [
        "Box.Example.ORG.",
        "my_box",
        "",
        "ß.example",
        "172.30.0.1",
        "172.30.0.1",
        "a" * 64,
        "FD00::0:1",
        "a..b",
        "*",
    ]
    assert usable(asked) == ["box.example.org", "172.30.0.1", "fd00::1"]


@pytest.mark.parametrize(
    ("host", "covered"),
    [
        ("box.example.org", True),
        ("BOX.example.org.", True),
        ("a.lab.example.org", True),
        ("a.b.lab.example.org", False),
        ("lab.example.org", False),
        ("example.org", False),
        ("", False),
    ],
)
def test_star_stands_for_one_label(host: str, covered: bool) -> None:
    assert covers(frozenset({"box.example.org", "*.lab.example.org"}), host) is covered


def test_openssl_verifies_the_chain_strictly(tmp_path: Path, authority: Authority, leaf: x509.Certificate) -> None:
    root, server = tmp_path / "ca.pem", tmp_path / "server.pem"
    root.write_bytes(authority.certificate.public_bytes(Encoding.PEM))
    server.write_bytes(leaf.public_bytes(Encoding.PEM))
    for host in ("-verify_ip", "172.30.0.1"), ("-verify_hostname", "w1.workflows.tinkbox.internal"):
        done = run(
            ["openssl", "verify", "-x509_strict", "-purpose", "sslserver", *host, "-CAfile", root, server],
            capture_output=True, check=False, text=True,
        )  # fmt: skip
        assert done.stdout == f"{server}: OK\n", done.stderr
