"""What machines tell of themselves: what is whole comes back, what is hostile is bounded or refused."""

import json
from dataclasses import asdict, replace
from typing import Any

import pytest

from tinkbox.model.errors import Invalid
from tinkbox.model.inventory import Card, Device, Disk, Inventory
from tinkbox.wire.messages.inventory import (
    MAX_CARDS,
    MAX_DEVICES,
    MAX_DISKS,
    MAX_MISSING,
    MAX_TEXT,
    Accepted,
    Told,
    decode_accepted,
    decode_told,
    encode_message,
    inventory_from_document,
)

WHOLE = Inventory(
    architecture="aarch64",
    processor="Neoverse-N1",
    processors=80,
    memory=256 * 2**30,
    firmware="uefi",
    secure_boot=True,
    firmware_version="Ampere 2.10",
    manufacturer="WIWYNN",
    product="Mt.Jade",
    serial="B81.06",
    uuid="00112233",
    bmc="10.0.0.7",
    disks=(Disk(device="/dev/nvme0n1", size=2**41, serial="S5", model="SAMSUNG", rotational=False),),
    cards=(Card(name="eth0", mac="08:00:27:00:00:01", link=True, speed=25_000, driver="mlx5_core"),),
    devices=(
        Device(
            place="0000:02:00.0",
            id="14e4:163b",
            kind="network",
            driver="bnx2",
            module="bnx2",
            asks_firmware=True,
            missing=("bnx2/a.fw",),
        ),
    ),
)


def changed(**facts: Any) -> Inventory:
    return inventory_from_document(json.loads(json.dumps(asdict(WHOLE) | facts)))


def test_what_is_encoded_comes_back_whole() -> None:
    told = Told(boot_id="b", inventory=WHOLE)
    assert decode_told(encode_message(told)) == told
    accepted = Accepted(worker="w")
    assert decode_accepted(encode_message(accepted)) == accepted


def test_without_devices_nothing_is_said_of_them_as_before_there_were_any() -> None:
    told = Told(boot_id="b", inventory=replace(WHOLE, devices=()))
    assert "devices" not in encode_message(told)
    assert decode_told(encode_message(told)) == told


def test_nothing_that_a_machine_tells_of_itself_looks_like_a_command_of_ours() -> None:
    assert changed(product="`tinkbox workflow cancel node1`").product == "'tinkbox workflow cancel node1'"


def test_what_is_no_word_of_the_kernels_is_left_out_of_a_device() -> None:
    device = {"place": "0000:02:00.0", "id": "14e4:163b`", "kind": "x", "driver": "a\nb", "module": "ok-1_x"}
    hostile = {"place": "x;y", "id": "14e4:163b"}
    missing = ["ok.fw", "x" * 10**6, "a\x1b[31m", *["more"] * 1000]
    (found,) = changed(devices=[device | {"missing": missing}, hostile, {}]).devices
    assert (found.place, found.id, found.kind, found.driver, found.module) == ("0000:02:00.0", "", "", "", "ok-1_x")
    assert found.missing[:3] == ("ok.fw", "x" * MAX_TEXT, "a [31m")
    assert len(found.missing) == MAX_MISSING
    assert len(changed(devices=[device] * 1000).devices) == MAX_DEVICES


@pytest.mark.parametrize("missing", ["text", {"a": 1}, [1], [None]])
def test_missing_files_that_are_no_list_of_texts_are_refused(missing: Any) -> None:
    with pytest.raises(Invalid, match="missing"):
        changed(devices=[{"place": "0", "missing": missing}])


def test_what_is_not_told_is_empty() -> None:
    assert inventory_from_document({}) == Inventory(architecture="", processor="", processors=0, memory=0, firmware="")


def test_text_is_one_line_that_can_be_shown_and_not_longer_than_that() -> None:
    assert changed(serial="a\n\t b\x1b[0m\x00").serial == "a b [0m"
    assert changed(serial="\ud800x").serial == "?x"
    assert changed(serial="x" * 10**6).serial == "x" * MAX_TEXT
    assert changed(serial="  ").serial == ""


def test_lists_are_cut_to_what_a_machine_can_have() -> None:
    disk, card = {"device": "/dev/sda", "size": 1}, {"name": "e", "mac": "08:00:27:00:00:01", "link": True}
    assert len(changed(disks=[disk] * 1_000).disks) == MAX_DISKS
    assert len(changed(cards=[card] * 1_000).cards) == MAX_CARDS


def test_a_card_without_a_mac_is_left_out_and_a_mac_is_normalised() -> None:
    cards = [{"name": "a", "mac": "", "link": True}, {"name": "b", "mac": "08-00-27-00-00-0A", "link": False}]
    assert [each.mac for each in changed(cards=cards).cards] == ["08:00:27:00:00:0a"]


@pytest.mark.parametrize(
    "facts",
    [
        {"memory": -1},
        {"memory": 2**63},
        {"memory": 1.5},
        {"memory": True},
        {"processors": "2"},
        {"secure_boot": "yes"},
        {"serial": 7},
        {"disks": {"sda": 1}},
        {"disks": [7]},
        {"disks": [{"size": -1}]},
        {"cards": "x"},
        {"cards": [[]]},
        {"cards": [{"mac": "08:00:27:00:00:01", "link": 1}]},
    ],
)  # fmt: skip
def test_what_is_of_the_wrong_kind_is_refused(facts: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        changed(**facts)


@pytest.mark.parametrize("content", ["", "[]", "null", '{"inventory": null}', "{" * 100_000])
def test_what_is_no_message_is_refused(content: str) -> None:
    with pytest.raises(Invalid):
        decode_told(content)
