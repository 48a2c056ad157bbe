"""Lists of machines as other programs keep them; tests/golden/machine_lists has one of each."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.model.errors import Invalid, TooLarge
from tinkbox.model.hardware import MacAddress
from tinkbox.model.machine_lists import MOST_LISTED, ListedMachine, listed_document, listed_machine
from tinkbox.wire.machine_lists import csv_lists
from tinkbox.wire.machine_lists.listing import Listing, parse_network
from tinkbox.wire.machine_lists.reading import MAX_JSON, MAX_LINE, MAX_TEXT, Kind, read_lists, recognised

SAMPLES = Path(__file__).parents[3] / "golden" / "machine_lists"
KINDS = {
    "machines.csv": Kind.CSV,
    "dnsmasq.conf": Kind.DNSMASQ,
    "dnsmasq.hosts": Kind.DNSMASQ,
    "dnsmasq.leases": Kind.DNSMASQ_LEASES,
    "dhcpd.conf": Kind.ISC,
    "dhcpd.leases": Kind.ISC_LEASES,
    "kea-dhcp4.conf": Kind.KEA,
    "kea-leases4.csv": Kind.KEA_LEASES,
    "maas.json": Kind.MAAS,
    "netbox-devices.csv": Kind.NETBOX,
    "netbox-interfaces.csv": Kind.NETBOX,
}


# Before the leases of the samples are over.
NOW = datetime(2025, 11, 27, 15, 59, tzinfo=UTC)


def sample(*names: str) -> Listing:
    return read_lists([(each, (SAMPLES / each).read_bytes()) for each in names], now=NOW)


def read(text: str | bytes, kind: Kind | None = None, now: datetime = NOW) -> Listing:
    return read_lists([("list", text if isinstance(text, bytes) else text.encode())], kind, now=now)


def read_files(**files: str) -> Listing:
    return read_lists([(name, text.encode()) for name, text in files.items()], now=NOW)


def mac(number: int, other: int = 0) -> str:
    return f"08:00:27:00:{other:02x}:{number:02x}"


def told(machine: ListedMachine) -> tuple[object, ...]:
    """Everything but its place."""
    fields = listed_document(machine)
    return tuple(fields.get(name, "") for name in ("macs", "name", "address", "gateway", "labels", "notes"))


def problems(listing: Listing) -> list[str]:
    return [str(each) for each in listing.problems]


def left_out(listing: Listing) -> list[str]:
    return [str(each) for each in listing.left_out]


def changed(listing: Listing) -> list[str]:
    return [str(each) for each in listing.changed]


@pytest.mark.parametrize(("name", "kind"), KINDS.items())
def test_the_kind_of_a_list_is_recognised_by_what_it_has(name: str, kind: Kind) -> None:
    text = (SAMPLES / name).read_bytes().decode("utf-8-sig")
    assert recognised(text) is kind
    assert not sample(name).problems


def test_every_kind_has_a_sample() -> None:
    assert set(KINDS.values()) == set(Kind)
    assert set(KINDS) == {each.name for each in SAMPLES.iterdir()}


def test_csv_columns_come_in_any_order_with_labels_and_notes() -> None:
    listing = sample("machines.csv")
    assert [told(each) for each in listing.machines] == [
        (
            [mac(1), mac(1, 1), mac(2, 1)],
            "node1",
            "172.30.0.11/24",
            "172.30.0.1",
            {"gpu": "no", "owner": "anna", "rack": "r1"},
            ["loud fan", "on loan; until March"],
        ),
        ([mac(2)], "node2", "", "", "", ""),
        ([mac(3)], "", "172.30.0.13", "", {"rack": "r1"}, ""),
    ]
    assert [each.line for each in listing.machines] == [4, 6, 7]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_csv_takes_the_separators_and_encodings_of_spreadsheets(separator: str, encoding: str) -> None:
    text = f"name{separator}mac\r\nnode1{separator}{mac(1)}\r\n"
    (machine,) = read(text.encode(encoding)).machines
    assert (machine.name, machine.macs) == ("node1", (MacAddress(mac(1)),))


def test_every_problem_of_a_csv_is_told_with_its_line() -> None:
    listing = read(
        f"mac,name,ip,gateway,labels\n08:00,node1,,,\n{mac(2)},Node_2,,,\n{mac(3)},,172.30.0.300,,\n"
        f"{mac(4)},,172.30.0.4,,gpu\n{mac(5)},,,172.30.0.1,\n{mac(6)},,,,rack=a b c\n,node7,,,\n{mac(8)},a,b,c,d,e\n"
        f"{mac(9)},,,,\n{mac(9)},,,,\n01:00:00:00:00:01,,,,\n"
    )
    assert [each.macs[0] for each in listing.machines] == [mac(9), mac(9)]
    found = problems(listing)
    for expected in (
        "line 2: invalid mac: '08:00'",
        "line 3: a name is small letters, digits and dashes, at most 63, not 'Node_2': try node-2",
        "line 4: invalid ip: '172.30.0.300'",
        "line 5: 'gpu' is no label: write KEY=VALUE",
        "line 6: it has a gateway and no address",
        "line 7: 'b' is no label",
        "line 8: it has no MAC",
        "line 9: it has 6 cells, and the header row 5",
        f"line 11: {mac(9)} is listed twice: at line 10 too",
        "line 12: invalid mac: 01:00:00:00:00:01 is the address of no network card",
    ):
        assert any(each.startswith(expected) for each in found), (expected, found)
    assert len(found) == 10


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{mac(1)},node1\n", "the first line names no columns"),
        (f"mac,adress\n{mac(1)},172.30.0.1\n", "unknown column 'adress': did you mean ip?"),
        (f"mac,ip,address\n{mac(1)},172.30.0.1,172.30.0.1\n", "two columns say the same: ip"),
        ("name,ip\nnode1,172.30.0.1\n", "no column is called mac"),
    ],
)
def test_a_csv_without_the_header_that_it_needs_is_refused(text: str, expected: str) -> None:
    with pytest.raises(Invalid, match="list: ") as refused:
        read(text, Kind.CSV)
    assert expected in str(refused.value)


def test_a_column_that_means_nothing_is_told_and_left_out() -> None:
    listing = read(f"mac,serial\n{mac(1)},XY12\n")
    assert len(listing.machines) == 1
    assert left_out(listing) == ["line 1: unknown column 'serial': call it label:serial to have it as a label"]


words = st.from_regex(r"[a-z0-9](-?[a-z0-9]){0,8}", fullmatch=True)
addresses = st.integers(1, 2**32 - 2).map(IPv4Address)


@st.composite
def machines(draw: st.DrawFn, number: int) -> ListedMachine:
    count, address = draw(st.integers(1, 3)), draw(st.none() | st.just(IPv4Address("172.30.0.11") + number))
    cards = tuple(MacAddress(f"08:00:27:{number:02x}:{each:02x}:00") for each in range(count))
    texts = st.text(st.characters(categories=["L", "N", "P", "S"], include_characters=" "), min_size=1, max_size=40)
    notes = draw(st.lists(texts.map(lambda text: " ".join(text.split())).filter(bool), max_size=3, unique=True))
    return ListedMachine(
        macs=cards,
        name=draw(st.just("") | words.map(lambda word: f"{word}{number}")),
        address=address,
        prefix=draw(st.none() | st.integers(1, 32)) if address else None,
        gateway=draw(st.none() | addresses) if address else None,
        labels=draw(st.dictionaries(words, st.just("") | words, max_size=4)),
        notes=tuple(each for each in notes if each.isprintable()),
    )


@given(st.integers(1, 6).flatmap(lambda count: st.tuples(*(machines(number) for number in range(count)))))
def test_a_list_survives_writing_as_csv_and_reading(listed: Sequence[ListedMachine]) -> None:
    read_back = read(csv_lists.write(listed))
    assert problems(read_back) == []
    assert [told(each) for each in read_back.machines] == [told(each) for each in listed]


def test_dnsmasq_hosts_have_their_tags_as_labels() -> None:
    listing = sample("dnsmasq.conf")
    assert [told(each) for each in listing.machines] == [
        ([mac(1)], "node1", "172.30.0.11", "", {"gpu": "yes"}, ""),
        ([mac(2), mac(2, 1)], "node2", "172.30.0.12", "", "", ""),
        ([mac(3)], "node3", "", "", {"old": "yes"}, ""),
    ]
    assert [each.line for each in listing.machines] == [5, 6, 7]
    assert left_out(listing) == [
        "line 8: it names no MAC",
        "line 9: dnsmasq is told to ignore it",
        "line 10: '08:00:27:00:*:*' is many MACs",
    ]
    assert [told(each)[:2] for each in sample("dnsmasq.hosts").machines] == [([mac(1)], "node1"), ([mac(2)], "node2")]


def test_of_dnsmasqs_leases_the_last_of_a_card_counts_and_those_of_v6_are_left_out() -> None:
    listing = sample("dnsmasq.leases")
    assert [told(each)[:3] for each in listing.machines] == [
        ([mac(1)], "node1", "172.31.0.101"),
        ([mac(2)], "", "172.30.0.102"),
    ]
    assert [each.line for each in listing.machines] == [3, 2]
    assert len(listing.left_out) == 2


def test_isc_hosts_are_found_in_groups_and_get_prefix_and_router_of_their_subnet() -> None:
    listing = sample("dhcpd.conf")
    assert [told(each)[:4] for each in listing.machines] == [
        ([mac(0)], "node0", "", ""),
        ([mac(1)], "node1", "172.30.0.11/24", "172.30.0.1"),
        ([mac(2)], "node2", "172.30.0.12/24", "172.30.0.254"),
        ([mac(3)], "node3", "", ""),
    ]
    assert [each.line for each in listing.machines] == [5, 12, 13, 23]
    assert left_out(listing) == [
        "line 22: host 'printer' names no MAC of an Ethernet card",
    ]
    assert changed(listing) == [
        "line 13: host 'n2' is imported with 172.30.0.12, without '172.31.0.12'",
        "line 23: the address of host 'node3' is a name: it is imported without one",
        "1 name without the domain: 'node2.lab.example' as node2",
    ]


def test_of_iscs_leases_the_last_of_an_address_counts_while_it_is_active() -> None:
    listing = sample("dhcpd.leases")
    assert [(*told(each)[:3], each.line) for each in listing.machines] == [([mac(1)], "node1", "172.30.0.101", 17)]
    assert left_out(listing) == ["line 13: '172.30.0.102' is not lent now"]


def test_kea_reservations_are_found_on_every_level_between_comments() -> None:
    listing = sample("kea-dhcp4.conf")
    assert [(*told(each), each.key) for each in listing.machines] == [
        ([mac(1)], "node1", "", "", "", "", "Dhcp4.reservations[0]"),
        (
            [mac(2)],
            "node2",
            "172.30.0.12/24",
            "172.30.0.1",
            {"gpu": "yes", "VENDOR_CLASS_x-y": "yes"},
            ['not // a comment, "quoted"'],
            "Dhcp4.subnet4[0].reservations[0]",
        ),
        (
            [mac(4)],
            "",
            "172.31.0.14/16",
            "172.31.0.1",
            "",
            "",
            "Dhcp4.shared-networks[0].subnet4[0].reservations[0]",
        ),
    ]
    assert left_out(listing) == ["Dhcp4.subnet4[0].reservations[1]: it has no hw-address"]


def test_of_keas_leases_those_count_that_are_lent_now() -> None:
    listing = sample("kea-leases4.csv")
    assert [(*told(each)[:3], each.line) for each in listing.machines] == [([mac(1)], "node1", "172.30.0.101", 4)]
    assert len(listing.left_out) == 3


def test_what_a_configuration_includes_is_told_and_a_file_of_nothing_else_is_known() -> None:
    isc = (
        'subnet 10.0.0.0 netmask 255.0.0.0 {\n  include "/etc/dhcp/hosts";\n}\nhost a { hardware ethernet '
        + mac(1)
        + "; }"
    )
    assert left_out(read(isc)) == ["line 2: it includes '/etc/dhcp/hosts': name that file too"]
    assert left_out(read('include "a.conf";\ninclude "b.conf";\n')) == [
        "line 1: it includes 'a.conf': name that file too",
        "line 2: it includes 'b.conf': name that file too",
    ]
    dnsmasq = "conf-file=/etc/a\nconf-dir=/etc/d,*.conf\ndhcp-hostsfile=/etc/h\ndhcp-hostsdir = /etc/hd\nread-ethers\n"
    listing = read(dnsmasq)
    assert left_out(listing) == [
        "line 1: it includes '/etc/a': name that file too",
        "line 2: it includes '/etc/d': name the files there too",
        "line 3: it includes '/etc/h': name that file too",
        "line 4: it includes '/etc/hd': name the files there too",
        "line 5: it includes '/etc/ethers': name that file too",
    ]
    assert listing.machines == ()
    assert [told(each)[:2] for each in read(f"{mac(1)} node1\n{mac(2)} 172.30.0.12\n").machines] == [
        ([mac(1)], "node1"),
        ([mac(2)], ""),
    ]


@pytest.mark.parametrize(
    "text",
    [
        '{ "Dhcp4": <?include "a.json"?> }',
        '<?include "a.json"?>',
        '{ "Dhcp4": { <?include "a.json"?>, "subnet4": [] } }',
        '{ "Dhcp4": { "subnet4": [ { "subnet": "10.0.0.0/8" }, <?include "a.json"?> ] } }',
        '{ "Dhcp4": { "reservations": [ <?include "a.json"?>, { "client-id": "01" } ] } } // <?include "none"?>',
    ],
)
def test_keas_includes_are_told_wherever_they_stand(text: str) -> None:
    assert "line 1: it includes 'a.json': name that file too" in left_out(read(text))
    assert not any("none" in each for each in left_out(read(text)))


def test_what_another_file_of_kea_includes_is_read_and_gets_the_networks_of_that() -> None:
    whole = '{ "Dhcp4": { "subnet4": [ { "subnet": "172.30.0.0/24", "reservations": <?include "b"?> } ] } }'
    reserved = f'[ {{ "hw-address": "{mac(1)}", "ip-address": "172.30.0.11", "comment": "loud" }} ]'
    (machine,) = read_files(a=whole, b=reserved).machines
    assert (machine.reserved, machine.notes) == ("172.30.0.11/24", ("loud",))
    subnet = f'{{ "subnet": "172.31.0.0/16", "reservations": [ {{ "hw-address": "{mac(2)}", "ip-address": "172.31.0.1" }} ] }}'
    assert [each.reserved for each in read(subnet).machines] == ["172.31.0.1/16"]
    assert [each.reserved for each in read(f"[{subnet}]").machines] == ["172.31.0.1/16"]


def test_hosts_in_iscs_leases_are_read_and_the_last_of_a_name_counts() -> None:
    text = (
        'server-duid "x";\n'
        f"host a {{ dynamic; hardware ethernet {mac(1)}; fixed-address 172.30.0.11; }}\n"
        f"host b {{ dynamic; hardware ethernet {mac(2)}; }}\n"
        "host b { dynamic; deleted; }\n"
        f"host a {{ dynamic; hardware ethernet {mac(1)}; fixed-address 172.30.0.12; }}\n"
    )
    lease = f"lease 172.30.0.101 {{ binding state active; hardware ethernet {mac(1)}; }}\n"
    for listing in (read(text), read(text + lease)):
        assert [told(each)[:3] for each in listing.machines] == [([mac(1)], "a", "172.30.0.12")]
        assert problems(listing) == []
        assert "line 4: host 'b' was deleted" in left_out(listing)
    assert "line 6: '172.30.0.101' is lent to a host that this file has too" in left_out(listing)


def test_of_several_addresses_of_an_isc_host_the_one_in_a_known_subnet_is_taken() -> None:
    listing = read(
        "subnet 172.31.0.0 netmask 255.255.0.0 { }\n"
        "host a { hardware ethernet 0:0:c0:5d:bd:95; fixed-address 172.30.0.11, 172.31.0.11; }"
    )
    assert [told(each)[:3] for each in listing.machines] == [(["00:00:c0:5d:bd:95"], "a", "172.31.0.11/16")]
    assert changed(listing) == ["line 2: host 'a' is imported with 172.31.0.11, without '172.30.0.11'"]


def test_an_included_file_that_is_named_too_is_not_told() -> None:
    conf = "conf-dir=/etc/dnsmasq.d\ndhcp-hostsfile=/etc/hosts.lab\nread-ethers\n"
    read_with = {"dnsmasq.conf": conf, "copy/dnsmasq.d/a": f"dhcp-host={mac(1)},a\n", "copy/hosts.lab": f"{mac(2)},b\n"}
    assert left_out(read_files(**read_with)) == ["line 3, dnsmasq.conf: it includes '/etc/ethers': name that file too"]


def test_of_dnsmasq_prefix_and_gateway_come_from_its_ranges_and_options() -> None:
    conf = (
        "dhcp-range=set:lab,172.30.0.100,172.30.0.199,255.255.255.0,12h\n"
        "dhcp-range=172.31.0.100,172.31.0.199,255.255.0.0,172.31.255.255,12h\n"
        "dhcp-range=172.29.0.100,172.29.0.199,12h\n"
        "dhcp-option=option:router,172.31.0.1\n"
        "dhcp-option=tag:lab,3,172.30.0.1,172.30.0.2\n"
        "dhcp-option-force=tag:gpu,tag:lab,option:router,172.30.0.254\n"
        "dhcp-option=tag:!lab,option:router,172.30.0.253\n"
        f"dhcp-host={mac(1)},172.30.0.11\n"
        f"dhcp-host={mac(2)},set:gpu,172.30.0.12\n"
        f"dhcp-host={mac(3)},172.31.0.13\n"
        f"dhcp-host={mac(4)},172.29.0.14\n"
        "dhcp-host=ee:8:0:0:0:5,172.30.0.15\n"
    )
    assert [(each.macs[0], each.reserved, str(each.gateway or "")) for each in read(conf).machines] == [
        (mac(1), "172.30.0.11/24", "172.30.0.1"),
        (mac(2), "172.30.0.12/24", "172.30.0.254"),
        (mac(3), "172.31.0.13/16", "172.31.0.1"),
        (mac(4), "172.29.0.14", ""),
        ("ee:08:00:00:00:05", "172.30.0.15/24", "172.30.0.1"),
    ]
    (machine,) = read_files(
        conf=conf.partition("dhcp-host=")[0] + "dhcp-hostsfile=h\n", h=f"{mac(1)},172.30.0.11\n"
    ).machines
    assert (machine.reserved, str(machine.gateway)) == ("172.30.0.11/24", "172.30.0.1")


def test_a_network_that_is_said_beside_the_list_gives_prefix_and_gateway() -> None:
    content = f"mac,ip,gateway\n{mac(1)},172.30.0.11,\n{mac(2)},172.30.0.12/16,\n{mac(3)},10.0.0.1,\n{mac(4)},172.30.0.14,172.30.0.2"
    networks = [parse_network("172.30.0.0/24, 172.30.0.1")]
    listing = read_lists([("list", content.encode())], now=NOW, networks=networks)
    assert [(each.reserved, str(each.gateway or "")) for each in listing.machines] == [
        ("172.30.0.11/24", "172.30.0.1"),
        ("172.30.0.12/16", ""),
        ("10.0.0.1", ""),
        ("172.30.0.14/24", "172.30.0.2"),
    ]


@pytest.mark.parametrize(
    ("text", "over", "forever"),
    [
        ("{end} {mac} 172.30.0.101 node1 *\n", str(int(NOW.timestamp())), "0"),
        ("{end} {mac} 172.30.0.101 node1 *\n", str(int(NOW.timestamp())), "43200"),
        (
            "lease 172.30.0.101 {{ ends {end}; binding state active; hardware ethernet {mac}; }}",
            NOW.strftime("4 %Y/%m/%d %H:%M:%S"),
            "never",
        ),
        (
            "lease 172.30.0.101 {{ ends {end}; binding state active; hardware ethernet {mac}; }}",
            f"epoch {int(NOW.timestamp())}",
            f"epoch {int(NOW.timestamp()) + 1}",
        ),
        (
            "address,hwaddr,client_id,valid_lifetime,expire\n172.30.0.101,{mac},,{end}\n",
            f"3600,{int(NOW.timestamp())}",
            f"4294967295,{int(NOW.timestamp())}",
        ),
    ],
)
def test_leases_that_are_over_are_left_out_and_told(text: str, over: str, forever: str) -> None:
    ended = read(text.format(end=over, mac=mac(1)))
    assert (ended.machines, ended.problems, len(ended.left_out)) == ((), (), 1)
    assert left_out(ended)[0].endswith("the lease of '172.30.0.101' is over")
    earlier = NOW - timedelta(seconds=1)
    assert len(read(text.format(end=over, mac=mac(1)), now=earlier).machines) == 1
    assert len(read(text.format(end=forever, mac=mac(1))).machines) == 1


def test_names_that_change_are_told_and_two_that_become_one_are_wrong() -> None:
    listing = read(
        f"dhcp-host={mac(1)},web_1\ndhcp-host={mac(2)},node2.a.example\ndhcp-host={mac(3)},Node2.b.example\n"
    )
    assert changed(listing) == [
        "line 1: 'web_1' is imported as web-1",
        "2 names without the domain: 'node2.a.example' as node2, 'Node2.b.example' as node2",
    ]
    assert problems(listing) == [
        "line 3: the name node2 is listed twice: at line 2 too, made of 'Node2.b.example' here and of 'node2.a.example' there"
    ]


def test_an_address_that_is_listed_twice_is_wrong() -> None:
    assert problems(read(f"mac,ip\n{mac(1)},172.30.0.11\n{mac(2)},172.30.0.11/24\n")) == [
        "line 3: 172.30.0.11 is listed twice: at line 2 too"
    ]


def test_a_maas_machine_whose_address_is_on_a_bond_or_bridge_over_its_card_has_that() -> None:
    link = {"ip_address": "172.30.0.11", "subnet": {"cidr": "172.30.0.0/24", "gateway_ip": "172.30.0.1"}}
    other = {"ip_address": "172.31.0.11", "subnet": {"cidr": "172.31.0.0/24", "gateway_ip": "172.31.0.1"}}
    machine = {
        "system_id": "a",
        "hostname": "node1",
        "boot_interface": {"name": "eno1", "mac_address": mac(1), "links": []},
        "interface_set": [
            {"name": "bond0.7", "type": "vlan", "mac_address": mac(1), "parents": ["bond0"], "links": [other]},
            {"name": "br0", "type": "bridge", "mac_address": mac(1), "parents": ["bond0"], "links": [link]},
            {"name": "bond0", "type": "bond", "mac_address": mac(1), "parents": ["eno1", "eno2"], "links": []},
        ],
        "ip_addresses": ["172.31.0.11", "172.30.0.11"],
    }
    (found,) = read(json.dumps([machine])).machines
    assert (found.reserved, str(found.gateway)) == ("172.30.0.11/24", "172.30.0.1")


def test_maas_machines_have_zone_pool_and_tags_as_labels() -> None:
    listing = sample("maas.json")
    assert [told(each) for each in listing.machines] == [
        (
            [mac(1), mac(1, 1)],
            "wanted-falcon",
            "172.30.0.11/24",
            "172.30.0.1",
            {"zone": "default", "pool": "gpu-pool", "virtual": "yes", "rack-7": "yes"},
            ["spare, second power supply missing"],
        ),
        ([mac(2)], "brave-owl", "172.30.0.12", "", {"zone": "default"}, ""),
    ]
    assert left_out(listing) == ["[1]: shy-heron has no MAC yet: MAAS has not seen its cards"]


def test_netbox_devices_and_interfaces_belong_together() -> None:
    listing = sample("netbox-devices.csv", "netbox-interfaces.csv")
    assert [told(each) for each in listing.machines] == [
        (
            [mac(1), mac(1, 1)],
            "node1",
            "172.30.0.11/24",
            "",
            {
                "site": "Berlin",
                "location": "Room-2",
                "rack": "R1",
                "role": "Server",
                "status": "active",
                "gpu": "yes",
                "lab": "yes",
            },
            ["second power supply missing"],
        ),
        (
            [mac(2)],
            "node2",
            "172.30.0.12/24",
            "",
            {"site": "Berlin", "rack": "R1", "role": "Server", "status": "planned"},
            "",
        ),
    ]
    assert [each.key for each in listing.machines] == ["netbox-interfaces.csv"] * 2
    assert any("'switch1' has no interface here" in each for each in left_out(listing))
    assert [each.name for each in sample("netbox-interfaces.csv").machines] == ["node1", "node2"]


def test_interfaces_of_netbox_may_be_headed_by_the_names_of_its_fields() -> None:
    header, rows = "device,name,enabled,type,mac_address,mgmt_only", f"w1,eth0,true,1000base-t,{mac(1)},False"
    listing = read(f"{header}\n{rows}\nw1,bmc,true,1000base-t,{mac(2)},True\n")
    assert [(each.name, [str(one) for one in each.macs]) for each in listing.machines] == [("w1", [mac(1)])]


def test_with_a_file_of_devices_of_netbox_only_those_of_it_that_are_in_service_are_taken() -> None:
    devices = "Name,Status,Site,Role,Manufacturer\nnode1,Active,a,Server,x\nnode2,Decommissioning,a,Server,x\n"
    interfaces = "Name,Device,Type,Primary MAC\n" + "".join(
        f"eth0,node{number},1000BASE-T,{mac(number)}\n" for number in range(1, 9)
    )
    many = "'node3', 'node4', 'node5', 'node6', 'node7', and 1 more"
    for files in ({"d": devices, "i": interfaces}, {"i": interfaces, "d": devices}):
        listing = read_files(**files)
        assert [each.name for each in listing.machines] == ["node1"]
        assert sorted(left_out(listing)) == [
            f"i: the interfaces of 6 devices that the file of devices does not have: {many}",
            "line 3, d: 'node2' has the status 'Decommissioning': it is out of service",
        ]


def test_two_devices_of_netbox_with_one_name_are_wrong_and_not_made_one() -> None:
    devices = "Name,Status,Site,Role,Manufacturer\nnode1,Active,a,Server,x\nnode1,Active,b,Server,x\nnode2,Active,a,Server,x\n"
    interfaces = f"Name,Device,Type,Primary MAC\neth0,node1,x,{mac(1)}\neth0,node1,x,{mac(2)}\neth0,node2,x,{mac(3)}\n"
    listing = read_files(d=devices, i=interfaces)
    assert [each.macs for each in listing.machines] == [(mac(3),)]
    assert [each.partition(": which")[0] for each in problems(listing)] == [
        "line 2, d: 2 devices are called 'node1', this one of site 'a'",
        "line 3, d: 2 devices are called 'node1', this one of site 'b'",
    ]


@pytest.mark.parametrize(
    "content",
    [
        b"x" * (10 << 20),
        b"mac,name\n" + b"08:00:27:00:00:01,n\n" * (10 << 16),
        b"mac,name\n" + b'"' + b"x" * (1 << 20) + b"\n",
        b"host a " + b"{ " * 100_000,
        b"host a { }" + b"} " * 100_000,
        b"[" * 100_000,
        b'{"Dhcp4": ' * 10_000,
        b'{"a": 1}',
        b"mac,name\n08:00:27:00:00:01,\0\n",
        b"\xff\xfe\xff",
        b"mac,name\n\xe4\n",
        b"",
        b"# nothing\n\n",
        b"hello\nworld\n",
        b'host "',
        b"lease 1.2.3.4 {",
        b'host x { hardware ethernet "',
    ],
    ids=range(17),
)
def test_hostile_files_end_in_a_clear_refusal(content: bytes) -> None:
    with pytest.raises((Invalid, TooLarge), match=r"^list: ") as refused:
        read(content)
    assert len(str(refused.value)) < 600


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("content", [b"x" * (10 << 20), b"{" * 5000, b"\0" * 5000, b'"\n,;{}[]=\t#' * 500, b"x,y\n1\n"])
def test_what_is_none_of_a_kind_has_no_machines(kind: Kind, content: bytes) -> None:
    try:
        listing = read(content, kind)
    except (Invalid, TooLarge):
        return
    assert listing.machines == ()


def test_the_limits_name_what_is_too_much() -> None:
    with pytest.raises(TooLarge, match=f"more than {MAX_TEXT >> 20} MiB"):
        read("mac\n" + "#\n" * (MAX_TEXT >> 1), Kind.CSV)
    with pytest.raises(TooLarge, match=f"more than {MAX_JSON >> 20} MiB"):
        read(b" " * (MAX_JSON + 1))
    with pytest.raises(TooLarge, match="line 2 has more than 64 KiB"):
        read("mac\n" + "x" * (MAX_LINE + 1), Kind.CSV)
    many = "".join(f"02:00:00:{number >> 8:02x}:{number & 255:02x}:00\n" for number in range(MOST_LISTED + 1))
    with pytest.raises(TooLarge, match=f"more than {MOST_LISTED} machines"):
        read("mac\n" + many)


def test_a_listed_machine_travels_whole() -> None:
    machine = listed_machine(
        macs=[mac(1)],
        name="a",
        address="10.0.0.1/8",
        gateway="10.0.0.2",
        labels={"a": "b"},
        notes=["x"],
        line=3,
        key="k",
    )
    assert listed_machine(**{"labels": {}, **listed_document(machine)}) == machine  # type: ignore[arg-type]
