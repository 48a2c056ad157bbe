"""Network-config of a hardware document: static, VLAN, bond, DHCP."""

from tests.unit.wire.metadata.instances import hardware, machine
from tinkbox.wire.metadata.network_config import network_config

FIRST = {
    "mac": "52:54:00:12:34:56",
    "domain_name": "lab.example",
    "name_servers": ["172.30.0.53"],
    "ip": {"address": "172.30.0.5", "netmask": "255.255.255.0", "gateway": "172.30.0.1"},
}
STATIC = {
    "dhcp4": False,
    "addresses": ["172.30.0.5/24"],
    "routes": [{"to": "0.0.0.0/0", "via": "172.30.0.1"}],
    "nameservers": {"addresses": ["172.30.0.53"], "search": ["lab.example"]},
}
SECOND = {"mac": "52:54:00:12:34:57"}


def card(number: int, name: str = "") -> dict[str, object]:
    named = {"set-name": name} if name else {}
    return {"match": {"macaddress": f"52:54:00:12:34:{56 + number}"}, **named}


def test_a_reserved_address_is_static_and_what_has_none_asks_by_dhcp() -> None:
    made = network_config(hardware(FIRST, SECOND))
    assert made == {
        "version": 2,
        "ethernets": {"eth0": {**card(0), **STATIC}, "eth1": {**card(1), "dhcp4": True, "optional": True}},
    }


def test_only_the_card_that_netboots_is_waited_for() -> None:
    assert network_config(hardware(SECOND))["ethernets"]["eth0"] == {**card(1), "dhcp4": True}
    static = {**SECOND, "ip": {"address": "172.30.1.5", "netmask": "255.255.255.0"}}
    cards = network_config(hardware(FIRST, static))["ethernets"]
    assert ("optional" in cards["eth0"], cards["eth1"]["optional"]) == (False, True)
    netboots = [{"dhcp": SECOND, "netboot": {"allow_pxe": False}}, {"dhcp": FIRST, "netboot": {"allow_pxe": True}}]
    cards = network_config(machine(*netboots))["ethernets"]
    assert (cards["eth0"]["optional"], "optional" in cards["eth1"]) == (True, False)


def test_a_card_keeps_the_name_that_its_system_gives_it() -> None:
    cards = network_config(hardware(FIRST, SECOND))["ethernets"]
    assert not any("set-name" in each for each in cards.values())


def test_an_address_on_a_vlan_is_on_top_of_the_card() -> None:
    made = network_config(hardware({**FIRST, "vlan_id": "100"}))
    assert made["ethernets"]["eth0"] == {**card(0, "eth0"), "dhcp4": False, "optional": True}
    assert made["vlans"] == {"eth0.100": {"id": 100, "link": "eth0", **STATIC}}


def test_vlans_whose_names_would_be_the_same_each_keep_their_address() -> None:
    other = {**SECOND, "ip": {"address": "172.30.1.5", "netmask": "255.255.255.0"}}
    long = [
        {**card, "iface_name": f"enp129s0f0np{number}", "vlan_id": 100} for number, card in enumerate([FIRST, other])
    ]
    vlans = network_config(hardware(*long))["vlans"]
    assert {name: (each["link"], each["addresses"]) for name, each in vlans.items()} == {
        "enp129s0f0.100": ("enp129s0f0np0", ["172.30.0.5/24"]),
        "vlan0.100": ("enp129s0f0np1", ["172.30.1.5/24"]),
    }
    dotted = [{**FIRST, "iface_name": "eno1", "vlan_id": 100}, {**other, "iface_name": "eno1.100"}]
    assert list(network_config(hardware(*dotted))["vlans"]) == ["vlan0.100"]


def test_cards_of_a_bonding_mode_are_one_bond() -> None:
    made = network_config(hardware(SECOND, FIRST), 4)
    assert made["ethernets"] == {"eth0": card(1, "eth0"), "eth1": card(0, "eth1")}
    bond = made["bonds"]["bond0"]
    assert (bond["interfaces"], bond["macaddress"]) == (["eth0", "eth1"], FIRST["mac"])
    assert bond["parameters"]["mode"] == "802.3ad"
    assert {name: bond[name] for name in STATIC} == STATIC


def test_every_mode_of_linux_that_is_no_zero_is_known_and_one_card_is_no_bond() -> None:
    modes = [
        network_config(hardware(FIRST, SECOND), mode)["bonds"]["bond0"]["parameters"]["mode"] for mode in range(1, 7)
    ]
    assert modes == ["active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb"]
    for mode in (0, 7, -1):
        assert "bonds" not in network_config(hardware(FIRST, SECOND), mode)
    assert "bonds" not in network_config(hardware(FIRST), 4)


def test_a_bond_on_a_vlan_has_its_address_there() -> None:
    made = network_config(hardware({**FIRST, "vlan_id": 7}, SECOND), 1)
    assert made["vlans"] == {"bond0.7": {"id": 7, "link": "bond0", **STATIC}}


def test_classless_routes_are_routes_and_their_default_stands_for_the_gateway() -> None:
    routes = [{"destination_descriptor": "10.0.0.0/8", "router": "172.30.0.2"}]
    made = network_config(hardware({**FIRST, "classless_static_routes": routes}))
    assert made["ethernets"]["eth0"]["routes"] == [*STATIC["routes"], {"to": "10.0.0.0/8", "via": "172.30.0.2"}]
    routes = [{"destination_descriptor": "0.0.0.0/0", "router": "172.30.0.9"}]
    made = network_config(hardware({**FIRST, "classless_static_routes": routes}))
    assert made["ethernets"]["eth0"]["routes"] == [{"to": "0.0.0.0/0", "via": "172.30.0.9"}]


def test_a_card_has_the_documents_name_where_linux_takes_it() -> None:
    names = [{**SECOND, "iface_name": "eno1"}, {**FIRST, "iface_name": "a name/that is none"}]
    assert list(network_config(hardware(*names))["ethernets"]) == ["eno1", "eth0"]
    assert network_config(hardware(*names))["ethernets"]["eno1"]["set-name"] == "eno1"
    for twice in ([{**SECOND, "iface_name": "eth0"}, FIRST], [FIRST, {**SECOND, "iface_name": "eth0"}]):
        assert sorted(network_config(hardware(*twice))["ethernets"]) == ["eth0", "eth1"]


def test_name_servers_and_addresses_of_ipv6_are_told() -> None:
    made = network_config(hardware({**FIRST, "name_servers": ["2001:db8::53", "172.30.0.53"]}))
    assert made["ethernets"]["eth0"]["nameservers"]["addresses"] == ["2001:db8::53", "172.30.0.53"]
    ip = {"address": "2001:db8::5", "netmask": "64", "gateway": "2001:db8::1"}
    made = network_config(hardware({"mac": FIRST["mac"], "ip": ip, "name_servers": ["2001:db8::53", "1.1.1.1"]}))
    assert made["ethernets"]["eth0"] == {
        **card(0),
        "dhcp4": True,
        "addresses": ["2001:db8::5/64"],
        "routes": [{"to": "::/0", "via": "2001:db8::1"}],
        "nameservers": {"addresses": ["2001:db8::53"]},
    }


def test_a_card_keeps_its_name_behind_an_interface_without_a_mac() -> None:
    made = network_config(hardware({"iface_name": "bmc"}, {**FIRST, "iface_name": "lan0"}))
    assert list(made["ethernets"]) == ["lan0"]
