"""The boot scripts, word for word, and what hostile text can do to them: nothing."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import golden
from tinkbox.model.boot import Boot, Plan
from tinkbox.model.hardware import Interface, MacAddress
from tinkbox.wire.ipxe import BootFiles, script

OWN = "http://172.30.0.1/boot/08-00-27-00-00-01"
FILES = BootFiles(
    script=f"{OWN}/script.ipxe",
    kernel="http://172.30.0.1/boot/osie/x86_64/vmlinuz",
    initramfs="http://172.30.0.1/boot/osie/x86_64/initramfs",
    credential=f"{OWN}/credential.cpio",
    server="http://172.30.0.1",
    dns="172.30.0.1",
    arguments=("tinkbox.server=http://172.30.0.1", "tinkbox.mac=08:00:27:00:00:01", "console=ttyS0,115200"),
)
INTERFACE = Interface(mac=MacAddress("08:00:27:00:00:01"), hostname="lab-1")
PLAN = Plan(boot=Boot.OSIE, hardware_id="0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94", interface=INTERFACE)
NAME = "0b4a67b2-6f0e-4a54-9a52-3f3dbd6a1c11.workflows.tinkbox.internal"
SUPPLIED = replace(PLAN, boot=Boot.WORKFLOW, workflow="0b4a67b2", script=f"http://{NAME}/auto.ipxe")
WAITING = replace(PLAN, boot=Boot.WAITING, workflow="0b4a67b2", reason="service boot is starting: pulling its image")
BOOTS = [Boot.OSIE, Boot.PARKED, Boot.LOCAL_DISK, Boot.WORKFLOW, Boot.WAITING]


@pytest.mark.parametrize(
    ("name", "plan"),
    [
        ("osie", replace(PLAN, workflow="0b4a67b2")),
        ("local-disk", replace(PLAN, boot=Boot.LOCAL_DISK)),
        ("parked", replace(PLAN, boot=Boot.PARKED, reason="3 boots without progress")),
        ("workflow", SUPPLIED),
        ("waiting", WAITING),
    ],
)
def test_the_script_is_word_for_word_the_one_that_was_reviewed(name: str, plan: Plan) -> None:
    assert script(plan, FILES, "1.2") == golden.text(f"ipxe/{name}.ipxe")


def test_a_machine_without_a_hostname_or_workflow_is_called_by_its_id() -> None:
    nameless = replace(PLAN, interface=replace(INTERFACE, hostname=""))
    text = script(nameless, FILES, "1.2")
    assert "\necho tinkbox 1.2: 0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94 (08:00:27:00:00:01)\n" in text
    assert "on behalf of workflow 0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94\n" in text


@pytest.mark.parametrize(
    "hostile",
    [
        "x\nshell",
        "x\r\nshell",
        "x || shell",
        "x && shell",
        "x ; shell",
        "${net0/mac}",
        "$(reboot)",
        "x # y",
        'x" "y',
        "x\\",
        "\x1b[2J",
        "x\u2028shell",
    ],
)
def test_a_hostile_name_cannot_become_a_command(hostile: str) -> None:
    plan = Plan(
        boot=Boot.PARKED,
        hardware_id="h",
        interface=replace(INTERFACE, hostname=hostile),
        workflow=hostile,
        reason=hostile,
    )
    for boot in BOOTS:
        spoken = [
            line for line in script(replace(plan, boot=boot), FILES, "1.2").split("\n") if line.startswith("echo ")
        ]
        kept = [line for line in script(replace(PLAN, boot=boot), FILES, "1.2").split("\n") if line.startswith("echo ")]
        assert len(spoken) == len(kept)
        for line in spoken:
            assert not set(line) & set('\r$&|{}#"\\\x1b\u2028')


@given(st.text(max_size=80), st.sampled_from(BOOTS))
def test_whatever_a_document_says_the_commands_stay_the_same(text: str, boot: Boot) -> None:
    tame = script(replace(PLAN, boot=boot, workflow="w", reason="r"), FILES, "1.2")
    wild_files = replace(
        FILES,
        kernel=text,
        initramfs=text,
        credential=text,
        script=text,
        server=text,
        arguments=(text, f"tinkbox.mac={text}"),
    )
    wild_plan = replace(
        PLAN,
        boot=boot,
        workflow=text or "w",
        reason=text,
        script=text,
        interface=replace(INTERFACE, hostname=text or "x"),
    )
    wild = script(wild_plan, wild_files, "1.2")
    assert wild.isascii()
    assert [line.partition(" ")[0] for line in wild.split("\n")] == [
        line.partition(" ")[0] for line in tame.split("\n")
    ]
    for mark in ("||", "&&", "${"):
        assert wild.count(mark) == tame.count(mark)


def test_an_architecture_with_spaces_stays_one_word() -> None:
    files = replace(FILES, kernel="http://172.30.0.1/boot/osie/x86_64 || shell/vmlinuz")
    assert "\nkernel http://172.30.0.1/boot/osie/x86_64____shell/vmlinuz tinkbox.server=" in script(PLAN, files, "1.2")


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        (f"http://{NAME}:8080/~lab/x%20y.ipxe?a=1&b=*", f"http://{NAME}:8080/~lab/x%20y.ipxe?a=1&b=*"),
        ("http://w/a b", "http://w/a%20b"),
        ("http://w/a || shell", "http://w/a%20%7C%7C%20shell"),
        ("http://w/a?x&&&y", "http://w/a?x%26%26&y"),
        ('http://w/${net0/mac}\n"#', "http://w/%24%7Bnet0/mac%7D%0A%22%23"),
        ("http://w/ä\ud800", "http://w/%C3%A4%3F"),
    ],
)
def test_the_address_of_a_script_is_one_word_and_says_the_same(given: str, asked: str) -> None:
    text = script(replace(SUPPLIED, script=given), FILES, "1.2")
    assert f"\nchain --replace --autofree {asked} || goto failed\n" in text


def test_where_the_appliance_answers_for_no_names_the_networks_server_stays() -> None:
    text = script(SUPPLIED, replace(FILES, dns=""), "1.2")
    assert "set dns" not in text
    assert "\nset upstream-dns ${dns} ||\n" in text
