"""The section `metadata`."""

from ipaddress import IPv4Address
from pathlib import Path

import pytest

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
        ("proxy: p", "metadata.proxy: expected a URL"),
        ("ports: 7080", "metadata.ports: expected a list"),
        ("ports: [99999]", "metadata.ports: expected a port"),
        ("ports: [80]", "metadata.ports: node.http_port takes TCP port 80 already"),
        ("lifetime: 5", "metadata.lifetime: expected a duration with its unit"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, problem: str) -> None:
    assert any(problem in each for each in problems_of(tmp_path, f"metadata: {{{text}}}"))


def test_a_time_zone_is_one_that_this_host_knows_where_it_knows_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata, "ZONES", tmp_path)
    assert loaded(tmp_path, "metadata: {timezone: Mars/Base}").metadata.timezone == "Mars/Base"
    (tmp_path / "tzdata.zi").write_text(
        "# version 2026a\nZ Europe/Berlin 0:53:28 - LMT 1893 Apr\nL America/New_York US/Eastern\n"
    )
    (tmp_path / "UTC").touch()
    for zone in ("UTC", "US/Eastern"):
        assert loaded(tmp_path, f"metadata: {{timezone: {zone}}}").metadata.timezone == zone
    assert problems_of(tmp_path, "metadata: {timezone: Mars/Base}") == [
        "metadata.timezone: there is no time zone 'Mars/Base': `timedatectl list-timezones` prints all"
    ]
