"""Hardware documents: what is accepted, what is refused, and how clearly."""

import json
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Interface
from typing import Any

import pytest

from tinkbox.model.documents.hardware import (
    MAX_INTERFACES,
    allowing_netboot,
    declared_labels,
    given_hardware,
    hardware_from_document,
    parse_hardware,
)
from tinkbox.model.documents.hardware_values import MAX_ADDRESSES, MAX_ROUTES
from tinkbox.model.documents.kubernetes import identity
from tinkbox.model.errors import Invalid, Remarks
from tinkbox.model.hardware import (
    DEFAULT_LEASE_SECONDS,
    Route,
    address_of,
    called,
    hostname_of,
    mac_of,
    name_of,
    primary,
    worker_of,
)

ID = "0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94"


def document(**dhcp: Any) -> dict[str, Any]:
    interface = {"dhcp": {"mac": "08:00:27:00:00:01", **dhcp}, "netboot": {"allow_pxe": True}}
    return {"id": ID, "network": {"interfaces": [interface]}}


def problems_of(entry: Any) -> list[str]:
    with pytest.raises(Invalid) as refusal:
        parse_hardware(json.dumps(entry))
    return [str(problem) for problem in refusal.value.problems]


def test_the_document_of_2020_is_understood_whole() -> None:
    hardware = parse_hardware(
        json.dumps(
            document(
                hostname="server001",
                lease_time=600,
                name_servers=["1.1.1.1", "8.8.8.8"],
                time_servers=["172.30.0.1"],
                arch="x86_64",
                uefi=False,
                domain_name="lab.example",
                ip={"address": "192.168.1.5", "netmask": "255.255.255.248", "gateway": "192.168.1.1", "family": 4},
            )
        )
    )
    (interface,) = hardware.interfaces
    assert hardware.id == ID
    assert interface.mac == "08:00:27:00:00:01"
    assert interface.address == IPv4Address("192.168.1.5")
    assert interface.netmask == IPv4Address("255.255.255.248")
    assert interface.gateway == IPv4Address("192.168.1.1")
    assert interface.name_servers == (IPv4Address("1.1.1.1"), IPv4Address("8.8.8.8"))
    assert interface.time_servers == (IPv4Address("172.30.0.1"),)
    assert (interface.hostname, interface.domain_name, interface.lease_seconds) == ("server001", "lab.example", 600)
    assert interface.allow_pxe


def test_a_lease_without_a_time_lasts_a_day() -> None:
    assert parse_hardware(json.dumps(document())).interfaces[0].lease_seconds == DEFAULT_LEASE_SECONDS == 86_400
    assert parse_hardware(json.dumps(document(lease_time=0))).interfaces[0].lease_seconds == 86_400


def test_a_machine_is_called_by_its_name_else_by_the_hostname_that_it_is_shown_by() -> None:
    cards = [("", False), ("second", True), ("third", False)]
    interfaces = [
        {"dhcp": {"mac": f"08:00:27:00:00:0{place}", "hostname": hostname}, "netboot": {"allow_pxe": boots}}
        for place, (hostname, boots) in enumerate(cards)
    ]
    machine = hardware_from_document({"id": ID, "network": {"interfaces": interfaces}})
    assert (name_of(machine), called(machine), name_of(replace(machine, name="n"))) == ("second", "second", "n")
    assert name_of(replace(machine, interfaces=machine.interfaces[::2])) == "third"
    alone = replace(machine, interfaces=machine.interfaces[:1])
    assert (name_of(alone), called(alone), called(alone, "it")) == ("", ID, "it")


def test_an_interface_is_found_by_its_mac_or_its_address() -> None:
    hardware = parse_hardware(json.dumps(document(ip={"address": "192.168.1.5", "netmask": "255.255.255.0"})))
    assert hardware.interface("08:00:27:00:00:01") is hardware.interfaces[0]
    assert hardware.interface("192.168.1.5") is hardware.interfaces[0]
    assert hardware.interface("192.168.1.6") is None


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 100_000, b"\xff\xfe{"])
def test_what_is_no_json_object_is_refused_in_one_line(text: str | bytes) -> None:
    with pytest.raises(Invalid, match="invalid json"):
        parse_hardware(text)


ONE_2020 = '{"id": "0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94", "network": {"interfaces": []}}'


@pytest.mark.parametrize("text", [f"{ONE_2020}\n{{", f"{ONE_2020} more", "no json", '{"id": }'])
def test_what_is_wrong_in_json_is_told_by_its_place(text: str) -> None:
    with pytest.raises(Invalid, match=r"invalid json: line \d, column \d+: expected"):
        parse_hardware(text)


@pytest.mark.parametrize("identity", [None, "", "nonsense", 7])
def test_an_id_is_required_and_is_a_uuid(identity: Any) -> None:
    entry = document()
    entry["id"] = identity
    with pytest.raises(Invalid, match=r"ID is required|invalid uuid"):
        parse_hardware(json.dumps(entry))


def test_every_problem_is_named_with_its_place() -> None:
    found = problems_of(
        document(mac="zz", lease_time="long", name_servers="1.1.1.1", ip={"address": "300.1.1.1"}, hostname=5)
    )
    assert len(found) == 5
    for key in ("dhcp.mac", "dhcp.lease_time", "dhcp.name_servers", "dhcp.ip.address", "dhcp.hostname"):
        assert any(f"network.interfaces[0].{key}: " in problem for problem in found), (key, found)


@pytest.mark.parametrize("mac", ["ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:01", "00:00:00:00:00:00"])
def test_an_interface_with_the_mac_of_no_card_counts_as_one_without(mac: str) -> None:
    entry = document(mac=mac, hostname="node7", ip={"address": "192.168.1.5"})
    of_today = {"kind": "Hardware", "metadata": {"name": "a"}, "spec": entry["network"]}
    for each, key in ((entry, "network"), (of_today, "spec")):
        hardware = parse_hardware(json.dumps(each))
        (told, _) = hardware.remarks.all
        assert str(told).startswith(f"{key}.interfaces[0].dhcp.mac: {mac} is the address of no network card")
        assert hardware == hardware_from_document(each)
        assert (hardware.interfaces, hardware.hostnames, mac_of(hardware)) == ((), ["node7"], "")
        assert hardware.addresses == [IPv4Address("192.168.1.5")]


@pytest.mark.parametrize(("name", "said"), [(123, "as a number"), (1.5, "as a number"), (True, "as true or false")])
def test_a_name_that_yaml_reads_as_something_else_needs_quotes(name: object, said: str) -> None:
    (told,) = problems_of({"kind": "Hardware", "metadata": {"name": name}, "spec": document()["network"]})
    assert told == f"metadata.name: a name is text, and YAML reads this one {said}: put it in quotes"


def test_an_address_without_its_netmask_is_taken_and_a_wrong_netmask_is_refused() -> None:
    (interface,) = parse_hardware(json.dumps(document(ip={"address": "192.168.1.5"}))).interfaces
    assert (interface.address, interface.netmask) == (IPv4Address("192.168.1.5"), None)
    for mask in ("255.0.255.0", "0.0.0.255"):
        assert f"invalid netmask: {mask}" in problems_of(document(ip={"address": "192.168.1.5", "netmask": mask}))[0]


def test_more_interfaces_than_a_machine_has_are_refused_and_stored_ones_are_read() -> None:
    cards = [{"dhcp": {"mac": f"08:00:27:00:{each >> 8:02x}:{each & 255:02x}"}} for each in range(MAX_INTERFACES + 1)]
    for entry, key in (
        ({"id": ID, "network": {"interfaces": cards}}, "network"),
        ({"kind": "Hardware", "metadata": {"name": "a"}, "spec": {"interfaces": cards}}, "spec"),
    ):
        (told,) = problems_of(entry)
        assert told.startswith(f"{key}.interfaces: 129 interfaces: at most 128")
        assert len(hardware_from_document(entry).interfaces) == 129
        entry[key]["interfaces"] = cards[1:]  # type: ignore[index]
        assert len(parse_hardware(json.dumps(entry)).interfaces) == MAX_INTERFACES


def test_of_one_mac_twice_in_a_machine_the_first_interface_counts() -> None:
    entry = document(hostname="first", ip={"address": "192.168.1.5"})
    (one,) = entry["network"]["interfaces"]
    spelled = {**one["dhcp"], "mac": one["dhcp"]["mac"].upper(), "hostname": "second"}
    entry["network"]["interfaces"] += [
        {"dhcp": spelled},
        {"dhcp": {**spelled, "ip": {"address": "192.168.1.6"}}},
    ]
    hardware = parse_hardware(json.dumps(entry))
    assert hardware == hardware_from_document(entry)
    assert [(each.mac, each.hostname) for each in hardware.interfaces] == [(one["dhcp"]["mac"], "first")]
    assert [(each.hostname, each.address) for each in hardware.without_mac] == [
        ("second", None),
        ("second", IPv4Address("192.168.1.6")),
    ]
    assert [each.key for each in hardware.remarks.all] == [f"network.interfaces[{at}].dhcp.mac" for at in (1, 2)]
    assert f"an earlier interface has {one['dhcp']['mac']} too" in hardware.remarks.all[0].text


def test_of_one_address_for_two_cards_of_a_machine_the_first_is_given_it() -> None:
    ip = {"address": "192.168.1.5", "netmask": "255.255.255.0", "gateway": "192.168.1.1"}
    entry = document(ip=ip)
    (one,) = entry["network"]["interfaces"]
    entry["network"]["interfaces"] += [{"dhcp": {**one["dhcp"], "mac": "08:00:27:00:00:0b"}}, {"dhcp": {"ip": ip}}]
    hardware = parse_hardware(json.dumps(entry))
    assert hardware == hardware_from_document(entry)
    first, second = hardware.interfaces
    assert (str(first.address), second.address, second.netmask, second.gateway) == ("192.168.1.5", None, None, None)
    assert (hardware.without_mac[0].address, hardware.addresses) == (None, [IPv4Address("192.168.1.5")])
    places = [f"network.interfaces[{at}].dhcp.ip.address" for at in (1, 2)]
    assert [each.key for each in hardware.remarks.ignored] == places
    assert "an earlier interface has 192.168.1.5 too" in hardware.remarks.ignored[0].text


NO_MACS = "no MAC of the machine is told, so it cannot boot by the network"


@pytest.mark.parametrize("network", [{}, {"interfaces": []}, {"interfaces": None}, {"interfaces": [{}, None]}])
@pytest.mark.parametrize("is_object", [False, True])
def test_a_machine_without_a_mac_is_taken_and_it_is_told_what_that_means(network: Any, *, is_object: bool) -> None:
    of_today = {"kind": "Hardware", "metadata": {"name": "bmc-only"}, "spec": network}
    entry: dict[str, Any] = of_today if is_object else {"id": ID, "network": network}
    hardware = parse_hardware(json.dumps(entry))
    assert (hardware.interfaces, hardware.document, primary(hardware)) == ((), entry, None)
    assert (mac_of(hardware), address_of(hardware), worker_of(hardware)) == ("", None, hardware.id)
    (note,) = hardware.remarks.all
    assert note.key == ("spec.interfaces" if is_object else "network.interfaces")
    assert note.text.startswith(NO_MACS)


def test_a_document_of_2020_without_a_network_is_a_machine_without_interfaces_and_a_spec_may_lack() -> None:
    hardware = parse_hardware(json.dumps({"id": ID, "netwrok": {}}))
    assert (hardware.interfaces, hardware.without_mac) == ((), ())
    assert str(hardware.remarks.all[0]).startswith(
        "network: the document has no network, in which its interfaces stand"
    )
    assert parse_hardware('{"kind": "Hardware", "metadata": {"name": "a"}}').interfaces == ()


@pytest.mark.parametrize("network", [{"interfaces": "eth0"}, [1], "eth0", {"interfaces": ["eth0"]}])
def test_what_is_no_list_of_interfaces_is_refused(network: Any) -> None:
    assert "expected a" in problems_of({"id": ID, "network": network})[0]


def test_an_interface_without_a_mac_keeps_its_name_and_its_address_and_its_place_in_the_document() -> None:
    named = {"dhcp": {"hostname": "node7", "ip": {"address": "192.168.1.5"}}}
    card = {"dhcp": {"mac": "08:00:27:00:00:01"}}
    alone = hardware_from_document({"id": ID, "network": {"interfaces": [named]}})
    assert (name_of(alone), alone.addresses, alone.interfaces) == ("node7", [IPv4Address("192.168.1.5")], ())
    assert (address_of(alone), hostname_of(alone)) == (IPv4Address("192.168.1.5"), "node7")
    both = hardware_from_document({"id": ID, "network": {"interfaces": [named, card]}})
    assert (both.interfaces[0].place, name_of(both), both.hostnames) == (1, "node7", ["node7"])
    allowing = allowing_netboot(
        hardware_from_document(
            {"kind": "Hardware", "metadata": {"name": "a"}, "spec": {"interfaces": [None, named, card]}}
        )
    )
    assert [bool(each and "netboot" in each) for each in allowing.document["spec"]["interfaces"]] == [
        False,
        False,
        True,
    ]


def test_an_agent_id_names_a_machine_without_a_mac_to_templates() -> None:
    entry = {"kind": "Hardware", "metadata": {"name": "a"}, "spec": {"agentID": "agent-7"}}
    assert worker_of(parse_hardware(json.dumps(entry))) == "agent-7"
    entry["spec"] = {"agentID": "agent-7", "interfaces": [{"dhcp": {"mac": "08:00:27:00:00:01"}}]}
    assert worker_of(parse_hardware(json.dumps(entry))) == "08:00:27:00:00:01"


def notes_of(entry: Any) -> dict[str, str]:
    return {
        each.key.rpartition(".dhcp.")[2] or each.key: each.text
        for each in parse_hardware(json.dumps(entry)).remarks.all
    }


ONLY_METADATA = "is not among what DHCP tells, which has IPv4 addresses: only the installed system is told it"


def test_servers_of_ipv6_and_time_servers_by_name_are_kept_and_it_is_told_who_hears_of_them() -> None:
    entry = document(name_servers=["2001:db8::53", "1.1.1.1"], time_servers=["ntp.lab.example", "172.30.0.1"])
    (interface,) = parse_hardware(json.dumps(entry)).interfaces
    assert interface.name_servers == (IPv6Address("2001:db8::53"), IPv4Address("1.1.1.1"))
    assert interface.time_servers == ("ntp.lab.example", IPv4Address("172.30.0.1"))
    assert notes_of(entry) == {
        "name_servers": f"2001:db8::53 {ONLY_METADATA}",
        "time_servers": f"ntp.lab.example {ONLY_METADATA}",
    }


def test_what_no_server_can_be_is_left_out_and_told() -> None:
    entry = document(name_servers=["dns.example"], time_servers=["-x-"])
    (interface,) = parse_hardware(json.dumps(entry)).interfaces
    assert (interface.name_servers, interface.time_servers) == ((), ())
    told = notes_of(entry)
    assert told["name_servers"] == "'dns.example' is no IP address, which a name server needs: left out"
    assert told["time_servers"] == "'-x-' is neither an address nor a name of a host: left out"
    assert "invalid ip: 7" in problems_of(document(name_servers=[7]))[0]


@pytest.mark.parametrize("length", ["64", "/64", "ffff:ffff:ffff:ffff::"])
def test_an_address_of_ipv6_is_kept_for_the_installed_system(length: str) -> None:
    ip = {"address": "2001:db8::5", "netmask": length, "gateway": "2001:db8::1", "family": 6}
    (interface,) = parse_hardware(json.dumps(document(ip=ip))).interfaces
    assert (interface.address, interface.netmask, interface.gateway) == (None, None, None)
    assert (interface.address6, interface.gateway6) == (IPv6Interface("2001:db8::5/64"), IPv6Address("2001:db8::1"))
    assert "told to the installed system alone" in notes_of(document(ip=ip))["ip.address"]


def test_addresses_of_two_families_that_do_not_fit_together_are_left_out_and_told() -> None:
    assert "no prefix" in notes_of(document(ip={"address": "2001:db8::5"}))["ip.address"]
    other = {"address": "192.168.1.5", "netmask": "255.255.255.0", "gateway": "fe80::1"}
    assert "fe80::1 is of IPv6" in notes_of(document(ip=other))["ip.gateway"]
    other = {"address": "2001:db8::5", "netmask": "64", "gateway": "192.168.1.1"}
    assert "192.168.1.1 is of IPv4" in notes_of(document(ip=other))["ip.gateway"]
    for wrong in ("255.255.0.0", "129", "ffff:0:ffff::"):
        (told,) = problems_of(document(ip={"address": "2001:db8::5", "netmask": wrong}))
        assert "invalid prefix of IPv6" in told


def test_misspelt_keys_of_2020_are_told_at_every_level() -> None:
    interface = {
        "dhcp": {"mac": "08:00:27:00:00:01", "hostnam": "x", "ip": {"adress": "192.168.1.5"}},
        "netboot": {"allow_pxee": True, "osie": {"kernal": "vmlinuz"}, "ipxe": {"ulr": ""}},
        "net_boot": {},
    }
    hardware = parse_hardware(json.dumps({"id": ID, "network": {"interfaces": [interface], "interface": []}}))
    place = "network.interfaces[0]"
    assert {each.key: each.text for each in hardware.remarks.all} == {
        "network.interface": "unknown key interface is ignored; did you mean interfaces?",
        f"{place}.net_boot": "unknown key net_boot is ignored; did you mean netboot?",
        f"{place}.dhcp.hostnam": "unknown key hostnam is ignored; did you mean hostname?",
        f"{place}.dhcp.ip.adress": "unknown key adress is ignored; did you mean address?",
        f"{place}.netboot.allow_pxee": "unknown key allow_pxee is ignored; did you mean allow_pxe?",
        f"{place}.netboot.ipxe.ulr": "unknown key ulr is ignored; did you mean url?",
        f"{place}.netboot.osie.kernal": "unknown key kernal is ignored; did you mean kernel?",
    }


def test_push_of_a_disabled_machine_says_what_takes_it_out_of_service() -> None:
    metadata = {"name": "node7", "annotations": {"tinkerbell.org/disabled": "no disk"}}
    interface = {"dhcp": {"mac": "08:00:27:00:00:01"}}
    entry = {"kind": "Hardware", "metadata": metadata, "spec": {"interfaces": [interface]}}
    (note,) = given_hardware(entry).remarks.notes
    assert note.key == "metadata.annotations"
    assert "`tinkbox hardware retire` takes it out" in note.text
    assert hardware_from_document(entry).remarks == Remarks()


def test_a_document_has_only_so_many_notes() -> None:
    keys = {f"key{number}": 0 for number in range(10_000)}
    assert len(parse_hardware(json.dumps(document(**keys))).remarks.ignored) == 100


@pytest.mark.parametrize(
    ("written", "meant"), [("x86-64", "x86_64"), ("AMD64", "x86_64"), ("arm64", "aarch64"), ("aarch64", "aarch64")]
)
def test_an_architecture_is_called_as_linux_calls_it(written: str, meant: str) -> None:
    hardware = parse_hardware(json.dumps(document(arch=written)))
    assert (hardware.interfaces[0].architecture, hardware.remarks.all) == (meant, ())


def test_an_architecture_without_an_osie_is_told_and_what_is_none_is_refused() -> None:
    assert parse_hardware(json.dumps(document(arch="riscv64"))).interfaces[0].architecture == "riscv64"
    assert notes_of(document(arch="riscv64"))["arch"].startswith("there is no OSIE for riscv64")
    for path in ("../../etc", "..", "a/b", "a\\b"):
        assert "is no architecture: known are x86_64, aarch64" in problems_of(document(arch=path))[0]
    (interface,) = parse_hardware(json.dumps(document(arch="x86 64"))).interfaces
    assert (interface.architecture, interface.architecture_told) == ("x86_64", False)
    assert notes_of(document(arch="x86 64"))["arch"].startswith("'x86 64' is no architecture, so x86_64 stands for it")


def test_an_architecture_that_is_none_in_a_stored_document_goes_into_no_path() -> None:
    (interface,) = hardware_from_document(document(arch="../../etc")).interfaces
    assert (interface.architecture, interface.architecture_told) == ("x86_64", False)


def test_a_flag_is_true_or_false_or_not_told() -> None:
    entry = document()
    entry["network"]["interfaces"][0]["netboot"]["allow_pxe"] = "yes"
    assert "network.interfaces[0].netboot.allow_pxe: expected true or false, not 'yes'" in problems_of(entry)
    entry["network"]["interfaces"][0]["netboot"]["allow_pxe"] = None
    assert parse_hardware(json.dumps(entry)).interfaces[0].allow_pxe


@pytest.mark.parametrize(("name", "is_one"), [
    ("node7", True), ("node7.lab.example", True), ("7", True), ("node_7", False), ("-a", False), ("a..b", False),
    ("a" * 64, False),
])  # fmt: skip
def test_a_host_name_that_is_none_is_told(name: str, *, is_one: bool) -> None:
    assert ("is no name of a host" not in notes_of(document(hostname=name)).get("hostname", "")) is is_one


@pytest.mark.parametrize("text", ["\ud800", "a" * 254, "line\nbreak", "\x1b[2J"])
@pytest.mark.parametrize("name", ["hostname", "domain_name", "arch"])
def test_text_that_does_not_fit_a_dhcp_option_is_refused(name: str, text: str) -> None:
    assert f"dhcp.{name}: expected at most 253 bytes of printable text" in problems_of(document(**{name: text}))[0]


def test_a_host_name_that_is_not_seen_whole_is_refused_and_a_stored_one_is_read() -> None:
    entry = document(hostname="node1\ufe0f")
    (told,) = problems_of(entry)
    assert told == r"network.interfaces[0].dhcp.hostname: 'node1\ufe0f' may only have letters that can be shown"
    assert hardware_from_document(entry).interfaces[0].hostname == "node1\ufe0f"


def test_a_list_of_servers_is_bounded() -> None:
    entry = document(name_servers=[f"1.1.1.{number}" for number in range(9)])
    assert len(parse_hardware(json.dumps(entry)).interfaces[0].name_servers) == MAX_ADDRESSES
    assert notes_of(entry) == {"name_servers": "9 servers: only the first 8 are used"}


def kind_hardware(interface: dict[str, Any], **spec: Any) -> dict[str, Any]:
    metadata = {"name": "machine1", "namespace": "tink"}
    return {"kind": "Hardware", "metadata": metadata, "spec": {"interfaces": [interface], **spec}}


def test_todays_document_is_understood_and_kept_as_it_is() -> None:
    dhcp = {
        "mac": "08:00:27:00:00:01",
        "hostname": "server001",
        "ip": {"address": "192.168.1.5", "netmask": "255.255.255.0"},
    }
    entry = kind_hardware({"dhcp": dhcp, "netboot": {"allowPXE": True}}, agentID="agent-7")
    hardware = hardware_from_document(entry)
    (interface,) = hardware.interfaces
    assert hardware.id == identity("tink", "machine1")
    assert (hardware.name, hardware.agent_id, hardware.document) == ("machine1", "agent-7", entry)
    assert (interface.mac, str(interface.address), interface.allow_pxe, interface.dhcp) == (
        "08:00:27:00:00:01",
        "192.168.1.5",
        True,
        True,
    )


def test_what_todays_document_does_not_allow_is_not_allowed() -> None:
    dhcp = {"mac": "08:00:27:00:00:01"}
    for netboot in ({}, {"netboot": {}}, {"netboot": {"allowPXE": False}}):
        assert not hardware_from_document(kind_hardware({"dhcp": dhcp, **netboot})).interfaces[0].allow_pxe
    assert not hardware_from_document(kind_hardware({"dhcp": dhcp, "disableDhcp": True})).interfaces[0].dhcp
    assert parse_hardware(json.dumps(document())).interfaces[0].dhcp


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"kind": "Hardware"}, "metadata.name: a name is required"),
        (kind_hardware({"dhcp": {"mac": "zz"}}), "spec.interfaces[0].dhcp.mac: invalid mac"),
        (kind_hardware({"dhcp": {"mac": "zz"}, "netboot": []}), "spec.interfaces[0].netboot: expected an object"),
    ],
)
def test_todays_document_is_refused_under_its_own_names(entry: dict[str, Any], said: str) -> None:
    assert any(problem.startswith(said) for problem in problems_of(entry))


def test_what_boots_for_no_workflow_is_told_of_documents_of_2020_only() -> None:
    of_2020 = document()
    of_2020["network"]["interfaces"][0]["netboot"] = {"allow_pxe": True, "allow_workflow": False}
    machine = parse_hardware(json.dumps(of_2020))
    assert not machine.interfaces[0].allow_workflow
    assert "boots the OSIE for no workflow" in str(machine.remarks)
    todays = kind_hardware(
        {"dhcp": {"mac": "08:00:27:00:00:01"}, "netboot": {"allowPXE": True, "allowWorkflow": False}}
    )
    assert hardware_from_document(todays).interfaces[0].allow_workflow


def test_a_machine_that_may_netboot_differs_in_nothing_else() -> None:
    todays = hardware_from_document(kind_hardware({"dhcp": {"mac": "08:00:27:00:00:01"}}))
    of_2020 = document()
    of_2020["network"]["interfaces"][0]["netboot"] = {"allow_pxe": False, "allow_workflow": True}
    for machine in (todays, hardware_from_document(of_2020)):
        allowing = allowing_netboot(machine)
        assert allowing.interfaces == tuple(replace(each, allow_pxe=True) for each in machine.interfaces)
        assert hardware_from_document(allowing.document) == allowing
        assert not machine.interfaces[0].allow_pxe
        assert hardware_from_document(machine.document) == machine


@pytest.mark.parametrize(
    ("value", "vlan"), [("42", 42), (42, 42), ("4094", 4094), ("0", None), (0, None), ("", None), (None, None)]
)
def test_a_vlan_is_a_number_in_text_or_not(value: object, vlan: int | None) -> None:
    assert hardware_from_document(document(vlan_id=value)).interfaces[0].vlan_id == vlan


@pytest.mark.parametrize("value", ["4095", 4096, "10,20"])
def test_a_vlan_that_tinkerbell_takes_and_no_switch_has_is_told_and_left_out(value: object) -> None:
    assert parse_hardware(json.dumps(document(vlan_id=value))).interfaces[0].vlan_id is None
    assert notes_of(document(vlan_id=value)) == {
        "vlan_id": f"expected one VLAN between 0 and 4094, so {value} is left out"
    }


@pytest.mark.parametrize("seconds", [-1, 2**32])
def test_a_lease_of_no_length_is_told_and_lasts_a_day(seconds: int) -> None:
    assert parse_hardware(json.dumps(document(lease_time=seconds))).interfaces[0].lease_seconds == 86_400
    assert "86400 are given instead" in notes_of(document(lease_time=seconds))["lease_time"]


@pytest.mark.parametrize("value", ["-1", -1, "lab", "4²", True, 1.5, [42], "10,", "99999"])
def test_what_is_no_vlan_is_refused(value: object) -> None:
    (problem,) = problems_of(document(vlan_id=value))
    assert "network.interfaces[0].dhcp.vlan_id: expected a VLAN between 0 and 4094" in problem


def test_routes_are_read_in_their_order() -> None:
    entries = [
        {"destination_descriptor": "10.0.0.0/8", "router": "172.30.0.9"},
        {"destination_descriptor": "192.168.7.1", "router": "172.30.0.8"},
        {"destination_descriptor": "10.1.2.3/16", "router": "172.30.0.8"},
    ]
    (interface,) = hardware_from_document(document(classless_static_routes=entries)).interfaces
    assert interface.routes == (
        Route(network=IPv4Network("10.0.0.0/8"), router=IPv4Address("172.30.0.9")),
        Route(network=IPv4Network("192.168.7.1/32"), router=IPv4Address("172.30.0.8")),
        Route(network=IPv4Network("10.1.0.0/16"), router=IPv4Address("172.30.0.8")),
    )
    many = document(classless_static_routes=entries[:1] * 17)
    assert len(parse_hardware(json.dumps(many)).interfaces[0].routes) == MAX_ROUTES
    assert notes_of(many) == {"classless_static_routes": "17 routes: only the first 16 are used"}
    assert hardware_from_document(document()).interfaces[0].routes == ()


@pytest.mark.parametrize(
    ("entries", "where", "why"),
    [
        ("10.0.0.0/8", "", "expected a list"),
        (["10.0.0.0/8"], "[0]", "expected an object"),
        ([{"router": "172.30.0.9"}], "[0].destination_descriptor", "expected a network, like 10.0.0.0/8, not ''"),
        ([{"destination_descriptor": "10.0.0.0/8"}], "[0].router", "a route needs its router"),
        ([{"destination_descriptor": "10.0.0.0/8", "router": "lab"}], "[0].router", "invalid ip: 'lab'"),
    ],
)
def test_what_is_no_route_is_refused_by_its_place(entries: object, where: str, why: str) -> None:
    problem = problems_of(document(classless_static_routes=entries))[0]
    assert f"network.interfaces[0].dhcp.classless_static_routes{where}: " in problem
    assert why in problem


def test_labels_of_2020_stand_at_the_outermost_level() -> None:
    document = {"id": "x", "labels": {"rack": "r1"}}
    assert declared_labels(document) == {"rack": "r1"}
    assert declared_labels({"id": "x"}) is None
    assert declared_labels({"id": "x", "labels": ["what it meant before there were labels"]}) is None
    with pytest.raises(Invalid):
        declared_labels({"id": "x", "labels": {"rack": "%"}})


def test_a_machine_that_may_netboot_keeps_the_labels_that_it_has() -> None:
    document = {
        "kind": "Hardware",
        "metadata": {"name": "a", "labels": {"rack": "r1"}},
        "spec": {"interfaces": [{"dhcp": {"mac": "08:00:27:00:00:01"}}]},
    }
    changed = allowing_netboot(replace(hardware_from_document(document), labels={"rack": "r2"}))
    assert (changed.labels, declared_labels(changed.document)) == ({"rack": "r2"}, {"rack": "r2"})


@pytest.mark.parametrize("document", [
    {"id": ID, "labels": {"-bad": "r1"}, "network": {"interfaces": [{"dhcp": {"mac": "08:00:27:00:00:01"}}]}},
    {"kind": "Hardware", "metadata": {"name": "a", "labels": {"-bad": "r1"}},
     "spec": {"interfaces": [{"dhcp": {"mac": "08:00:27:00:00:01"}}]}},
])  # fmt: skip
def test_a_machine_of_an_earlier_release_may_netboot_whatever_labels_its_document_has(document: dict[str, Any]) -> None:
    changed = allowing_netboot(replace(hardware_from_document(document), labels={"rack": "r2"}))
    assert declared_labels(changed.document) == {"rack": "r2"}
