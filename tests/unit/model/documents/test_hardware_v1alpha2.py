"""A `kind: Hardware` of v1alpha2 is the machine that it would be in v1alpha1."""

from ipaddress import IPv4Address, IPv4Network
from typing import Any

import pytest

from tinkbox.engine.documents.kubernetes import read_all, take_hardware
from tinkbox.engine.machines.editing import Edit, edited
from tinkbox.engine.metadata.instances import ssh_keys_of, user_data_of
from tinkbox.model.documents.hardware import allowing_netboot
from tinkbox.model.documents.hardware_v1alpha2 import API, as_v1alpha1, told_of_v1alpha2
from tinkbox.model.documents.kubernetes import UNHEEDED, identity
from tinkbox.model.documents.machine_views import object_view
from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.hardware import Hardware

MACHINE = """\
apiVersion: tinkerbell.org/v1alpha2
kind: Hardware
metadata: {name: node1, namespace: lab, labels: {rack: r1}}
spec:
  agentID: agent-1
  arch: aarch64
  auto: {enrollmentEnabled: false}
  instance:
    lookupID: i-1
    sshKeys: [ssh-ed25519 AAAA]
    userdata: |
      #cloud-config
      hostname: node1
    vendordata: "#cloud-config"
    osie: {kernelParams: [console=ttyS2]}
  networkInterfaces:
    "52:54:00:41:05:c6":
      dhcp:
        ipv4:
          hostname: node1
          domainName: example.org
          leaseTimeSeconds: 3600
          nameservers: [10.0.0.53]
          ntpServers: [10.0.0.1]
          vlanID: "110"
          classlessStaticRoutes: [{destinationDescriptor: 192.168.1.0/24, router: 10.0.0.254}]
      ipam: {ipv4: {address: 10.0.0.7, gateway: 10.0.0.1, prefix: "24"}}
    "52:54:00:41:05:C7":
      dhcp: {ipv4: {disabled: true}}
      netboot: {disabled: true}
  storageDevices: [{name: /dev/sda}]
"""


def machine(text: str = MACHINE) -> Hardware:
    (found,), _ = take_hardware(text)
    return found


def notes(text: str) -> list[str]:
    return [str(each) for each in take_hardware(text)[1]]


def with_spec(spec: str) -> str:
    return f"apiVersion: tinkerbell.org/v1alpha2\nkind: Hardware\nmetadata: {{name: node1}}\nspec: {spec}\n"


def test_its_interfaces_are_read_by_their_macs() -> None:
    found = machine()
    assert (found.id, found.name, found.agent_id) == (identity("lab", "node1"), "node1", "agent-1")
    first, second = found.interfaces
    assert (first.mac, first.address, first.netmask, first.gateway) == (
        "52:54:00:41:05:c6",
        IPv4Address("10.0.0.7"),
        IPv4Address("255.255.255.0"),
        IPv4Address("10.0.0.1"),
    )
    assert (first.hostname, first.domain_name, first.lease_seconds, first.vlan_id) == (
        "node1",
        "example.org",
        3600,
        110,
    )
    assert (first.name_servers, first.time_servers) == ((IPv4Address("10.0.0.53"),), (IPv4Address("10.0.0.1"),))
    assert [each.network for each in first.routes] == [IPv4Network("192.168.1.0/24")]
    assert (first.architecture, first.allow_pxe, first.dhcp) == ("aarch64", True, True)
    assert (second.mac, second.allow_pxe, second.dhcp) == ("52:54:00:41:05:c7", False, False)
    assert notes(MACHINE) == []


def test_its_document_is_kept_as_it_was_pushed() -> None:
    assert machine().document == read_all(MACHINE).objects[0].content
    assert machine().document["apiVersion"] == "tinkerbell.org/v1alpha2"


def test_templates_and_installed_systems_see_it_in_the_form_of_v1alpha1() -> None:
    document = machine().document
    view = object_view(document)
    assert view["apiVersion"] == "tinkerbell.org/v1alpha1"
    assert view["spec"]["disks"] == [{"device": "/dev/sda"}]
    assert view["spec"]["interfaces"][0]["dhcp"]["ip"]["address"] == "10.0.0.7"
    assert view["spec"]["metadata"]["instance"]["id"] == "i-1"
    assert list(ssh_keys_of(document)) == ["ssh-ed25519 AAAA"]
    assert user_data_of(document) == "#cloud-config\nhostname: node1\n"


def test_a_workflow_can_let_it_netboot() -> None:
    allowed = allowing_netboot(machine())
    assert all(each.allow_pxe for each in allowed.interfaces)
    assert allowed.document["spec"]["networkInterfaces"]["52:54:00:41:05:C7"]["netboot"] == {"disabled": False}
    assert allowed.id == machine().id


def test_flags_do_not_change_it() -> None:
    with pytest.raises(Invalid, match="`tinkbox export hardware/node1` prints it"):
        edited(machine(), Edit(name="other"))


def test_what_is_wrong_has_its_line() -> None:
    with pytest.raises(Invalid) as refused:
        take_hardware(MACHINE.replace("10.0.0.7", "x"))
    (told,) = refused.value.problems
    assert str(told) == "line 27, spec.networkInterfaces.52:54:00:41:05:c6.ipam.ipv4.address: invalid ip: 'x'"


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("[0].dhcp.time_servers", ".M.dhcp.ipv4.ntpServers"),
        ("[0].dhcp.classless_static_routes[1].router", ".M.dhcp.ipv4.classlessStaticRoutes[1].router"),
        ("[0].dhcp.ip.address", ".M.ipam.ipv6.address"),
        ("[0].dhcp.mac", ".M"),
        ("[0].netboot.ipxe.contents", ".M.netboot.ipxe.script"),
        ("", ""),
    ],
)
def test_a_note_names_the_field_as_the_document_calls_it(theirs: str, ours: str) -> None:
    document = {
        "apiVersion": API,
        "kind": "Hardware",
        "spec": {"networkInterfaces": {"M": {"ipam": {"ipv6": {"address": "x"}}}}},
    }
    told = told_of_v1alpha2(Problem(key=f"spec.interfaces{theirs}", text="x"), document)
    assert told == Problem(key=f"spec.networkInterfaces{ours}", text="x")
    of_the_machine = told_of_v1alpha2(Problem(key="spec.interfaces[0].netboot.osie.kernel", text="x"), document)
    assert of_the_machine.key == "spec.instance.osie.kernelURL"


def test_a_key_that_is_no_mac_is_refused() -> None:
    with pytest.raises(Invalid) as refused:
        take_hardware(with_spec("{networkInterfaces: {eth0: {}}}"))
    assert "invalid mac: 'eth0'" in str(refused.value.problems[0])


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ("{bmc: {connection: {host: x}}, networkInterfaces: {M: {}}}", "spec.bmc"),
        ("{instance: {networkConfig: x}, networkInterfaces: {M: {}}}", "spec.instance.networkConfig"),
        ("{instance: {vars: {a: b}}, networkInterfaces: {M: {}}}", "spec.instance.vars"),
        ("{networkInterfaces: {M: {dhcp: {ipv6: {nameservers: [x]}}}}}", "spec.networkInterfaces.*.dhcp.ipv6"),
        ("{networkInterfaces: {M: {netboot: {rpi: {serialNum: x}}}}}", "spec.networkInterfaces.*.netboot.rpi"),
    ],
)
def test_what_is_not_honoured_is_told(spec: str, field: str) -> None:
    (told,) = notes(with_spec(spec.replace("M", '"52:54:00:41:05:c6"')))
    assert told.endswith(f"not honoured: {UNHEEDED['Hardware v1alpha2'][field].text}")
    assert told.startswith(f"line 4, {field.replace('*', '52:54:00:41:05:c6')}: ")


def test_what_v1alpha1_cannot_say_is_told() -> None:
    both = MACHINE.replace('prefix: "24"}', 'prefix: "24"}, ipv6: {address: "2001:db8::7", prefix: "64"}')
    assert "an interface has one address here" in notes(both)[0]
    assert (
        "its placeholders are not filled"
        in notes(MACHINE.replace("hostname: node1\n    v", "x: '{{ .hardware }}'\n    v"))[0]
    )
    apart = MACHINE.replace("kernelParams", "kernelURL: http://a/k, initrdURL: http://b/i, kernelParams")
    assert "not in one folder of one server" in notes(apart)[0]


def test_another_osie_is_a_folder_and_names_in_it() -> None:
    text = with_spec(
        '{instance: {osie: {kernelURL: "http://a/b/vmlinuz", initrdURL: "http://a/b/initrd"}}, networkInterfaces: '
        '{"52:54:00:41:05:c6": {netboot: {ipxe: {script: "#!ipxe"}}}}}'
    )
    document: dict[str, Any] = read_all(text).objects[0].content  # type: ignore[assignment]
    (interface,) = as_v1alpha1(document)["spec"]["interfaces"]
    assert interface["netboot"] == {
        "allowPXE": True,
        "osie": {"baseURL": "http://a/b", "kernel": "vmlinuz", "initrd": "initrd"},
        "ipxe": {"contents": "#!ipxe"},
    }


def test_an_address_of_ipv6_alone_is_read() -> None:
    text = MACHINE.replace(
        'ipv4: {address: 10.0.0.7, gateway: 10.0.0.1, prefix: "24"}', 'ipv6: {address: "2001:db8::7", prefix: "64"}'
    )
    assert str(machine(text).interfaces[0].address6) == "2001:db8::7/64"


def test_a_prefix_that_is_none_is_a_problem() -> None:
    with pytest.raises(Invalid) as refused:
        take_hardware(MACHINE.replace('prefix: "24"', 'prefix: "40"'))
    assert "invalid ip: '40'" in str(refused.value.problems[0])


def test_what_is_said_of_the_machine_is_told_once_for_all_its_cards() -> None:
    told = [each for each in notes(MACHINE.replace("console=ttyS2", "'a b'")) if "kernelParams" in each]
    assert told == ["line 15, spec.instance.osie.kernelParams: 'a b' has a blank in it: the kernel is given 2 words"]
