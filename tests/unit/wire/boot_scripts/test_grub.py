"""GRUB's scripts, word for word, and what hostile text can do to them: nothing."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import golden
from tinkbox.model.boot import Boot, Plan
from tinkbox.model.firmware_traits import LocalBoot
from tinkbox.model.hardware import Interface, MacAddress
from tinkbox.wire.boot_scripts.grub import DISK_LOADERS, GrubFiles, first_script, turn_script

FILES = GrubFiles(
    kernel="/osie/x86_64/vmlinuz",
    initramfs="/osie/x86_64/initramfs",
    credential="/machine/credential.cpio",
    arguments=("tinkbox.server=http://172.30.0.1", "tinkbox.mac=08:00:27:00:00:01", "console=ttyS0,115200"),
)
INTERFACE = Interface(mac=MacAddress("08:00:27:00:00:01"), hostname="lab-1")
PLAN = Plan(boot=Boot.OSIE, hardware_id="0eba0bf8", interface=INTERFACE, workflow="0b4a67b2")


def test_the_first_script_is_word_for_word_the_one_that_was_reviewed() -> None:
    assert first_script("1.2") == golden.text("grub/first.cfg")


@pytest.mark.parametrize(
    ("name", "plan"),
    [
        ("osie", PLAN),
        (
            "discovery",
            replace(PLAN, boot=Boot.DISCOVERY, hardware_id="", workflow="", interface=replace(INTERFACE, hostname="")),
        ),
        ("parked", replace(PLAN, boot=Boot.PARKED, reason="3 boots without progress")),
        ("waiting", replace(PLAN, boot=Boot.WAITING, reason="service boot is starting: pulling its image")),
        ("workflow", replace(PLAN, boot=Boot.WORKFLOW, script="http://w.lab/auto.ipxe")),
        ("own-script", replace(PLAN, boot=Boot.OWN_SCRIPT)),
        ("own-osie", replace(PLAN, boot=Boot.OWN_OSIE)),
        ("local-disk", replace(PLAN, boot=Boot.LOCAL_DISK)),
        ("exit", replace(PLAN, boot=Boot.LOCAL_DISK, local_boot=LocalBoot.EXIT)),
    ],
)
def test_a_machines_turn_is_word_for_word_the_one_that_was_reviewed(name: str, plan: Plan) -> None:
    assert turn_script(plan, FILES, "1.2") == golden.text(f"grub/{name}.cfg")


def test_what_only_the_kernel_reads_of_an_argument_stays() -> None:
    text = turn_script(PLAN, replace(FILES, arguments=("memmap=4G!12G", 'dyndbg="file*"', "a'b${c}")), "1.2")
    assert "\nif linux '/osie/x86_64/vmlinuz' 'memmap=4G!12G' 'dyndbg=\"file*\"' 'a_b__c_'\n" in text


@pytest.mark.parametrize(("name", "unless_virtual"), [("firmware", False), ("firmware-unless-virtual", True)])
def test_firmware_of_cards_is_loaded_word_for_word_as_it_was_reviewed(name: str, unless_virtual: bool) -> None:
    files = replace(FILES, firmware="/osie/x86_64/firmware", unless_virtual=unless_virtual)
    assert turn_script(PLAN, files, "1.2") == golden.text(f"grub/{name}.cfg")


@pytest.mark.parametrize("way", [None, LocalBoot.GRUB, LocalBoot.NO_FILE])
def test_whatever_else_was_tried_grub_looks_on_the_disks(way: LocalBoot | None) -> None:
    text = turn_script(replace(PLAN, boot=Boot.LOCAL_DISK, local_boot=way), FILES, "1.2")
    assert "chainloader" in text
    assert "exit" not in text


def test_a_loader_of_a_distribution_is_tried_before_what_only_looks_for_one() -> None:
    order = [
        DISK_LOADERS.index(f"/EFI/{path}") for path in ("debian/shimx64.efi", "BOOT/BOOTX64.EFI", "debian/grubx64.efi")
    ]
    assert order == sorted(order)


@given(st.text(max_size=80), st.sampled_from([*Boot]))
def test_whatever_a_document_says_the_commands_stay_the_same(text: str, boot: Boot) -> None:
    tame = turn_script(replace(PLAN, boot=boot, reason="r"), FILES, "1.2")
    wild_files = GrubFiles(kernel=text, initramfs=text, credential=text, arguments=(text, "x", f"tinkbox.mac={text}"))
    wild_plan = replace(
        PLAN, boot=boot, workflow=text or "w", reason=text, interface=replace(INTERFACE, hostname=text or "x")
    )
    wild = turn_script(wild_plan, wild_files, "1.2")
    assert wild.isascii()
    assert outside_quotes(wild) == outside_quotes(tame)


def outside_quotes(script: str) -> str:
    return "".join(script.split("'")[::2])
