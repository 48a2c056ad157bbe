"""What is told of a machine's DHCP, to its timeline and to the log."""

import logging
from dataclasses import replace
from datetime import UTC, datetime
from ipaddress import IPv4Address

import pytest

from tests.unit.boot.dhcp_bench import FIRMWARE, INSTALLED, INTERFACE, SERVICE, Lab
from tinkbox.boot.dhcp.reporting import LOGGED_EVERY, DhcpReporter, arrival, who
from tinkbox.model.boot import Asker, Boot, Client, Plan, Silence, Stage
from tinkbox.model.leases import Lease, LeaseState
from tinkbox.wire.dhcp.clients import identify
from tinkbox.wire.dhcp.packets import NOWHERE, Packet
from tinkbox.wire.dhcp.pxe import BootService, answer

PLAN = Plan(boot=Boot.OSIE, hardware_id="h", interface=INTERFACE)
LEASE = Lease(
    address=IPv4Address("172.30.0.5"),
    mac=FIRMWARE.mac,
    state=LeaseState.BOUND,
    until=datetime(2100, 1, 1, tzinfo=UTC),
    seconds=600,
)
SELECTING = {53: b"\x03", 50: b"\xac\x1e\0\5", 54: b"\xac\x1e\0\1"}


def told(request: Packet, plan: Plan = PLAN, service: BootService = SERVICE) -> Lab:
    lab, client = Lab([]), identify(request)
    reply = answer(request, client, plan, service)
    assert isinstance(reply, Packet)
    reporter = witness_of(lab, service)
    reporter.answered(reporter.telling(request, client, plan, reply))
    return lab


def witness_of(lab: Lab, service: BootService = SERVICE) -> DhcpReporter:
    return DhcpReporter(lab, service, lambda: 0.0)


def arrived(request: Packet) -> Lab:
    lab = Lab([])
    xid, secs = request.xid.to_bytes(4, "big"), request.secs.to_bytes(2, "big")
    witness_of(lab).arrived(request.mac, arrival(request, identify(request)), xid, secs)
    return lab


def test_who_asks_is_told_with_everything_that_helps_to_find_out_why_it_does_not_boot() -> None:
    lab = arrived(
        replace(
            FIRMWARE,
            secs=12,
            giaddr=IPv4Address("10.9.0.1"),
            options={**FIRMWARE.options, 82: b"\x01\x04eth7"},
        )
    )
    assert lab.seen == [(FIRMWARE.mac, Stage.DISCOVER, "PXE, architecture 7")]
    assert lab.facts == [
        {
            "asker": "PXE",
            "architecture": 7,
            "vendor_class": "PXEClient:Arch:00007:UNDI:003000",
            "secs": 12,
            "relay": "10.9.0.1",
            "circuit": "eth7",
            "xid": FIRMWARE.xid,
        }
    ]


def test_what_is_not_known_is_left_out() -> None:
    lab = arrived(replace(FIRMWARE, options={53: b"\x01", 60: b"PXEClient"}))
    assert set(lab.facts[0]) == {"asker", "vendor_class", "secs", "xid"}


def test_an_installed_system_asks_for_nothing_that_is_a_boot() -> None:
    lab = arrived(INSTALLED)
    assert (lab.seen, lab.begun) == ([], [INSTALLED.mac])


def test_an_offer_is_told_with_what_was_offered() -> None:
    lab = told(FIRMWARE)
    assert lab.seen == [(FIRMWARE.mac, Stage.OFFERED, "172.30.0.5, PXE, architecture 7")]
    assert lab.facts == [
        {"address": "172.30.0.5", "server": "172.30.0.1", "boot": "osie", "file": "snponly.efi", "mode": "reservation"}
    ]


@pytest.mark.parametrize(
    ("request_", "alone"),
    [
        (replace(FIRMWARE, flags=0, giaddr=NOWHERE), True),
        (replace(FIRMWARE, flags=0x8000, giaddr=NOWHERE), False),
        (replace(FIRMWARE, flags=0, giaddr=IPv4Address("10.9.0.1")), False),
    ],
    ids=["no broadcast is asked for", "a broadcast is", "by a relay"],
)
def test_an_offer_tells_whether_it_was_sent_to_the_machine_alone(request_: Packet, alone: bool) -> None:
    assert ("sent_alone" in told(request_).facts[0]) is alone


def test_an_acknowledgement_tells_that_the_machine_accepted_and_that_it_has_its_address() -> None:
    lab = told(replace(FIRMWARE, options={**FIRMWARE.options, **SELECTING}), replace(PLAN, lease=LEASE))
    assert [stage for _, stage, _ in lab.seen] == [Stage.REQUESTED, Stage.LEASED]
    assert [each["mode"] for each in lab.facts] == ["pool", "pool"]


def test_beside_another_server_nobody_is_said_to_have_an_address() -> None:
    proxy = replace(SERVICE, proxy=True)
    offered = told(FIRMWARE, service=proxy)
    assert offered.seen == [(FIRMWARE.mac, Stage.OFFERED, "boot file only, PXE, architecture 7")]
    assert (offered.facts[0]["mode"], offered.facts[0]["address"]) == ("proxy", "")
    accepted = told(replace(FIRMWARE, options={**FIRMWARE.options, **SELECTING}), service=proxy)
    assert [stage for _, stage, _ in accepted.seen] == [Stage.REQUESTED]


@pytest.mark.parametrize("own", [True, False])
def test_a_machine_that_chose_another_interface_of_ours_chose_no_other_server(own: bool) -> None:
    lab, second = Lab([]), IPv4Address("172.29.0.1")
    chose = replace(FIRMWARE, options={**FIRMWARE.options, **SELECTING, 54: second.packed})
    reporter = DhcpReporter(lab, SERVICE, lambda: 0.0, lambda address: own and address == second)
    reporter.unanswered(chose, identify(chose), Silence.OTHER_SERVER)
    assert [stage for _, stage, _ in lab.seen] == ([] if own else [Stage.OTHER_SERVER])


def test_who_tells_an_architecture_and_not_that_it_boots_is_no_installed_system() -> None:
    firmware = replace(INSTALLED, options={**INSTALLED.options, 93: b"\0\x07"})
    lab = told(firmware, replace(PLAN, boot=Boot.NOTHING))
    assert lab.seen == [(firmware.mac, Stage.DISCOVER, "without option 60 (PXEClient), architecture 7")]
    assert lab.facts[0] | {"asker": Asker.SYSTEM.value, "architecture": 7, "address": "172.30.0.5"} == lab.facts[0]


def test_an_installed_system_that_begins_is_told_and_one_that_runs_is_not() -> None:
    plan = replace(PLAN, boot=Boot.NOTHING)
    begun = told(replace(INSTALLED, options={**INSTALLED.options, 12: b"lab-1"}), plan)
    assert begun.seen == [(INSTALLED.mac, Stage.DISK_BOOTED, "172.30.0.5, 'udhcp 1.35.0'")]
    assert begun.facts == [{"address": "172.30.0.5", "vendor_class": "udhcp 1.35.0", "hostname": "lab-1"}]
    renewal = replace(INSTALLED, ciaddr=IPv4Address("172.30.0.5"), options={**INSTALLED.options, 53: b"\x03"})
    assert told(renewal, plan).seen == []
    assert told(replace(INSTALLED, options={**INSTALLED.options, 60: b"tinkbox-osie"}), plan).seen == []


def test_same_answer_is_logged_once_a_second_and_noted_every_time(caplog: pytest.LogCaptureFixture) -> None:
    lab, now = Lab([]), [100.0]
    reporter, client = DhcpReporter(lab, SERVICE, lambda: now[0]), identify(FIRMWARE)
    reply = answer(FIRMWARE, client, PLAN, SERVICE)
    assert isinstance(reply, Packet)
    telling = reporter.telling(FIRMWARE, client, PLAN, reply)
    with caplog.at_level(logging.INFO):
        for _ in range(3):
            reporter.answered(telling)
        now[0] += LOGGED_EVERY
        reporter.answered(telling)
        now[0] += LOGGED_EVERY
        reporter.answered(telling)
    line = "OFFER to 08:00:27:00:00:02 (PXE, architecture 7), 172.30.0.5: snponly.efi"
    assert caplog.messages == [line, f"{line} (and 2 times before that)", line]
    assert [stage for _, stage, _ in lab.seen] == [Stage.OFFERED] * 5


def test_firmware_that_only_informs_itself_comes_no_further() -> None:
    inform = replace(FIRMWARE, ciaddr=IPv4Address("172.30.0.77"), options={**FIRMWARE.options, 53: b"\x08"})
    assert told(inform).seen == []


@pytest.mark.parametrize(
    "why", [Silence.UNKNOWN, Silence.NOT_PERMITTED, Silence.NO_ADDRESS, Silence.UNFIT_ADDRESS, Silence.NO_PROGRAM]
)
def test_why_firmware_is_not_answered_is_told(why: Silence) -> None:
    lab = Lab([])
    witness_of(lab).unanswered(FIRMWARE, identify(FIRMWARE), why)
    assert lab.seen == [(FIRMWARE.mac, Stage.IGNORED, f"{why} (PXE, architecture 7)")]
    assert lab.facts == [{"why": why.value}]


@pytest.mark.parametrize(("request_", "why"), [(INSTALLED, Silence.UNKNOWN), (FIRMWARE, Silence.NOTHING_TO_SAY)])
def test_who_wants_nothing_of_us_is_not_told_of(request_: Packet, why: Silence) -> None:
    lab = Lab([])
    witness_of(lab).unanswered(request_, identify(request_), why)
    assert lab.seen == []


def test_a_known_system_that_another_server_gives_its_address_is_told_of() -> None:
    lab = Lab([])
    witness_of(lab).unanswered(INSTALLED, identify(INSTALLED), Silence.NO_ADDRESS)
    assert lab.seen == [(INSTALLED.mac, Stage.DISK_BOOTED, "'udhcp 1.35.0'")]


def test_on_port_4011_the_boot_file_is_told(caplog: pytest.LogCaptureFixture) -> None:
    lab, client = Lab([]), identify(FIRMWARE)
    with caplog.at_level(logging.INFO):
        witness_of(lab).boot_server_answered(client, replace(FIRMWARE, file="snponly.efi"))
    assert lab.seen == [(FIRMWARE.mac, Stage.BOOT_SERVER, "snponly.efi, PXE, architecture 7")]
    assert lab.facts == [{"file": "snponly.efi"}]
    assert caplog.records[0].getMessage() == "boot file of 08:00:27:00:00:02 (PXE, architecture 7): snponly.efi"


def test_a_conflict_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    lab = Lab([])
    client = replace(identify(FIRMWARE), wanted=IPv4Address("172.30.0.5"))
    witness_of(lab).declined(client)
    assert lab.seen == [(FIRMWARE.mac, Stage.DECLINED, "172.30.0.5")]
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


@pytest.mark.parametrize(
    ("asker", "architecture", "text"),
    [
        (Asker.SYSTEM, 7, "an installed system"),
        (Asker.IPXE, 7, "iPXE"),
        (Asker.PXE, 7, "PXE, architecture 7"),
        (Asker.PXE, None, "PXE"),
        (Asker.U_BOOT, 22, "U-Boot, architecture 22"),
    ],
)
def test_a_machine_is_named_by_what_asks(asker: Asker, architecture: int | None, text: str) -> None:
    assert who(Client(mac=FIRMWARE.mac, asker=asker, architecture=architecture)) == text
