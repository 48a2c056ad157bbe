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

DNS_UNREAD = (
    "its DNS servers are not read: machines get those of `dhcp.name_servers` in tinkbox.yaml, or of `name_servers` in their "
    "hardware document"
)
NTP_UNREAD = "its NTP servers are not read: write them into the hardware documents of the machines, as `time_servers`"
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


def test_a_list_of_another_encoding_is_to_be_saved_as_utf_8() -> None:
    with pytest.raises(Invalid, match="it is not UTF-8 text: byte 0xfc in line 2: save it as UTF-8"):
        read(f"mac,notes\n{mac(1)},Lüfter\n".encode("latin-1"))


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
        "line 7: 'b' of 'rack=a b c' is no label: write KEY=VALUE",
        "line 8: it has no MAC",
        "line 9: it has 6 cells, and the header row 5",
        f"line 11: {mac(9)} is listed twice: at line 10 too",
        "line 12: invalid mac: 01:00:00:00:00:01 is the address of no network card",
    ):
        assert any(each.startswith(expected) for each in found), (expected, found)
    assert len(found) == 10


@pytest.mark.parametrize(("letter", "escape"), [("\u200b", r"\u200b"), ("\ufe0f", r"\ufe0f")])
def test_a_letter_of_a_name_that_is_not_seen_is_told_as_an_escape(letter: str, escape: str) -> None:
    (told,) = problems(read(f"mac,name\n{mac(1)},node1{letter}\n"))
    assert told.endswith(f"not 'node1{escape}': try node1")


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


def test_a_csv_may_have_its_netmask_in_a_column_or_behind_the_address() -> None:
    listing = read(
        "Mac Address,IP,Default Gateway,Netmask\n"
        f"{mac(1)},10.41.0.5,10.41.0.1,255.255.254.0\n{mac(2)},10.41.0.6/255.255.254.0,10.41.0.1,\n"
        f"{mac(3)},10.41.0.7/23,,255.255.254.0\n{mac(4)},10.41.0.8/24,,255.255.254.0\n{mac(5)},,,255.255.254.0\n"
        f"{mac(6)},10.41.0.9,,255.0.255.0\n"
    )
    assert [(each.reserved, str(each.gateway or "")) for each in listing.machines] == [
        ("10.41.0.5/23", "10.41.0.1"),
        ("10.41.0.6/23", "10.41.0.1"),
        ("10.41.0.7/23", ""),
    ]
    assert problems(listing) == [
        "line 5: the address '10.41.0.8/24' and the netmask '255.255.254.0' have different prefixes: keep one of them",
        "line 6: it has a netmask and no address: give both, or neither",
        "line 7: invalid ip: '10.41.0.9/255.0.255.0': a prefix is between 1 and 32, or a netmask such as 255.255.255.0",
    ]


def test_the_csv_of_eks_anywhere_is_read_and_its_passwords_are_not_proposed_as_labels() -> None:
    listing = read(
        "hostname,bmc_ip,bmc_username,bmc_password,vendor,mac,ip_address,netmask,gateway,nameservers,labels,disk\n"
        f"eksa-1,10.1.0.1,root,pw,HP,{mac(1)},10.41.0.5,255.255.254.0,10.41.0.1,8.8.8.8|8.8.4.4,type=cp|rack=r1,/dev/sda\n"
    )
    assert [told(each) for each in listing.machines] == [
        ([mac(1)], "eksa-1", "10.41.0.5/23", "10.41.0.1", {"type": "cp", "rack": "r1"}, "")
    ]
    assert "line 1: unknown column 'bmc_password': its values are not stored" in left_out(listing)
    assert not any("label:bmc_password" in each for each in left_out(listing))


@pytest.mark.parametrize(
    "column", ["BMC Password", "ipmi_pass", "pwd", "client-secret", "API Token", "ssh_private_key"]
)
def test_no_column_of_secrets_is_proposed_as_a_label(column: str) -> None:
    assert left_out(read(f"mac,{column}\n{mac(1)},x\n")) == [
        f"line 1: unknown column '{column}': its values are not stored"
    ]


def test_a_label_with_two_values_in_one_row_is_refused_in_that_row() -> None:
    listing = read(
        f"mac,labels,label:rack\n{mac(1)},rack=r1;rack=r2,\n{mac(2)},rack=r1,r2\n{mac(3)},rack=r1;rack=r1,r1\n"
    )
    assert [(each.macs[0], dict(each.labels)) for each in listing.machines] == [(mac(3), {"rack": "r1"})]
    assert problems(listing) == [
        "line 2: the label 'rack' is 'r1' and 'r2': keep one of them",
        "line 3: the label 'rack' is 'r1' and 'r2': keep one of them",
    ]


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
        "line 23: the address of host 'node3' is a name: it is imported without one; write its address there",
        "1 name without the domain: 'node2.lab.example' as node2",
    ]


def test_iscs_routers_count_by_scope_as_dhcpd_inherits_them() -> None:
    def host(number: int, address: str, router: str = "") -> str:
        own = f"option routers {router}; " if router else ""
        return f"host n{number} {{ hardware ethernet {mac(number)}; fixed-address {address}; {own}}}\n"

    listing = read(
        "option routers 10.9.0.1;\n"
        "shared-network lab {\n"
        "  option routers 10.1.0.1;\n"
        "  subnet 10.1.0.0 netmask 255.255.255.0 { }\n"
        f"  subnet 10.2.0.0 netmask 255.255.255.0 {{ option routers 10.2.0.1; group {{ option routers 10.2.0.2; {host(1, '10.2.0.11')} }} }}\n"
        "}\n"
        "subnet 10.3.0.0 netmask 255.255.255.0 { }\n"
        + host(2, "10.1.0.12")
        + host(3, "10.2.0.13")
        + host(4, "10.3.0.14")
        + host(5, "10.4.0.15")
        + f"group {{ option routers 10.2.0.3; {host(6, '10.2.0.16')} group {{ option routers 10.2.0.4; {host(7, '10.2.0.17')} }}\n"
        + f"  group {{ {host(8, '10.2.0.18', '10.2.0.5')} {host(9, '10.2.0.19')} }} }}\n"
    )
    assert [(each.name, str(each.gateway)) for each in listing.machines] == [
        ("n1", "10.2.0.2"),
        ("n2", "10.1.0.1"),
        ("n3", "10.2.0.1"),
        ("n4", "10.9.0.1"),
        ("n5", "10.9.0.1"),
        ("n6", "10.2.0.3"),
        ("n7", "10.2.0.4"),
        ("n8", "10.2.0.5"),
        ("n9", "10.2.0.3"),
    ]


def test_what_an_included_file_of_isc_states_counts_where_it_is_included() -> None:
    host = f"host a {{ hardware ethernet {mac(1)}; fixed-address 10.1.0.11; }}\n"
    subnet = "subnet 10.1.0.0 netmask 255.255.255.0 {{ {} }}\n"
    router = "option routers 10.1.0.{};\n"
    includes = 'include "/etc/dhcp/h.conf";\n'
    for files, expected in (
        # The subnet beats what is global, in whatever file that stands.
        ({"d.conf": subnet.format(router.format(1)) + includes, "h.conf": router.format(2) + host}, "10.1.0.1"),
        ({"d.conf": includes + subnet.format(""), "h.conf": router.format(2) + host}, "10.1.0.2"),
        ({"d.conf": subnet.format(includes) + host, "h.conf": router.format(2) + subnet.format("")}, "10.1.0.2"),
        # In one scope the last statement counts.
        ({"d.conf": router.format(1) + includes + host, "h.conf": router.format(2) + subnet.format("")}, "10.1.0.2"),
        ({"d.conf": includes + router.format(1) + host, "h.conf": router.format(2) + subnet.format("")}, "10.1.0.1"),
    ):
        assert [str(each.gateway) for each in read_files(**files).machines] == [expected], files


def test_a_router_of_isc_that_is_a_name_is_told_once_and_no_other_is_taken_for_it() -> None:
    listing = read(
        "subnet 10.1.0.0 netmask 255.255.255.0 { option routers 10.1.0.1; }\n"
        "group { option routers gw.lab;\n"
        f"host a {{ hardware ethernet {mac(1)}; fixed-address 10.1.0.11; }}\n"
        f"host b {{ hardware ethernet {mac(2)}; fixed-address 10.1.0.12; }} }}\n"
    )
    assert [(each.reserved, each.gateway) for each in listing.machines] == [
        ("10.1.0.11/24", None),
        ("10.1.0.12/24", None),
    ]
    assert changed(listing) == [
        "line 2: the router 'gw.lab' is no address: its hosts are imported without it; write its address there"
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "host a {{ {card}; fixed-address 10.1.0.11 }}",
            "line 2: 'fixed-address 10.1.0.11' has no semicolon at its end",
        ),
        ("host a {{ {card} }}", "line 2: 'hardware ethernet 08:00:27:00:00:01' has no semicolon at its end"),
        ("host a {{ {card}\nfixed-address 10.1.0.11; }}", "line 2: 'hardware ethernet 08:00:27:00:00:01' has no semi"),
        ("option routers 10.1.0.1\nhost a {{ {card}; }}", "line 2: 'option routers 10.1.0.1' has no semicolon"),
        ("host a {{ {card}; }}\ndefault-lease-time 600", "line 3: 'default-lease-time 600' has no semicolon"),
        ("host a {{ {card};\nfixed-address 10.1.0.11;", "line 2: 'host a' has no } at its end: write it there"),
        ("group {{\nhost a {{ {card};\nhost b {{ }} }}", "line 2: 'group' has no } at its end: write it there"),
        ("host a {{ {card}; }}\n}}", "line 3: a brace ends here that did not begin: take it out, or write the {"),
    ],
)
def test_a_semicolon_or_brace_that_isc_lacks_is_told_with_its_statement(text: str, expected: str) -> None:
    with pytest.raises(Invalid) as refused:
        read("# dhcpd refuses it too\n" + text.format(card=f"hardware ethernet {mac(1)}"), Kind.ISC)
    assert str(refused.value).startswith(f"list: {expected}")


def test_what_isc_writes_over_several_lines_and_between_other_braces_is_no_missing_semicolon() -> None:
    text = (
        "option lab.pair code 200 = { ip-address, text };\n"
        'class "a" { match if substring (option vendor-class-identifier, 0, 9) = "x" and\noption user-class = "y"; }\n'
        "option domain-name-servers 10.1.0.2,\n  10.1.0.3;\n"
        f'host a {{ hardware\n ethernet {mac(1)}; option host-name\n "b"; }};\n'
    )
    assert [each.name for each in read(text).machines] == ["b"]


def test_routers_of_isc_for_what_a_machine_sends_are_told_and_not_read() -> None:
    listing = read(
        'class "phones" {\n  match if option user-class = "x";\n  option routers 10.1.0.9;\n}\n'
        'subnet 10.1.0.0 netmask 255.255.255.0 {\n  if known {\n    option routers 10.1.0.8;\n  } else { filename "x"; }\n'
        f"}}\nhost a {{ hardware ethernet {mac(1)}; fixed-address 10.1.0.11; }}\n"
    )
    assert [(each.reserved, each.gateway) for each in listing.machines] == [("10.1.0.11/24", None)]
    not_read = (
        "are not read, for whom they are depends on what a machine sends: write them into the hosts that they are for"
    )
    assert changed(listing) == [
        f"line 1: the routers of this class {not_read}",
        f"line 6: the routers of this if {not_read}",
    ]


def test_a_host_name_of_isc_that_is_an_expression_is_taken_where_it_is_constant() -> None:
    listing = read(
        f'host n2 {{ hardware ethernet {mac(2)}; option host-name = "n-two"; }}\n'
        f'host n3 {{ hardware ethernet {mac(3)}; option host-name = concat("n", "three"); }}\n'
    )
    assert [each.name for each in listing.machines] == ["n-two", "n3"]
    assert changed(listing) == ["line 2: the option host-name of host 'n3' is an expression: it is imported as n3"]


def test_hosts_that_dhcpd_does_not_answer_are_left_out_and_told() -> None:
    listing = read(
        f"host a {{ hardware ethernet {mac(1)}; deny booting; }}\n"
        "group { ignore booting;\n"
        f"host b {{ hardware ethernet {mac(2)}; }}\n"
        f"host c {{ hardware ethernet {mac(3)}; allow booting; }} }}\n"
        f"host d {{ hardware ethernet {mac(4)}; deny bootp; }}\n"
    )
    assert [each.name for each in listing.machines] == ["c", "d"]
    assert left_out(listing) == [
        "line 1: dhcpd does not answer host 'a': deny booting",
        "line 3: dhcpd does not answer host 'b': ignore booting",
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


def test_a_global_reservation_of_kea_gets_the_router_of_the_subnet_with_its_address() -> None:
    def routers(address: str) -> list[dict[str, str]]:
        return [{"name": "routers", "data": address}]

    def reservation(number: int, address: str, **more: object) -> dict[str, object]:
        return {"hw-address": mac(number), "ip-address": address, **more}

    shared = {"name": "lab", "option-data": routers("10.2.0.1, 10.2.0.2"), "subnet4": [{"subnet": "10.2.0.0/24"}]}
    configuration = {
        "option-data": routers("10.9.0.1"),
        "reservations": [
            reservation(1, "10.1.0.11"),
            reservation(2, "10.2.0.12"),
            reservation(3, "10.3.0.13"),
            reservation(4, "10.1.0.14", **{"option-data": routers("10.1.0.9")}),
            reservation(5, "10.4.0.15"),
        ],
        "subnet4": [{"subnet": "10.1.0.0/24", "option-data": routers("10.1.0.1")}, {"subnet": "10.3.0.0/24"}],
        "shared-networks": [shared],
    }
    assert [(each.reserved, str(each.gateway)) for each in read(json.dumps({"Dhcp4": configuration})).machines] == [
        ("10.1.0.11/24", "10.1.0.1"),
        ("10.2.0.12/24", "10.2.0.1"),
        ("10.3.0.13/24", "10.9.0.1"),
        ("10.1.0.14/24", "10.1.0.9"),
        ("10.4.0.15", "10.9.0.1"),
    ]


def test_the_option_host_name_of_a_reservation_of_kea_is_its_name_where_it_has_none() -> None:
    options = [
        {"name": "host-name", "data": "node1.lab"},
        {"code": 12, "data": "node2"},
        {"name": "host-name", "csv-format": False, "data": "6e 6f 64 65 33"},
        {"name": "host-name", "space": "vendor", "data": "other"},
    ]
    reservations = [{"hw-address": mac(number), "option-data": [each]} for number, each in enumerate(options)]
    reservations.append({"hw-address": mac(9), "hostname": "node9", "option-data": [options[0]]})
    listing = read(json.dumps({"Dhcp4": {"reservations": reservations}}))
    assert [each.name for each in listing.machines] == ["node1", "node2", "node3", "", "node9"]


def test_numbers_of_kea_that_json_has_otherwise_are_read() -> None:
    text = f'{{ "Dhcp4": {{ "a": .5, "b": -.5, "c": 5., "d": +1, "e": 007, "f": 1.e3, "reservations": [ {{ "hw-address": "{mac(1)}" }} ] }} }}'
    assert [each.macs for each in read(text).machines] == [(mac(1),)]


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
        '{ <?include "a.json"?> }',
        '[ <?include "a.json"?>, <?include "b.json"?> ]',
        '{ "Dhcp4": { "subnet4": [], <?include "a.json"?> } }',
        '{ "Dhcp4": { "subnet4": [] <?include "a.json"?> } }',
        '{ "Dhcp4": { "subnet4": [], <?include "a.json"?> "x": 1 } }',
        '{ "Dhcp4": { "subnet4": [] <?include "a.json"?>, "x": 1 } }',
        '{ "Dhcp4": { "subnet4": [ {} <?include "a.json"?> {} ] } }',
        '{ "Dhcp4": { "subnet4": [ {}, <?include "a.json"?> <?include "b.json"?> {} ] } }',
        '"subnet4": [ <?include "a.json"?> ], "x": 1',
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
    for text in (f"[{subnet}]", f"{subnet},", f'{subnet}, {{ "subnet": "10.0.0.0/8" }}', f'"subnet4": [{subnet}],'):
        assert [each.reserved for each in read(text).machines] == ["172.31.0.1/16"], text


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


def test_of_dnsmasqs_routers_one_for_the_host_beats_one_for_the_range_and_of_equals_the_last_counts() -> None:
    conf = (
        "dhcp-range=set:lab,172.30.0.100,172.30.0.199,255.255.255.0,12h\n"
        "dhcp-option=tag:gpu,option:router,172.30.0.2\n"
        "dhcp-option=tag:gpu,option:router,172.30.0.3\n"
        "dhcp-option=tag:lab,option:router,172.30.0.4\n"
        "dhcp-option=tag:lab,option:router,172.30.0.5\n"
        "dhcp-option=tag:none,option:router,0.0.0.0\n"
        "dhcp-option=option:router,172.30.0.6\n"
        f"dhcp-host={mac(1)},172.30.0.11\n"
        f"dhcp-host={mac(2)},set:gpu,172.30.0.12\n"
        f"dhcp-host={mac(3)},set:none,172.30.0.13\n"
    )
    assert [(each.reserved, str(each.gateway or "")) for each in read(conf).machines] == [
        ("172.30.0.11/24", "172.30.0.5"),
        ("172.30.0.12/24", "172.30.0.3"),
        ("172.30.0.13/24", ""),
    ]
    untagged = "dhcp-range=172.30.0.100,172.30.0.199,255.255.255.0\n" + "".join(
        f"dhcp-option=option:router,172.30.0.{number}\n" for number in (7, 9, 8)
    )
    (machine,) = read(f"{untagged}dhcp-host={mac(1)},172.30.0.11\n").machines
    assert str(machine.gateway) == "172.30.0.8"


def test_the_router_of_a_range_of_dnsmasq_without_a_netmask_is_the_one_in_the_network_that_is_told_later() -> None:
    conf = (
        "dhcp-range=192.168.1.50,192.168.1.150,12h\n"
        "dhcp-range=set:lab,10.0.0.50,10.0.0.150\n"
        "dhcp-option=3,192.168.1.1\n"
        "dhcp-option=tag:lab,option:router,10.0.0.1\n"
        "dhcp-option=tag:quiet,3\n"
        f"dhcp-host={mac(1)},w1,192.168.1.60\n"
        f"dhcp-host={mac(2)},w2,10.0.0.12\n"
        f"dhcp-host={mac(3)},set:quiet,w3,192.168.1.61\n"
    ).encode()
    (first, second, third) = read(conf).machines
    assert (first.gateway, list(map(str, first.routers))) == (None, ["192.168.1.1"])
    assert list(map(str, second.routers)) == ["10.0.0.1", "192.168.1.1"]
    assert third.routers == (), "dnsmasq tells it none"
    said = [parse_network("192.168.1.0/24"), parse_network("10.0.0.0/8,10.9.9.9")]
    listing = read_lists([("list", conf)], now=NOW, networks=said)
    assert [(each.reserved, str(each.gateway or ""), each.routers) for each in listing.machines] == [
        ("192.168.1.60/24", "192.168.1.1", ()),
        ("10.0.0.12/8", "10.0.0.1", ()),
        ("192.168.1.61/24", "", ()),
    ]
    assert changed(listing) == []


def test_a_router_of_dnsmasq_is_for_the_tags_that_the_file_decides() -> None:
    conf = (
        "dhcp-range=172.30.0.100,172.30.0.199,255.255.255.0\n"
        "dhcp-mac=set:old,08:00:27:00:00:*\n"
        "dhcp-mac=new,1-8:0:27:0:1:*\n"
        "tag-if=set:both,tag:old,tag:gpu\n"
        "tag-if=set:none,tag:!old,tag:!new\n"
        "dhcp-option=tag:old,3,172.30.0.1\n"
        "dhcp-option=tag:new,3,172.30.0.2\n"
        "dhcp-option=tag:none,3,172.30.0.3\n"
        "dhcp-option=tag:both,3,172.30.0.4\n"
        "dhcp-option=vendor:PXEClient,3,172.30.0.5\n"
        f"dhcp-host={mac(1)},172.30.0.11\n"
        f"dhcp-host={mac(2, 1)},172.30.0.12\n"
        f"dhcp-host={mac(3, 2)},172.30.0.13\n"
        f"dhcp-host={mac(4)},set:gpu,172.30.0.14\n"
    )
    listing = read(conf)
    assert [str(each.gateway) for each in listing.machines] == ["172.30.0.1", "172.30.0.2", "172.30.0.3", "172.30.0.4"]
    assert changed(listing) == []


def test_a_router_of_dnsmasq_for_a_tag_that_the_file_does_not_decide_is_told_and_not_read() -> None:
    conf = (
        "dhcp-range=172.30.0.100,172.30.0.199,255.255.255.0\n"
        "dhcp-vendorclass=set:pxe,PXEClient\n"
        "tag-if=set:late,tag:pxe\n"
        "dhcp-option=tag:pxe,3,172.30.0.1\n"
        "dhcp-option=tag:!pxe,3,172.30.0.2\n"
        "dhcp-option=tag:eth1,option:router,172.30.0.3\n"
        "dhcp-option=tag:late,option:router,172.30.0.4\n"
        f"dhcp-host={mac(1)},172.30.0.11\n"
        f"dhcp-host={mac(2)},set:pxe,172.30.0.12\n"
    )
    listing = read(conf)
    assert [str(each.gateway or "") for each in listing.machines] == ["", "172.30.0.4"]
    unknown, write = (
        "the files do not say which machines have the tag",
        "write that into the dhcp-host= of its machines",
    )
    assert changed(listing) == [
        f"line 4: {unknown} 'pxe': this router is for hosts with set:pxe only; {write}",
        f"line 5: {unknown} 'pxe': this router is not read; write the line without it",
        f"line 6: {unknown} 'eth1': this router is for hosts with set:eth1 only; {write}",
        f"line 7: {unknown} 'late': this router is for hosts with set:late only; {write}",
    ]
    for interfaces, expected in (("lo,eth1", "172.30.0.3"), ("eth0,eth1", "")):
        (machine, _) = read(f"interface={interfaces}\n{conf}").machines
        assert str(machine.gateway or "") == expected
    needing = "dhcp-range=tag:eth1,172.30.0.100,172.30.0.199,255.255.255.0\n"
    listing = read(f"{needing}dhcp-option=tag:eth1,3,172.30.0.3\ndhcp-host={mac(1)},172.30.0.11\n")
    assert ([str(each.gateway) for each in listing.machines], changed(listing)) == (["172.30.0.3"], [])


def test_the_host_of_dnsmasq_itself_is_no_router_and_that_is_told() -> None:
    range_ = "dhcp-range=172.30.0.100,172.30.0.199,255.255.255.0\n"
    listing = read(
        f"{range_}dhcp-option=option:router,0.0.0.0\ndhcp-option=6,0.0.0.0\ndhcp-host={mac(1)},172.30.0.11\n"
    )
    assert [each.gateway for each in listing.machines] == [None]
    assert changed(listing) == [
        "line 2: 0.0.0.0 is the host that dnsmasq runs on: this router is not read; write its address there",
        f"line 3: {DNS_UNREAD}",
    ]


@pytest.mark.parametrize(
    ("text", "dns", "ntp"),
    [
        (
            (
                "dhcp-option=6,10.0.0.2,10.0.0.3\ndhcp-option=tag:lab,option:dns-server,10.0.0.4\n"
                "dhcp-option-force=42,10.0.0.5\ndhcp-host={mac},n1\n"
            ),
            "line 1",
            "line 3",
        ),
        (
            (
                "dhcp-option=option:dns-server\ndhcp-option=vendor:PXEClient,6,10.0.0.2\ndhcp-option=option:ntp-server,10.0.0.5\n"
                "dhcp-option=option6:dns-server,[fd00::1]\ndhcp-option=43,6,10\ndhcp-host={mac},n1\n"
            ),
            "",
            "line 3",
        ),
        (
            (
                "host n1 {{ hardware ethernet {mac}; option ntp-servers 10.0.0.5; }}\n"
                "option domain-name-servers 10.0.0.2, 10.0.0.3;\nsubnet 10.0.0.0 netmask 255.255.255.0 {{\n"
                "option domain-name-servers 10.0.0.4;\n}}\n"
            ),
            "line 2",
            "line 1",
        ),
        (
            (
                '{{"Dhcp4": {{"option-data": [{{"name": "routers", "data": "10.0.0.1"}}], "shared-networks": [{{"subnet4": [{{'
                '"subnet": "10.0.0.0/24", "pools": [{{"option-data": [{{"code": 42, "data": "0a000005", "csv-format": false}}]}}], '
                '"option-data": [{{"name": "domain-name-servers", "data": "10.0.0.2"}}], '
                '"reservations": [{{"hw-address": "{mac}", "hostname": "n1"}}]}}]}}]}}}}'
            ),
            "Dhcp4.shared-networks[0].subnet4[0].option-data",
            "Dhcp4.shared-networks[0].subnet4[0].pools[0].option-data",
        ),
    ],
    ids=["dnsmasq", "dnsmasq-none", "isc", "kea"],
)
def test_servers_of_dns_and_ntp_are_told_once_and_not_read(text: str, dns: str, ntp: str) -> None:
    listing = read(text.format(mac=mac(1)))
    assert [each.name for each in listing.machines] == ["n1"]
    expected = [f"{place}: {what}" for place, what in ((dns, DNS_UNREAD), (ntp, NTP_UNREAD)) if place]
    assert sorted(changed(listing)) == sorted(expected)


def test_a_router_of_dnsmasq_on_another_network_than_the_hosts_is_told_and_not_taken() -> None:
    stray = (
        "the router 10.61.1.1 is not taken for {}; a gateway is on the network of its machine: write one there, or say it with "
        "--network NETWORK,GATEWAY"
    )
    hosts = "".join(
        f"dhcp-host={mac(number)},w{number},10.61.{net}.1{number}\n" for number, net in ((1, 1), (2, 2), (3, 2))
    )
    conf = (
        "dhcp-range=10.61.1.50,10.61.1.99{mask}\ndhcp-range=10.61.2.50,10.61.2.99{mask}\ndhcp-option=3,10.61.1.1\n"
        + hosts
    )
    listing = read(conf.format(mask=",255.255.255.0"))
    assert [str(each.gateway or "") for each in listing.machines] == ["10.61.1.1", "", ""]
    assert changed(listing) == [stray.format("2 hosts of another network: w2, w3")]
    bare = conf.format(mask="").encode()
    assert changed(read(bare)) == [], "its network is not known yet"
    for networks, expected in (
        (["10.61.1.0/24", "10.61.2.0/24"], [stray.format("2 hosts of another network: w2, w3")]),
        (["10.61.1.0/24", "10.61.2.0/24,10.61.2.1"], []),
        (["10.61.0.0/16"], []),
    ):
        said = [parse_network(each) for each in networks]
        assert changed(read_lists([("list", bare)], now=NOW, networks=said)) == expected
    quiet = "dhcp-option=tag:quiet,3\n" + conf.format(mask=",255.255.255.0").replace(",w2", ",set:quiet,w2")
    assert changed(read(quiet)) == [stray.format("1 host of another network: w3")], "w2 is told none"
    timed = conf.format(mask=",255.255.255.0") + "dhcp-option=23,3\n"
    assert str(read(timed).machines[0].gateway) == "10.61.1.1", "the number of an option is no value of another one"
    itself = conf.format(mask="").replace("10.61.1.11", "10.61.1.1").encode()
    assert changed(read_lists([("list", itself)], now=NOW, networks=[parse_network("10.61.1.0/24")])) == []


def test_texts_of_labels_that_are_taken_otherwise_are_told_once_for_each_file() -> None:
    devices = "Name,Status,Site,Rack,Role,Tags\n" + "".join(
        f'n{number},Active,Ber,Rack {number % 2},###,"gpu,z"\n' for number in range(1, 5)
    )
    interfaces = "Name,Device,Type,Primary MAC\n" + "".join(f"e,n{number},x,{mac(number)}\n" for number in range(1, 5))
    listing = read_files(d=devices, i=interfaces)
    assert listing.machines[0].labels == {"site": "Ber", "rack": "Rack-1", "status": "active", "gpu": "yes", "z": "yes"}
    assert changed(listing) == [
        "d: 3 label texts taken otherwise: 'Rack 1' as Rack-1, '###' left out, 'Rack 0' as Rack-0"
    ]
    listing = read(f"dhcp-host={mac(1)},set:z 1,n1\ndhcp-host={mac(2)},set:z 1,n2\n")
    assert changed(listing) == ["1 label text taken otherwise: 'z 1' as z-1"]


def test_two_cards_with_one_name_are_told_how_they_become_one_machine() -> None:
    listing = read(
        "".join(f'host h{each} {{ hardware ethernet {mac(each)}; option host-name "web01"; }}\n' for each in (1, 2))
    )
    assert problems(listing) == [
        (
            "line 2: the name web01 is listed twice: at line 1 too; if both are cards of one machine, print the list with --as-csv "
            "and make one row of them, one MAC in other_macs; else rename one"
        )
    ]


@pytest.mark.parametrize("text", ["enable-tftp\ntftp-root=/srv\n", "dhcp-boot=x.efi # pxe\n", "tag-if=set:a,tag:b\n"])
def test_a_configuration_of_dnsmasq_without_hosts_is_recognised(text: str) -> None:
    assert recognised(text) is Kind.DNSMASQ
    assert left_out(read_files(a=text, b=f"dhcp-host={mac(1)},w1\n")) == []


def test_the_path_of_an_included_file_is_told_whole() -> None:
    path = "/var/lib/libvirt/dnsmasq/default.hostsfile"
    assert left_out(read(f"dhcp-hostsfile={path}\n")) == [f"line 1: it includes '{path}': name that file too"]


def test_options_of_dnsmasq_in_a_file_of_their_own_are_told_and_not_read() -> None:
    assert changed(read("dhcp-range=10.0.0.5,10.0.0.9\ndhcp-optsfile=/etc/lab.opts\n")) == [
        "line 2: the options in '/etc/lab.opts' are not read: write a router of it here, as dhcp-option="
    ]


def test_a_range_of_dnsmasq_that_needs_a_tag_is_for_hosts_with_it() -> None:
    conf = (
        "dhcp-range=tag:red,set:slow,172.30.0.10,172.30.0.19,255.255.255.0\n"
        "dhcp-range=172.30.0.20,172.30.0.99,255.255.255.0\n"
        "dhcp-option=tag:slow,3,172.30.0.2\n"
        "dhcp-option=3,172.30.0.1\n"
        f"dhcp-host={mac(1)},172.30.0.15\n"
        f"dhcp-host={mac(2)},set:red,172.30.0.16\n"
    )
    assert [str(each.gateway) for each in read(conf).machines] == ["172.30.0.1", "172.30.0.2"]


def test_hosts_whose_tags_dnsmasq_ignores_are_left_out() -> None:
    conf = f"dhcp-ignore=tag:!allowed\ndhcp-ignore=tag:ipxe\ndhcp-host={mac(1)},set:allowed,w1\ndhcp-host={mac(2)},w2\n"
    listing = read(conf)
    assert [each.name for each in listing.machines] == ["w1"]
    assert left_out(listing) == ["line 4: dnsmasq is told to ignore it: dhcp-ignore=tag:!allowed"]


def test_what_has_colons_is_no_name_of_a_host_of_dnsmasq() -> None:
    (machine,) = read("dhcp-host=28:df:44:7d:c2:5f,10.3.0.15,laptop,01:28:df:44:7d:c2:5f\n").machines
    assert told(machine)[:3] == (["28:df:44:7d:c2:5f"], "laptop", "10.3.0.15")


def test_a_network_that_is_said_beside_the_list_gives_prefix_and_gateway() -> None:
    content = f"mac,ip,gateway\n{mac(1)},172.30.0.11,\n{mac(2)},172.30.0.12/16,\n{mac(3)},10.0.0.1,\n"
    content += f"{mac(4)},172.30.0.14,172.30.0.2\n{mac(5)},172.30.0.15/24,"
    networks = [parse_network("172.30.0.0/24, 172.30.0.1")]
    listing = read_lists([("list", content.encode())], now=NOW, networks=networks)
    assert [(each.reserved, str(each.gateway or "")) for each in listing.machines] == [
        ("172.30.0.11/24", "172.30.0.1"),
        ("172.30.0.12/16", ""),
        ("10.0.0.1", ""),
        ("172.30.0.14/24", "172.30.0.2"),
        ("172.30.0.15/24", "172.30.0.1"),
    ]


@pytest.mark.parametrize("said", ["172.30.0.0/24", "172.30.0.0/24,172.30.0.254", "172.30.0.0/16", "10.0.0.0/8"])
def test_what_the_list_says_of_a_network_counts_before_what_is_said_beside_it(said: str) -> None:
    host = f"host a {{ hardware ethernet {mac(1)}; fixed-address 172.30.0.5; }}"
    content = f"subnet 172.30.0.0 netmask 255.255.255.0 {{ option routers 172.30.0.1; }}\n{host}\n"
    (machine,) = read_lists([("list", content.encode())], now=NOW, networks=[parse_network(said)]).machines
    assert (machine.reserved, str(machine.gateway)) == ("172.30.0.5/24", "172.30.0.1")


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


@pytest.mark.parametrize(
    "line",
    [
        "dhcp-host={mac},{name}\n",
        "0 {mac} 172.30.0.{number} {name} *\n",
        "host {name} {{ hardware ethernet {mac}; }}\n",
    ],
)
def test_only_what_looks_like_a_domain_is_cut_off_a_name(line: str) -> None:
    names = ["UniFi-1.16", "UniFi-1.15", "node3.lab.example", "node4.v2.5", "node5.", "r1.14-library"]
    text = "".join(line.format(mac=mac(number), number=number, name=name) for number, name in enumerate(names, start=1))
    listing = read(text)
    assert [each.name for each in listing.machines] == [
        "unifi-1-16",
        "unifi-1-15",
        "node3",
        "node4-v2-5",
        "node5",
        "r1-14-library",
    ]
    assert problems(listing) == []
    assert [each.partition(": ")[2] for each in changed(listing)[:2]] == [
        "'UniFi-1.16' is imported as unifi-1-16",
        "'UniFi-1.15' is imported as unifi-1-15",
    ]


def test_what_kea_tells_by_class_or_pool_is_told_and_whom_it_drops_is_left_out() -> None:
    routers = [{"name": "routers", "data": "10.3.5.77"}]
    reservations = [
        {"hw-address": mac(1), "ip-address": "10.3.5.11", "client-classes": ["blue"]},
        {"hw-address": mac(2), "ip-address": "10.3.5.12", "client-classes": ["DROP"]},
    ]
    subnet = {
        "subnet": "10.3.5.0/24",
        "pools": [{"pool": "10.3.5.80-10.3.5.90", "option-data": routers}, {"pool": "10.3.5.91-10.3.5.92"}],
        "reservations": reservations,
    }
    classes = [{"name": "blue", "option-data": routers}, {"name": "red"}]
    listing = read(json.dumps({"Dhcp4": {"client-classes": classes, "subnet4": [subnet]}}))
    unread = "its routers are not read: write them into option-data of the reservations that they are for"
    assert changed(listing) == [f"Dhcp4.client-classes[0]: {unread}", f"Dhcp4.subnet4[0].pools[0]: {unread}"]
    assert [list(each.macs) for each in listing.machines] == [[mac(1)]]
    assert left_out(listing) == ["Dhcp4.subnet4[0].reservations[1]: Kea answers nothing of client class DROP"]


def test_octets_of_kea_may_lack_their_zeros_as_kea_takes_them() -> None:
    (machine,) = read('{"Dhcp4": {"reservations": [{"hw-address": "e4:c7:67:96:9c:2"}]}}').machines
    assert [str(each) for each in machine.macs] == ["e4:c7:67:96:9c:02"]


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


def test_a_maas_machine_without_a_boot_interface_has_prefix_and_gateway_of_the_link_with_its_address() -> None:
    def card(number: int) -> dict[str, object]:
        subnet = {"cidr": f"172.3{number}.0.0/24", "gateway_ip": f"172.3{number}.0.1"}
        links = [{"ip_address": f"172.3{number}.0.11", "subnet": subnet}]
        return {"name": f"eno{number}", "type": "physical", "mac_address": mac(number), "links": links}

    machine = {"system_id": "a", "hostname": "node1", "boot_interface": None, "interface_set": [card(0), card(1)]}
    for addresses, expected in (([], "172.30.0.11/24"), (["fd00::11", "172.31.0.11"], "172.31.0.11/24")):
        (found,) = read(json.dumps([{**machine, "ip_addresses": addresses}])).machines
        assert (found.macs, found.reserved) == ((mac(0), mac(1)), expected)
        assert str(found.gateway) == expected.replace("11/24", "1")


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


def test_what_maas_prints_on_a_terminal_is_read_too() -> None:
    text = "Success.\nMachine-readable output follows:\n" + (SAMPLES / "maas.json").read_text()
    assert [each.name for each in read(text).machines] == ["wanted-falcon", "brave-owl"]


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


def test_an_address_of_netbox_that_is_of_an_interface_that_is_left_out_is_not_the_machines() -> None:
    devices = "Name,Status,Site,Role,IP Address\nsx1,Active,a,Server,10.8.1.14/24\n"
    header = "Name,Device,Type,Primary MAC,Mgmt Only,IP Addresses\n"
    interfaces = f"idrac,sx1,1000BASE-T,{mac(1)},True,10.8.1.14/24\neth0,sx1,1000BASE-T,{mac(2)},False,10.8.0.14/24\n"
    listing = read_files(d=devices, i=header + interfaces)
    (machine,) = listing.machines
    assert (list(machine.macs), machine.reserved) == ([mac(2)], "10.8.0.14/24")
    assert "the address 10.8.1.14/24 of 'sx1' is of an interface that is left out" in changed(listing)[0]


def test_a_machine_of_netbox_without_a_primary_address_boots_with_the_card_that_has_one() -> None:
    header, none = "Name,Device,Type,Primary MAC,IP Addresses\n", f"eth0,sy,1000BASE-T,{mac(1)},\n"
    (machine,) = read_files(i=f"{header}{none}eth1,sy,1000BASE-T,{mac(2)},10.8.0.9/24\n").machines
    assert (list(machine.macs), machine.reserved) == ([mac(2), mac(1)], "10.8.0.9/24")


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
            (
                "line 3, d: 'node2' has the status 'Decommissioning': it is out of service; one that is registered here stays in "
                "service until `tinkbox hardware retire node2`"
            ),
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


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"\n# no more\n", "there is nothing in it: name the file that has your machines"),
        (b"\x7fELF\x02\x01\x01\0\xd0", "it is a binary file: name a text file, or save it as UTF-8"),
        (b"mac\0", "it is a binary file: name a text file, or save it as UTF-8"),
        (b"\x1f\x8b\x08\0", "it is packed with gzip: unpack it with gunzip, and name that file"),
        (b"PK\x03\x04\0", "it is a spreadsheet or a ZIP file: save the table as CSV, or unpack it, and name that file"),
        (
            b"apiVersion: v1\nkind: Hardware\n",
            "this is a document, and no list: a hardware document goes to `tinkbox hardware push`",
        ),
        (
            b'{"a": 1',
            "this begins like JSON, and is none: line 1, column 8: expected a comma: correct it there, or name the whole file",
        ),
    ],
)
def test_what_is_no_list_at_all_is_told_with_the_way_out(content: bytes, expected: str) -> None:
    with pytest.raises(Invalid) as refused:
        read(content)
    assert str(refused.value) == f"list: {expected}"


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("content", [b"x" * (10 << 20), b"{" * 5000, b"\0" * 5000, b'"\n,;{}[]=\t#' * 500, b"x,y\n1\n"])
def test_what_is_none_of_a_kind_has_no_machines(kind: Kind, content: bytes) -> None:
    try:
        listing = read(content, kind)
    except (Invalid, TooLarge):
        return
    assert listing.machines == ()


@pytest.mark.parametrize("inventory", ["[web]\nweb1 ansible_host=10.0.0.1\n", "[web:children] # all\ndb\n"])
def test_an_inventory_of_ansible_is_not_called_json(inventory: str) -> None:
    with pytest.raises(Invalid, match="no list of machines that tinkbox recognises"):
        read(inventory)


def test_a_configuration_of_dhcpd_with_subnets_only_is_recognised() -> None:
    assert recognised("subnet 10.0.0.0 netmask 255.255.255.0 {\n  range 10.0.0.5 10.0.0.9;\n}\n") is Kind.ISC
    assert recognised("shared-network lab {\n}\n") is Kind.ISC


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
        routers=["10.0.0.3", "10.0.0.4"],
        labels={"a": "b"},
        notes=["x"],
        line=3,
        key="k",
    )
    assert listed_machine(**{"labels": {}, **listed_document(machine)}) == machine  # type: ignore[arg-type]
