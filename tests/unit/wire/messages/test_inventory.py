"""What machines tell of themselves: what is whole comes back, what is hostile is bounded or refused."""

import json
from dataclasses import asdict
from typing import Any

import pytest

from tinkbox.model.errors import Invalid
from tinkbox.model.inventory import Card, Disk, Inventory
from tinkbox.wire.messages.inventory import (
    MAX_CARDS,
    MAX_DISKS,
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
)


def changed(**facts: Any) -> Inventory:
    return inventory_from_document(json.loads(json.dumps(asdict(WHOLE) | facts)))


def test_what_is_encoded_comes_back_whole() -> None:
    told = Told(boot_id="b", inventory=WHOLE)
    assert decode_told(encode_message(told)) == told
    accepted = Accepted(worker="w")
    assert decode_accepted(encode_message(accepted)) == accepted


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
