"""Hardware documents of both forms, changed."""

import json
from ipaddress import IPv4Address, IPv4Interface
from typing import Any

import pytest

from tinkbox.engine.machines.editing import Edit, edited
from tinkbox.engine.machines.hardware_document import Added, Reservation, added_hardware
from tinkbox.model.documents.hardware import ID_ANNOTATION, hardware_from_document
from tinkbox.model.errors import Invalid
from tinkbox.model.hardware import Hardware, MacAddress, primary
from tinkbox.model.labels import LabelChange

FIRST, SECOND, NEW = (MacAddress(f"08:00:27:00:00:0{number}") for number in (1, 2, 9))
ID = "0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94"


def of_2020(**more: Any) -> Hardware:
    dhcp = {
        "mac": FIRST,
        "hostname": "node1",
        "ip": {"address": "172.30.0.11", "netmask": "255.255.255.0", "gateway": "172.30.0.1", "family": 4},
        "lease_time": 600,
    }
    interfaces = [{"dhcp": dhcp, "netboot": {"allow_pxe": True, "osie": {}}}, {"dhcp": {"mac": SECOND}}]
    return hardware_from_document({"id": ID, "network": {"interfaces": interfaces}, "strange": [1], **more})


def of_today() -> Hardware:
    reserved = Reservation(address=IPv4Interface("172.30.0.11/24"), gateway=IPv4Address("172.30.0.1"))
    return added_hardware(Added(macs=(FIRST, SECOND), name="node1", ssh_keys=("ssh-ed25519 AAAA",)), reserved)


BOTH = pytest.mark.parametrize("hardware", [of_2020(), of_today()], ids=["2020", "today"])


@BOTH
def test_nothing_to_change_changes_nothing(hardware: Hardware) -> None:
    assert edited(hardware, Edit()) == hardware


@BOTH
def test_the_machine_that_was_given_stays_as_it_is(hardware: Hardware) -> None:
    before = json.dumps(hardware.document)
    edited(hardware, Edit(name="node2", removed_macs=(FIRST,), disks=("/dev/sda",), ssh_keys=()))
    assert json.dumps(hardware.document) == before


@BOTH
def test_a_name_is_also_the_hostname_and_the_id_stays(hardware: Hardware) -> None:
    renamed = edited(hardware, Edit(name="node2"))
    assert (renamed.id, primary(renamed).hostname) == (hardware.id, "node2")
    assert hardware_from_document(json.loads(json.dumps(renamed.document))).id == hardware.id
    assert edited(renamed, Edit(name="node3")).id == hardware.id


def test_a_renamed_document_says_whose_it_is() -> None:
    renamed = edited(of_today(), Edit(name="node2"))
    assert renamed.document["metadata"] == {"name": "node2", "annotations": {ID_ANNOTATION: of_today().id}}
    assert renamed.document["spec"]["metadata"]["instance"]["hostname"] == "node2"
    with pytest.raises(Invalid, match="invalid uuid"):
        hardware_from_document({**renamed.document, "metadata": {"name": "a", "annotations": {ID_ANNOTATION: "x"}}})


@BOTH
@pytest.mark.parametrize("name", ["Node 2", "a.b", "-", "x" * 64])
def test_a_name_that_no_host_can_have_is_refused(hardware: Hardware, name: str) -> None:
    with pytest.raises(Invalid, match="a name is small letters"):
        edited(hardware, Edit(name=name))


@BOTH
def test_an_address_keeps_the_gateway_where_that_is_on_its_network(hardware: Hardware) -> None:
    near = primary(edited(hardware, Edit(reservation=Reservation(address=IPv4Interface("172.30.0.99/24")))))
    assert (str(near.address), str(near.gateway)) == ("172.30.0.99", "172.30.0.1")
    far = primary(edited(hardware, Edit(reservation=Reservation(address=IPv4Interface("10.0.0.9/8")))))
    assert (str(far.address), str(far.netmask), far.gateway) == ("10.0.0.9", "255.0.0.0", None)


@BOTH
def test_a_gateway_alone_must_be_another_host_of_the_network(hardware: Hardware) -> None:
    assert str(primary(edited(hardware, Edit(gateway=IPv4Address("172.30.0.254")))).gateway) == "172.30.0.254"
    for wrong in ("10.0.0.1", "172.30.0.11"):
        with pytest.raises(Invalid, match="is no other host of the network"):
            edited(hardware, Edit(gateway=IPv4Address(wrong)))
    bare = added_hardware(Added(macs=(FIRST,)), None)
    with pytest.raises(Invalid, match="no address of its own"):
        edited(bare, Edit(gateway=IPv4Address("172.30.0.254")))


@BOTH
def test_what_takes_a_cards_place_gets_its_name_and_its_address(hardware: Hardware) -> None:
    swapped = edited(hardware, Edit(removed_macs=(FIRST, SECOND), added_macs=(NEW,)))
    (card,) = swapped.interfaces
    assert (card.mac, card.hostname, str(card.address), card.allow_pxe) == (NEW, "node1", "172.30.0.11", True)
    second = edited(hardware, Edit(removed_macs=(FIRST,)))
    assert [(each.mac, str(each.address)) for each in second.interfaces] == [(SECOND, "172.30.0.11")]


@BOTH
def test_cards_that_are_not_there_or_all_of_them_cannot_go(hardware: Hardware) -> None:
    with pytest.raises(Invalid, match=f"{NEW} is no card of this machine: it has {FIRST}, {SECOND}"):
        edited(hardware, Edit(removed_macs=(NEW,)))
    with pytest.raises(Invalid, match="a machine needs one card at least"):
        edited(hardware, Edit(removed_macs=(FIRST, SECOND)))
    with pytest.raises(Invalid, match="the address of no network card"):
        edited(hardware, Edit(added_macs=(MacAddress("ff:ff:ff:ff:ff:ff"),)))
    assert edited(hardware, Edit(added_macs=(FIRST,))) == hardware


def test_an_interface_with_the_mac_of_no_card_is_no_card_of_the_machine() -> None:
    hardware = without_mac(interfaces=[{"dhcp": {"mac": "00:00:00:00:00:00"}}, {"dhcp": {"mac": str(FIRST)}}])
    with pytest.raises(Invalid, match="a machine needs one card at least"):
        edited(hardware, Edit(removed_macs=(FIRST,)))
    swapped = edited(hardware, Edit(removed_macs=(FIRST,), added_macs=(NEW,)))
    assert [each.mac for each in swapped.interfaces] == [NEW]


@BOTH
def test_what_people_wrote_beside_stays(hardware: Hardware) -> None:
    changed = edited(hardware, Edit(name="node2", disks=("/dev/sda",), ssh_keys=("ssh-ed25519 BBBB",)))
    if hardware.document.get("kind") != "Hardware":
        assert changed.document["strange"] == [1]
        assert changed.document["network"]["interfaces"][0]["dhcp"]["lease_time"] == 600
        instance = changed.document["metadata"]["instance"]
        assert instance == {"storage": {"disks": [{"device": "/dev/sda"}]}, "ssh_keys": ["ssh-ed25519 BBBB"]}
    else:
        assert changed.document["spec"]["disks"] == [{"device": "/dev/sda"}]
        assert changed.document["spec"]["metadata"]["instance"]["ssh_keys"] == ["ssh-ed25519 BBBB"]


def test_metadata_that_is_no_object_is_left_to_the_editor() -> None:
    with pytest.raises(Invalid, match="metadata of its hardware document is no object"):
        edited(of_2020(metadata="text"), Edit(ssh_keys=()))


def test_labels_stand_in_todays_documents_too() -> None:
    change = LabelChange(set=(("rack", "r1"),))
    assert edited(of_today(), Edit(labels=change)).document["metadata"]["labels"] == {"rack": "r1"}
    changed = edited(of_2020(), Edit(labels=change))
    assert (changed.labels, changed.document) == ({"rack": "r1"}, of_2020().document)
    declared = edited(of_2020(labels={"-not": "one"}), Edit(labels=change)).document
    assert declared == {**of_2020().document, "labels": {"rack": "r1"}}, "those that it has, and none that may not be"


def without_mac(**spec: Any) -> Hardware:
    return hardware_from_document({"kind": "Hardware", "metadata": {"name": "node1"}, "spec": spec})


@pytest.mark.parametrize("spec", [{"agentID": "agent-7"}, {"interfaces": [{"dhcp": {"hostname": "node1"}}]}])
def test_a_machine_without_a_mac_is_renamed_and_gets_its_first_card(spec: dict[str, Any]) -> None:
    hardware = without_mac(**spec)
    assert edited(hardware, Edit()) == hardware
    assert edited(hardware, Edit(name="node2")).name == "node2"
    reserved = Reservation(address=IPv4Interface("172.30.0.11/24"))
    made = edited(hardware, Edit(added_macs=(FIRST, SECOND), reservation=reserved, name="node2"))
    assert [each.mac for each in made.interfaces] == [FIRST, SECOND]
    (first, *_) = made.interfaces
    assert (str(first.address), first.hostname, first.allow_pxe) == ("172.30.0.11", "node2", True)
    with pytest.raises(Invalid, match="no MAC to which an address could be given: give one with --add-mac"):
        edited(hardware, Edit(reservation=reserved))
    with pytest.raises(Invalid, match="is no card of this machine: it has none"):
        edited(hardware, Edit(removed_macs=(FIRST,)))


def test_the_card_that_is_shown_is_changed_behind_an_interface_without_a_mac() -> None:
    hardware = without_mac(interfaces=[None, {"dhcp": {"hostname": "bmc"}}, {"dhcp": {"mac": FIRST}}])
    renamed = edited(hardware, Edit(name="node2"))
    assert [(each or {}).get("dhcp") for each in renamed.document["spec"]["interfaces"]] == [
        None,
        {"hostname": "bmc"},
        {"mac": FIRST, "hostname": "node2"},
    ]
    with pytest.raises(Invalid, match="one card at least"):
        edited(hardware, Edit(removed_macs=(FIRST,)))


def test_an_address_of_ipv4_takes_the_place_of_one_of_ipv6() -> None:
    ip = {"address": "2001:db8::5", "netmask": "64", "gateway": "2001:db8::1", "family": 6}
    hardware = without_mac(interfaces=[{"dhcp": {"mac": FIRST, "ip": ip}}])
    made = edited(hardware, Edit(reservation=Reservation(address=IPv4Interface("172.30.0.11/24"))))
    assert made.document["spec"]["interfaces"][0]["dhcp"]["ip"] == {
        "address": "172.30.0.11",
        "netmask": "255.255.255.0",
    }
