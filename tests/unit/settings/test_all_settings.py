"""All settings together, and those that stand at the top of the file."""

from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import pytest

from tests.unit.settings.configured import loaded, problems_of, written
from tinkbox.model.access import Right
from tinkbox.model.services import HostFolder
from tinkbox.settings import load
from tinkbox.settings.all_settings import Settings
from tinkbox.settings.dhcp import Dhcp
from tinkbox.settings.doors import Endpoint, Node, Operator
from tinkbox.settings.services import Services

EXAMPLE = """
data: /srv/tinkbox
name: box-1.lab
interface: eth1
address: 172.30.0.1
operator:
  listen: 127.0.0.1:7081
  people: {anna: [look, attach], bert@lab: [operate]}
node:
  http_port: 8080
  tftp_port: 6969
  dns_port: 5353
dhcp:
  mode: off
unknown_machines: ignore
docker: unix:///run/other.sock
services:
  domain: Flows.Lab.
  names: off
  volumes: {isos: '/srv/isos:ro', out: /srv/out/}
  subnets: 10.99.0.0/20
"""


def test_every_key_is_read(tmp_path: Path) -> None:
    assert load(written(tmp_path, EXAMPLE)) == Settings(
        data=Path("/srv/tinkbox"),
        name="box-1.lab",
        interfaces=("eth1",),
        address=IPv4Address("172.30.0.1"),
        operator=Operator(
            listen=Endpoint("127.0.0.1", 7081),
            people={"anna": frozenset({Right.LOOK, Right.ATTACH}), "bert@lab": frozenset({Right.OPERATE})},
        ),
        node=Node(http_port=8080, tftp_port=6969, dns_port=5353),
        dhcp=Dhcp(mode="off"),
        docker="unix:///run/other.sock",
        services=Services(
            domain="flows.lab",
            names=False,
            subnets=IPv4Network("10.99.0.0/20"),
            volumes={"isos": HostFolder(path="/srv/isos", read_only=True), "out": HostFolder(path="/srv/out")},
        ),
    )


def test_every_key_has_a_default(tmp_path: Path) -> None:
    settings = load(written(tmp_path, ""), data=tmp_path)
    assert settings == Settings(data=tmp_path)
    assert (settings.name, settings.interfaces, settings.address) == ("provisioner", (), None)
    assert (settings.node.http_port, settings.node.tftp_port, settings.node.dns_port) == (80, 69, 53)
    assert settings.operator == Operator(listen=Endpoint("127.0.0.1", 7080), people={})
    assert (settings.docker, settings.services.volumes) == ("unix:///var/run/docker.sock", {})
    assert (settings.services.domain, settings.services.names) == ("workflows.tinkbox.internal", True)
    assert settings.services.subnets == IPv4Network("10.213.0.0/16")


def test_several_interfaces_are_a_list_and_have_their_own_addresses(tmp_path: Path) -> None:
    assert loaded(tmp_path, "interface: [eth1, eth1.20]").interfaces == ("eth1", "eth1.20")
    (problem,) = problems_of(tmp_path, "interface: [eth1, eth2]\naddress: 172.30.0.1")
    assert problem.startswith("address: which of the interfaces is it on?")
    assert problems_of(tmp_path, "interface: [eth1, 5]") == [
        "interface: expected text or a list of texts, not ['eth1', 5]"
    ]


@pytest.mark.parametrize("name", ["my appliance", "-a", "a/b", "x" * 64, "0c:c4:7a:00:00:01"])
def test_a_name_of_the_appliance_is_one_word(tmp_path: Path, name: str) -> None:
    assert "name: a name is up to 63 letters" in problems_of(tmp_path, f"name: {name}")[0]


def test_a_setting_that_is_written_as_the_docs_call_it_is_told_how_yaml_has_it(tmp_path: Path) -> None:
    text = "operator.listen: 192.0.2.1:7080\nnode.tls.names: [a]\nx.y: 1"
    assert problems_of(tmp_path, text)[:2] == [
        "operator.listen: unknown key; write `operator: {listen: …}`",
        "node.tls.names: unknown key; write `node: {tls: {names: …}}`",
    ]
    assert "unknown key; known here: " in problems_of(tmp_path, text)[2]


def test_an_unknown_key_names_the_nearest_known_one(tmp_path: Path) -> None:
    assert problems_of(tmp_path, "interfase: eth1") == ["interfase: unknown key; did you mean interface?"]
    for section, key, near in (
        ("node", "htp_port", "http_port"),
        ("dhcp", "mod", "mode"),
        ("operator", "lisen", "listen"),
        ("services", "domian", "domain"),
    ):
        assert problems_of(tmp_path, f"{section}: {{{key}: 1}}") == [
            f"{section}.{key}: unknown key; did you mean {near}?"
        ]


def test_every_problem_is_named_at_once(tmp_path: Path) -> None:
    text = "address: nowhere\nnode: {http_port: 99999}\noperator: {listen: here}\ndhcp: {mode: maybe}\ndocker: 5"
    found = problems_of(tmp_path, text)
    assert [problem.split(":")[0] for problem in found] == [
        "address",
        "node.http_port",
        "operator.listen",
        "dhcp.mode",
        "docker",
    ]


@pytest.mark.parametrize(("key", "such_as"), [("retention.workflows", "90d"), ("discovery.forget", "7d")])
def test_what_is_kept_for_days_is_not_taken_for_seconds(tmp_path: Path, key: str, such_as: str) -> None:
    section, name = key.split(".")
    assert problems_of(tmp_path, f"{section}: {{{name}: 90}}") == [
        f"{key}: expected a duration with its unit, such as {such_as}, not 90"
    ]


def test_leases_and_deadlines_may_be_bare_seconds(tmp_path: Path) -> None:
    settings = loaded(tmp_path, "dhcp: {lease: 3600}\nlimits: {head: 30}")
    assert (settings.dhcp.terms.lease_seconds, settings.limits.head.total_seconds()) == (3600, 30)
