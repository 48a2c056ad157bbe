"""The section `metadata`."""

from ipaddress import IPv4Address
from pathlib import Path

import pytest

from tests.unit.model.test_ssh_keys import key
from tests.unit.settings.configured import loaded, problems_of
from tinkbox.settings import metadata
from tinkbox.settings.contradictions import metadata_ports

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDcf ann@lab"
OWN = [IPv4Address("172.30.0.1")]


def test_the_defaults_let_templates_of_the_field_ask(tmp_path: Path) -> None:
    found = loaded(tmp_path, "")
    assert (found.metadata.by_address, metadata_ports(found, OWN)) == ("public", [50061, 7080, 7172])


def test_a_default_port_gives_way_to_other_doors(tmp_path: Path) -> None:
    assert metadata_ports(loaded(tmp_path, "operator: {listen: '0.0.0.0:7080'}"), OWN) == [50061, 7172]
    assert metadata_ports(loaded(tmp_path, "node: {http_port: 50061}"), OWN) == [7080, 7172]
    assert metadata_ports(loaded(tmp_path, "metadata: {by_address: off}"), OWN) == []
    assert metadata_ports(loaded(tmp_path, "metadata: {ports: []}"), OWN) == []


def test_everything_is_read(tmp_path: Path) -> None:
    text = (
        f"metadata: {{lifetime: 7d, by_address: all, ports: [50061], ssh_keys: ['{KEY}'], timezone: Europe/Berlin, "
        "proxy: 'http://p:3128', ca: /etc/ca.pem}"
    )
    found = loaded(tmp_path, text).metadata
    assert (found.lifetime.days, found.by_address, found.ports, found.ssh_keys) == (7, "all", (50061,), (KEY,))
    assert (found.timezone, found.proxy, found.ca) == ("Europe/Berlin", "http://p:3128", Path("/etc/ca.pem"))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("ssh_keys: [nonsense]", "metadata.ssh_keys: expected a public key"),
        ("ssh_keys: ssh-ed25519 AAAA", "metadata.ssh_keys: no public key such as ssh-ed25519 AAAA"),
        ("timezone: 'a b'", "metadata.timezone: expected a time zone"),
        (f"timezone: {'x' * 300}", "metadata.timezone: expected a time zone"),
        (f"timezone: Europe/{'x' * 64}", "metadata.timezone: expected a time zone"),
        ("proxy: p", "metadata.proxy: expected a URL"),
        ("ports: 7080", "metadata.ports: expected a list"),
        ("ports: [99999]", "metadata.ports: expected a port"),
        ("ports: [80]", "metadata.ports: node.http_port takes TCP port 80 already"),
        ("lifetime: 5", "metadata.lifetime: expected a duration with its unit"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, problem: str) -> None:
    assert any(problem in each for each in problems_of(tmp_path, f"metadata: {{{text}}}"))


def test_a_key_may_be_of_any_kind_that_openssh_has(tmp_path: Path) -> None:
    keys = tuple(map(key, ("ssh-dss", "ssh-ed25519-cert-v01@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com")))
    assert loaded(tmp_path, f"metadata: {{ssh_keys: {list(keys)}}}").metadata.ssh_keys == keys


def test_a_time_zone_is_one_that_this_host_knows_where_it_knows_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata, "ZONES", tmp_path)
    assert loaded(tmp_path, "metadata: {timezone: Mars/Base}").metadata.timezone == "Mars/Base"
    (tmp_path / "tzdata.zi").write_text(
        "# version 2026a\nZ Europe/Berlin 0:53:28 - LMT 1893 Apr\nL America/New_York US/Eastern\n"
        "Z Etc/GMT+1 -1 - %z\nL Etc/UTC UTC\n"
    )
    (tmp_path / "posix").mkdir()
    for zone in ("posix/UTC", "localtime", "posixrules"):
        (tmp_path / zone).write_bytes(b"TZif2")
    (tmp_path / "leapseconds").write_text("# of no zone")
    for zone, known in {
        "UTC": "UTC", "US/Eastern": "US/Eastern", "posix/UTC": "posix/UTC", "utc": "UTC", "europe/berlin": "Europe/Berlin",
        "''": "",
    }.items():  # fmt: skip
        assert loaded(tmp_path, f"metadata: {{timezone: {zone}}}").metadata.timezone == known
    for zone in ("Mars/Base", "localtime", "posixrules", "leapseconds", "posix", f"A/{'x' * 63}/{'x' * 63}"):
        assert problems_of(tmp_path, f"metadata: {{timezone: {zone}}}") == [
            f"metadata.timezone: there is no time zone {zone[:60]!r}: `timedatectl list-timezones` prints all"
        ]
