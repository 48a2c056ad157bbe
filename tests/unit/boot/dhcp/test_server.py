"""The DHCP server on a real socket; what it sends is caught, so that no port 68 is needed."""

import logging
from dataclasses import replace
from ipaddress import IPv4Address
from itertools import count

import pytest

from tests.unit.boot.dhcp_bench import FIRMWARE, INSTALLED, INTERFACE, IPXE, SERVICE, serving
from tests.unit.boot.filtered_line import filled
from tinkbox.boot.dhcp.flood_filter import WINDOW
from tinkbox.model.boot import Stage
from tinkbox.model.hardware import MacAddress
from tinkbox.wire.dhcp.packets import MessageType, Op, encode

CHOSEN = {53: b"\x03", 50: b"\xac\x1e\0\5", 54: b"\xac\x1e\0\1"}


async def test_firmware_is_offered_its_address_and_program_and_is_seen() -> None:
    async with serving() as bench:
        bench.say(FIRMWARE)
        offer, address = await bench.hear()
        assert (offer.message_type, offer.yiaddr, offer.file) == (MessageType.OFFER, INTERFACE.address, "snponly.efi")
        assert address == ("255.255.255.255", 68)
        assert bench.lab.seen == [
            (FIRMWARE.mac, Stage.DISCOVER, "PXE, architecture 7"),
            (FIRMWARE.mac, Stage.OFFERED, "172.30.0.5, PXE, architecture 7"),
        ]


async def test_macs_of_what_was_read_are_told_once_whether_it_is_answered_or_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stranger = replace(FIRMWARE, mac=MacAddress("02:00:00:00:00:77"))
    async with serving() as bench:
        assert bench.server.take_heard() == set()
        bench.say(FIRMWARE, stranger, FIRMWARE)
        await bench.drained()
        assert bench.server.take_heard() == {FIRMWARE.mac.octets, stranger.mac.octets}
        assert (bench.server.take_heard(), bench.server.kept_out) == (set(), 0)
        monkeypatch.setattr("tinkbox.boot.dhcp.server.MOST_HEARD", 1)
        bench.say(FIRMWARE, stranger)
        await bench.drained()
        assert bench.server.take_heard() is None, "not all of them are known"


async def test_a_lease_is_noted_when_it_is_granted() -> None:
    async with serving() as bench:
        bench.say(replace(IPXE, options={**IPXE.options, **CHOSEN}))
        granted, _ = await bench.hear()
        assert granted.message_type is MessageType.ACK
        assert granted.options[67].startswith(
            b"http://172.30.0.1/boot/08-00-27-00-00-02/script.ipxe?platform=${platform}&"
        )
        assert granted.file == ""  # it does not fit
        assert bench.lab.seen == [
            (IPXE.mac, Stage.REQUESTED, "172.30.0.5, iPXE"),
            (IPXE.mac, Stage.LEASED, "172.30.0.5, iPXE"),
        ]


async def test_a_refused_lease_is_not_noted_as_one() -> None:
    wanted = {53: b"\x03", 50: b"\xac\x1e\0\x63", 54: b"\xac\x1e\0\1"}
    async with serving() as bench:
        bench.say(replace(IPXE, options={**IPXE.options, **wanted}))
        refused, address = await bench.hear()
        assert refused.message_type is MessageType.NAK
        assert address == ("255.255.255.255", 68)
        assert bench.lab.seen == [(IPXE.mac, Stage.REFUSED, "172.30.0.99, iPXE")]
        assert bench.lab.facts == [{"wanted": "172.30.0.99"}]


async def test_an_installed_system_gets_its_address_and_is_seen_to_have_begun() -> None:
    async with serving() as bench:
        bench.say(INSTALLED)
        offer, _ = await bench.hear()
        assert (offer.yiaddr, offer.file) == (INTERFACE.address, "")
        assert bench.lab.seen == [(INSTALLED.mac, Stage.DISK_BOOTED, "172.30.0.5, 'udhcp 1.35.0'")]


async def test_whatever_asks_anew_has_begun_to_boot_and_what_renews_has_not() -> None:
    renewal = replace(INSTALLED, ciaddr=IPv4Address("172.30.0.5"), options={**INSTALLED.options, 53: b"\x03"})
    rebooted = replace(INSTALLED, options={**INSTALLED.options, 53: b"\x03", 50: b"\xac\x1e\0\5"})
    for packet, begun in (
        (FIRMWARE, [FIRMWARE.mac]),
        (replace(IPXE, options={**IPXE.options, **CHOSEN}), [IPXE.mac]),
        (INSTALLED, [INSTALLED.mac]),
        (rebooted, [INSTALLED.mac]),
        (replace(INSTALLED, options={**INSTALLED.options, **CHOSEN}), []),
        (renewal, []),
        (replace(INSTALLED, options={**INSTALLED.options, 60: b"tinkbox-osie"}), []),
    ):
        async with serving() as bench:
            bench.say(packet)
            await bench.hear()
            assert bench.lab.begun == begun


async def test_unknown_machines_hear_nothing_but_are_told_of() -> None:
    async with serving(known=[INSTALLED.mac]) as bench:
        bench.say(FIRMWARE, INSTALLED)
        offer, _ = await bench.hear()
        assert offer.mac == INSTALLED.mac
        assert bench.line.sent.empty()
        assert [each for each in bench.lab.seen if each[0] == FIRMWARE.mac] == [
            (FIRMWARE.mac, Stage.DISCOVER, "PXE, architecture 7"),
            (FIRMWARE.mac, Stage.IGNORED, "no hardware document names it (PXE, architecture 7)"),
        ]
        assert bench.lab.facts[1] == {"why": "no hardware document names it"}


async def test_noise_is_counted_and_hurts_nobody() -> None:
    async with serving() as bench:
        bench.say(b"", b"\xff" * 300, encode(FIRMWARE)[:250], replace(FIRMWARE, op=Op.REPLY), b"x" * 9000, INSTALLED)
        offer, _ = await bench.hear()
        assert offer.mac == INSTALLED.mac
        assert bench.line.sent.empty()
        assert bench.server.malformed == 4


async def test_more_packets_than_one_round_reads_are_all_answered() -> None:
    async with serving() as bench:
        bench.say(*(replace(INSTALLED, xid=number) for number in range(150)))
        assert [(await bench.hear())[0].xid for _ in range(150)] == list(range(150))


async def test_a_relayed_request_is_answered_to_the_relay() -> None:
    async with serving() as bench:
        relayed = replace(INSTALLED, giaddr=IPv4Address("10.9.0.1"), options={**INSTALLED.options, 82: b"\1\1x"})
        bench.say(relayed)
        offer, address = await bench.hear()
        assert address == ("10.9.0.1", 67)
        assert offer.options[82] == b"\1\1x"


async def test_where_the_kernel_cannot_be_told_the_hardware_address_everybody_hears() -> None:
    async with serving() as bench:
        bench.say(replace(INSTALLED, flags=0))
        _, address = await bench.hear()
        assert address == ("255.255.255.255", 68)


async def test_a_machine_that_refuses_an_earlier_reply_is_no_trouble_for_the_next(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with serving() as bench:
        bench.line.troubles = [ConnectionRefusedError(111, "Connection refused")]
        bench.say(INSTALLED)
        offer, _ = await bench.hear()
        assert offer.mac == INSTALLED.mac
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_no_answer_is_longer_than_the_machine_takes() -> None:
    async with serving() as bench:
        bench.say(replace(INSTALLED, options={**INSTALLED.options, 57: b"\2\x40", 61: b"x" * 400}))
        offer, _ = await bench.hear()
        assert len(encode(offer)) <= 576 - 28
        assert offer.options[54] == b"\xac\x1e\0\1"


async def test_a_reply_that_cannot_be_sent_is_logged_told_to_nobody_and_the_next_one_goes_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with serving() as bench:
        bench.line.unreachable = {"10.9.0.1"}
        bench.say(replace(FIRMWARE, giaddr=IPv4Address("10.9.0.1")), INSTALLED)
        _, address = await bench.hear()
        assert address == ("255.255.255.255", 68)
        assert [stage for mac, stage, _ in bench.lab.seen if mac == FIRMWARE.mac] == [Stage.DISCOVER]
    assert "reply to 10.9.0.1 failed" in caplog.text


async def test_what_machines_are_told_stands_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "tinkbox.boot.dhcp.reporting"):
        async with serving() as bench:
            bench.say(FIRMWARE, INSTALLED)
            await bench.hear()
            await bench.hear()
    (record,) = caplog.records
    assert record.getMessage() == "OFFER to 08:00:27:00:00:02 (PXE, architecture 7), 172.30.0.5: snponly.efi"
    assert record.__dict__["action"] == "dhcp.reply"
    assert record.__dict__["mac"] == "08:00:27:00:00:02"


async def test_a_machine_that_chose_another_server_is_left_to_it_and_seen() -> None:
    chosen = {53: b"\x03", 50: b"\xac\x1e\0\x4d", 54: b"\xac\x1e\0\x42"}
    async with serving() as bench:
        bench.say(replace(FIRMWARE, options={**FIRMWARE.options, **chosen}), INSTALLED)
        offer, _ = await bench.hear()
        assert offer.mac == INSTALLED.mac
        assert bench.lab.seen[0] == (
            FIRMWARE.mac,
            Stage.OTHER_SERVER,
            "172.30.0.77 of 172.30.0.66, PXE, architecture 7",
        )
        assert bench.lab.facts[0] == {"server": "172.30.0.66", "address": "172.30.0.77"}


async def test_an_address_that_is_accepted_and_not_named_is_not_said_to_be_0_0_0_0() -> None:
    async with serving() as bench:
        bench.say(replace(FIRMWARE, options={**FIRMWARE.options, 53: b"\x03", 54: b"\xac\x1e\0\x42"}), INSTALLED)
        await bench.hear()
        assert bench.lab.seen[0][2] == "an address of 172.30.0.66, PXE, architecture 7"
        assert bench.lab.facts[0] == {"server": "172.30.0.66", "address": ""}


async def test_what_is_given_back_is_not_answered_and_a_conflict_is_noted() -> None:
    kinds = ({53: b"\x07", 54: b"\xac\x1e\0\1"}, {53: b"\x04", 54: b"\xac\x1e\0\1", 50: b"\xac\x1e\0\6"})
    released, declined = (replace(FIRMWARE, options={**FIRMWARE.options, **each}) for each in kinds)
    async with serving() as bench:
        bench.say(replace(released, ciaddr=IPv4Address("172.30.0.5")), declined, INSTALLED)
        offer, _ = await bench.hear()
        assert offer.mac == INSTALLED.mac
        assert await bench.seen(Stage.DECLINED) == "172.30.0.6"
        assert bench.ledger.back == [("declined", "172.30.0.6")]
        assert bench.line.sent.empty()


async def test_a_stranger_who_declines_an_address_makes_no_conflict_of_it(caplog: pytest.LogCaptureFixture) -> None:
    declined = {53: b"\x04", 54: b"\xac\x1e\0\1", 50: b"\xac\x1e\0\6"}
    async with serving(known=[INSTALLED.mac]) as bench:
        bench.say(replace(FIRMWARE, options={**FIRMWARE.options, **declined}), INSTALLED)
        await bench.hear()
        assert [stage for mac, stage, _ in bench.lab.seen if mac == FIRMWARE.mac] == []
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_what_is_given_back_to_another_server_is_none_of_our_business() -> None:
    others = {53: b"\x07", 54: b"\xac\x1e\0\x42"}
    async with serving() as bench:
        bench.say(
            replace(FIRMWARE, ciaddr=IPv4Address("172.30.0.5"), options={**FIRMWARE.options, **others}), INSTALLED
        )
        await bench.hear()
        assert bench.ledger.back == []


async def test_beside_another_server_nothing_is_given_back_to_us() -> None:
    declined = {53: b"\x04", 54: b"\xac\x1e\0\1", 50: b"\xac\x1e\0\6"}
    async with serving(service=replace(SERVICE, proxy=True)) as bench:
        bench.say(replace(FIRMWARE, options={**FIRMWARE.options, **declined}), FIRMWARE)
        offer, address = await bench.hear()
        assert (offer.yiaddr, offer.file, address) == (IPv4Address(0), "snponly.efi", ("255.255.255.255", 68))
        assert bench.ledger.back == []
        assert bench.lab.facts[-1] == {
            "address": "",
            "server": "172.30.0.1",
            "boot": "osie",
            "file": "snponly.efi",
            "mode": "proxy",
        }


async def test_a_machine_that_never_stops_is_not_heard_and_another_boots_meanwhile() -> None:
    hostile = encode(replace(INSTALLED, options={**INSTALLED.options, 12: b"x" * 200}))
    async with serving() as bench:
        for _ in range(20):
            bench.say(*([hostile] * 100))
            await bench.drained()
        assert bench.server.throttled > 900
        while not bench.line.sent.empty():
            await bench.hear()
        bench.say(FIRMWARE, hostile, replace(FIRMWARE, options={**FIRMWARE.options, **CHOSEN}))
        answers = []
        while len(answers) < 2:
            heard, _ = await bench.hear()
            answers += (
                [heard.message_type] if heard.mac == FIRMWARE.mac else []
            )  # the hostile one is heard now and then
        assert answers == [MessageType.OFFER, MessageType.ACK]
        too_often = [each for each in bench.lab.seen if "too often" in each[2]]
        assert set(too_often) == {(INSTALLED.mac, Stage.IGNORED, "it asks too often")}
        assert 0 < len(too_often) < 16  # not each of the hundreds


async def test_strangers_that_keep_the_queue_full_are_kept_out_of_it_and_a_machine_is_heard() -> None:
    hostile = encode(replace(INSTALLED, mac=MacAddress("02:00:00:00:00:66")))
    passing = count(0.0, WINDOW / 100)
    async with serving(monotonic=lambda: next(passing)) as bench:
        bench.line.flood = hostile
        filled(bench.line, hostile)
        await bench.drained()
        bench.say(FIRMWARE)
        assert (await bench.hear())[0].message_type is MessageType.OFFER


async def test_whoever_uses_a_machines_mac_behind_another_port_does_not_slow_it() -> None:
    behind = replace(FIRMWARE, giaddr=IPv4Address("10.9.0.1"))
    hostile = encode(replace(behind, options={**FIRMWARE.options, 82: b"\x01\x04eth1"}))
    async with serving() as bench:
        for _ in range(10):
            bench.say(*([hostile] * 100))
            await bench.drained()
        assert bench.server.throttled > 100
        bench.say(replace(behind, xid=5, options={**FIRMWARE.options, 82: b"\x01\x04eth2"}))
        while (await bench.hear())[0].xid != 5:
            pass
