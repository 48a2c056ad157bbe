"""The rules that accept machines by what they are, as a table."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from tinkbox.model.discovery import Rule, best_rule, check_condition, check_placeholders, filled, host_name
from tinkbox.model.errors import Invalid
from tinkbox.model.hardware import MacAddress
from tinkbox.model.inventory import Disk, Inventory

MAC = MacAddress("08:00:27:00:00:07")
MACHINE = Inventory(
    architecture="x86_64",
    processor="Intel(R) Xeon(R) Gold 6130",
    processors=32,
    memory=64 * 2**30,
    firmware="uefi",
    manufacturer="Dell Inc.",
    product="PowerEdge R640",
    serial="7XK2P1",
    uuid="4c4c4544-0058",
    disks=(Disk(device="/dev/sda", size=480 * 10**9), Disk(device="/dev/nvme0n1", size=2 * 2**40)),
)


@pytest.mark.parametrize(
    ("match", "holds"),
    [
        ({"product": "PowerEdge R640"}, True),
        ({"product": "poweredge*"}, True),
        ({"product": "PowerEdge"}, False),
        ({"product": "*R6?0"}, True),
        ({"product": "*R7?0"}, False),
        ({"manufacturer": "Dell*", "serial": "7[XY]*"}, True),
        ({"manufacturer": "Dell*", "serial": "8*"}, False),
        ({"mac": "08:00:27:*"}, True),
        ({"mac": "52:54:*"}, False),
        ({"architecture": "x86_64"}, True),
        ({"architecture": "aarch64"}, False),
        ({"firmware": "uefi"}, True),
        ({"uuid": "4C4C4544*"}, True),
        ({"processor": "*xeon*gold*"}, True),
        ({"memory": ">=64G"}, True),
        ({"memory": ">= 65536M"}, True),
        ({"memory": ">=64GiB"}, True),
        ({"memory": ">=68719476736"}, True),
        ({"memory": ">=68719476737"}, False),
        ({"memory": ">=65g"}, False),
        ({"disk": ">=2T"}, True),
        ({"disk": ">=3T"}, False),
        ({"disks": ">=2"}, True),
        ({"disks": ">=3"}, False),
        ({"processors": ">=32"}, True),
        ({"processors": ">=33"}, False),
    ],
)  # fmt: skip
def test_a_condition_holds_or_does_not(match: Mapping[str, str], holds: bool) -> None:
    rule = Rule(match=match)
    for name, pattern in match.items():
        check_condition(name, pattern)
    assert best_rule([rule], MAC, MACHINE) == (rule if holds else None)


def test_a_rule_holds_only_when_all_its_conditions_do() -> None:
    partly = Rule(match={"manufacturer": "Dell*", "product": "PowerEdge*", "serial": "other"})
    wholly = Rule(match={"manufacturer": "Dell*"})
    assert best_rule([partly, wholly], MAC, MACHINE) == wholly


def test_the_rule_with_the_most_conditions_wins_and_of_equals_the_first() -> None:
    one = Rule(match={"mac": "*"}, name="one")
    two = Rule(match={"mac": "*", "product": "*"}, name="two")
    same = Rule(match={"memory": ">=1", "firmware": "uefi"}, name="same")
    assert best_rule([one, two, same], MAC, MACHINE) == two
    assert best_rule([one, same, two], MAC, MACHINE) == same
    assert best_rule([], MAC, MACHINE) is None


def test_a_machine_without_a_disk_has_none_of_any_size() -> None:
    rule = Rule(match={"disk": ">=1"})
    assert best_rule([rule], MAC, replace(MACHINE, disks=())) is None


@pytest.mark.parametrize(
    ("name", "pattern"),
    [("memory", "2G"), ("memory", ">=x"), ("memory", ">=2P"), ("disks", "*"), ("colour", "red"), ("product", "")],
)
def test_a_condition_that_could_never_hold_is_refused(name: str, pattern: str) -> None:
    with pytest.raises(Invalid):
        check_condition(name, pattern)


def test_qualities_stand_in_names_and_devices() -> None:
    assert filled("{{ mac }} is {{product}}", MAC, MACHINE) == f"{MAC} is PowerEdge R640"
    check_placeholders("{{serial}} {{memory}}")
    with pytest.raises(Invalid, match="colour"):
        check_placeholders("{{serial}} {{colour}}")


def test_what_a_machine_says_of_itself_cannot_leave_its_place_in_a_template() -> None:
    hostile = replace(MACHINE, serial="x\"'}], {image: evil, \\ # & * ! | > % @ `")
    assert filled("{{serial}}", MAC, hostile) == "x----- -image: evil- - - - - - - - - - -"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("node-7XK2P1", "node-7xk2p1"),
        ("vm-08:00:27", "vm-08-00-27"),
        ("  Strange_Name! ", "strange-name"),
        ("---", ""),
        ("x" * 62 + "-y", "x" * 62),
        ("é", ""),
    ],
)  # fmt: skip
def test_a_text_becomes_a_name_that_a_host_can_have(text: str, name: str) -> None:
    assert host_name(text) == name
