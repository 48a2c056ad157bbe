"""PXELINUX's configuration, word for word, and what hostile text can do to it: nothing."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.model.boot import Boot, Plan
from tinkbox.model.hardware import Interface, MacAddress
from tinkbox.wire.boot_scripts.pxelinux import PxelinuxFiles, configuration

FILES = PxelinuxFiles(
    configuration="pxelinux.cfg/01-08-00-27-00-00-01",
    kernel="osie/x86_64/vmlinuz",
    initramfs=("osie/x86_64/initramfs", "machine/credential.cpio"),
    arguments=("tinkbox.server=http://172.30.0.1", "console=ttyS0,115200"),
)
INTERFACE = Interface(mac=MacAddress("08:00:27:00:00:01"), hostname="lab-1")
PLAN = Plan(boot=Boot.OSIE, hardware_id="0eba0bf8", interface=INTERFACE, workflow="0b4a67b2")
AT_ONCE = """\
DEFAULT tinkbox
PROMPT 0
TIMEOUT 0
SAY tinkbox 1.2: lab-1 (08:00:27:00:00:01)
"""
LATER = AT_ONCE.replace("PROMPT 0", "PROMPT 1")
AGAIN = "LABEL tinkbox\n  CONFIG /pxelinux.cfg/01-08-00-27-00-00-01\n"


@pytest.mark.parametrize("boot", [Boot.OSIE, Boot.DISCOVERY])
def test_the_osie_is_booted_at_once(boot: Boot) -> None:
    assert configuration(replace(PLAN, boot=boot), FILES, "1.2") == AT_ONCE + (
        "SAY booting the OSIE\n"
        "LABEL tinkbox\n"
        "  KERNEL /osie/x86_64/vmlinuz\n"
        "  INITRD /osie/x86_64/initramfs,/machine/credential.cpio\n"
        "  APPEND tinkbox.server=http://172.30.0.1 console=ttyS0,115200\n"
    )


def test_an_argument_is_one_word_whatever_is_in_it() -> None:
    files = replace(FILES, arguments=("a=b init=/bin/sh", "c"))
    assert "  APPEND a=b_init=/bin/sh c\n" in configuration(PLAN, files, "1.2")


def test_what_only_the_kernel_reads_of_an_argument_stays() -> None:
    files = replace(FILES, arguments=("memmap=4G!12G", 'dyndbg="file*"', "ip=[fe80::1]"))
    assert '  APPEND memmap=4G!12G dyndbg="file*" ip=[fe80::1]\n' in configuration(PLAN, files, "1.2")


@pytest.mark.parametrize(
    ("boot", "tenths", "why"),
    [
        (Boot.PARKED, 300, "this machine is parked: r"),
        (Boot.WAITING, 50, "waiting for the services of its workflow: r"),
        (Boot.WORKFLOW, 300, "workflow 0b4a67b2 supplies a boot script for iPXE, which this loader cannot run"),
        (Boot.OWN_SCRIPT, 300, "its hardware document has a boot script for iPXE, which this loader cannot run"),
        (Boot.OWN_OSIE, 300, "its hardware document names an OSIE that needs iPXE, which this loader cannot run"),
    ],
)
def test_what_is_not_to_boot_yet_asks_again(boot: Boot, tenths: int, why: str) -> None:
    text = configuration(replace(PLAN, boot=boot, reason="r"), FILES, "1.2")
    assert text == LATER.replace("TIMEOUT 0", f"TIMEOUT {tenths}") + f"SAY {why}\n{AGAIN}"


def test_with_nothing_to_install_the_firmware_goes_on_to_its_next_device() -> None:
    text = configuration(replace(PLAN, boot=Boot.LOCAL_DISK), FILES, "1.2")
    assert text == AT_ONCE + "SAY nothing to install: booting the local disk\nLABEL tinkbox\n  LOCALBOOT -1\n"


def test_one_that_nobody_knows_is_called_a_new_machine() -> None:
    plan = replace(PLAN, boot=Boot.DISCOVERY, hardware_id="", interface=replace(INTERFACE, hostname=""))
    assert "SAY tinkbox 1.2: a new machine (08:00:27:00:00:01)\n" in configuration(plan, FILES, "1.2")


@given(st.text(max_size=80), st.sampled_from([*Boot]))
def test_whatever_a_document_says_the_commands_stay_the_same(text: str, boot: Boot) -> None:
    tame = configuration(replace(PLAN, boot=boot, reason="r"), FILES, "1.2")
    files = PxelinuxFiles(configuration=text, kernel=text, initramfs=(text, text), arguments=(text, f"a={text}"))
    plan = replace(PLAN, boot=boot, reason=text, interface=replace(INTERFACE, hostname=text or "x"))
    wild = configuration(plan, files, "1.2")
    assert wild.isascii()
    assert [line.split()[0] for line in wild.split("\n")[:-1]] == [line.split()[0] for line in tame.split("\n")[:-1]]
    if boot is Boot.OSIE:
        lines = dict(line.split(maxsplit=1) for line in wild.splitlines() if line.startswith("  "))
        assert len(lines["KERNEL"].split()) == 1
        assert lines["INITRD"].count(",") == 1
        assert len(lines["APPEND"].split()) in {1, 2}
