"""Lists of machines as other programs keep them; tests/golden/machine_lists has one of each."""

from collections.abc import Sequence
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.model.errors import Invalid, TooLarge
from tinkbox.model.hardware import MacAddress
from tinkbox.model.machine_lists import MOST_LISTED, ListedMachine, listed_document, listed_machine
from tinkbox.wire.machine_lists import csv_lists
from tinkbox.wire.machine_lists.listing import Listing
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


def sample(*names: str) -> Listing:
    return read_lists([(each, (SAMPLES / each).read_bytes()) for each in names])


def read(text: str | bytes, kind: Kind | None = None) -> Listing:
    return read_lists([("list", text if isinstance(text, bytes) else text.encode())], kind)


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
    assert left_out(listing) == ["line 1: column 'serial' is not read: call it label:serial to have it as a label"]


words = st.from_regex(r"[a-z0-9](-?[a-z0-9]){0,8}", fullmatch=True)
addresses = st.integers(1, 2**32 - 2).map(IPv4Address)


@st.composite
def machines(draw: st.DrawFn, number: int) -> ListedMachine:
    count, address = draw(st.integers(1, 3)), draw(st.none() | addresses)
    cards = tuple(MacAddress(f"08:00:27:{number:02x}:{each:02x}:00") for each in range(count))
    texts = st.text(st.characters(categories=["L", "N", "P", "S"], include_characters=" "), min_size=1, max_size=40)
    notes = draw(st.lists(texts.map(lambda text: " ".join(text.split())).filter(bool), max_size=3, unique=True))
    return ListedMachine(
        macs=cards,
        name=draw(st.just("") | words),
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
        "line 23: the address of host 'node3' is a name: it is imported without one",
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
