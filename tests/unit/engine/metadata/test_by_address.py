"""Whether a machine would be given something that asks for its metadata by address alone."""

import json
from ipaddress import IPv4Address
from typing import Any

import pytest

from tinkbox.engine.metadata.by_address import ByAddress
from tinkbox.engine.metadata.installed_systems import Policy
from tinkbox.engine.workflows.metadata_mentions import Mention
from tinkbox.model.documents.hardware import parse_hardware
from tinkbox.model.hardware import Hardware
from tinkbox.model.metadata import Defaults, Metadata

OWN = {IPv4Address("172.30.0.1")}
HEGEL = Mention(text="http://172.30.0.1:50061", host="172.30.0.1", port=50061)
NOTHING_SAID, BY_DEFAULT = Metadata(), Policy()
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGVERERERERERERERERERERERERERERERERERERERERE ann"


def machine(**metadata: Any) -> Hardware:
    interface = {"dhcp": {"mac": "08:00:27:00:00:01", "ip": {"address": "172.30.0.11", "netmask": "255.255.255.0"}}}
    document = {"id": "00000000-0000-0000-0000-000000000001", "network": {"interfaces": [interface]}}
    return parse_hardware(json.dumps({**document, "metadata": metadata}))


def gap(
    hardware: Hardware, spec: Metadata = NOTHING_SAID, mention: Mention = HEGEL, policy: Policy = BY_DEFAULT
) -> str:
    return ByAddress(policy, OWN, "http://172.30.0.1").gap(hardware, spec, mention)


def test_nothing_is_told_where_it_works() -> None:
    told = machine(instance={"hostname": "m1"})
    assert gap(told) == ""
    for port in (80, 7080, 7172):
        assert gap(told, mention=Mention(text="", host="172.30.0.1", port=port)) == ""
    assert gap(told, mention=Mention(text="", host="boot.lab", port=50061)) == ""
    assert gap(machine(), Metadata(hostname="m1")) == ""
    assert gap(machine(), policy=Policy(defaults=Defaults(ssh_keys=(KEY,)))) == ""
    assert gap(machine(instance={"userdata": "#cloud-config\n"}), policy=Policy(secrets=True)) == ""


def test_a_document_without_metadata_tells_the_machine_little() -> None:
    assert gap(machine()).startswith("its document has no metadata.instance, no ssh keys and no user-data")


def test_user_data_is_not_given_to_an_address_alone() -> None:
    for told in (gap(machine(instance={"userdata": "#!"})), gap(machine(), Metadata(user_data="#!"))):
        assert "set metadata.by_address: all in tinkbox.yaml" in told


def test_what_is_off_is_told() -> None:
    told = machine(instance={"hostname": "m1"})
    assert gap(told, policy=Policy(ports=frozenset())).startswith("metadata.by_address is off in tinkbox.yaml")
    assert gap(told, policy=Policy(ports=frozenset({80}))).startswith(
        "port 50061 is not answered: add it to metadata.ports"
    )


def test_the_appliance_does_not_listen_where_clouds_do() -> None:
    cloud = Mention(text="", host="169.254.169.254", port=80)
    assert gap(machine(instance={"hostname": "m1"}), mention=cloud).startswith(
        "the appliance does not listen at that address: unless your network leads it here, write http://172.30.0.1/2009-04-04/"
    )


@pytest.mark.parametrize("host", ["10.0.0.1", "192.168.1.1"])
def test_of_another_hosts_address_nothing_is_known(host: str) -> None:
    assert gap(machine(), mention=Mention(text="", host=host, port=50061)) == ""
