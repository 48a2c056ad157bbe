"""The boot scripts, word for word, and what hostile text can do to them: nothing."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import golden
from tinkbox.model.boot import Boot, Plan
from tinkbox.model.firmware_traits import LocalBoot
from tinkbox.model.hardware import Interface, MacAddress
from tinkbox.model.netboot import Netboot
from tinkbox.wire.boot_scripts.ipxe import BootFiles, come_by_https, machine_facts, script

OWN = "http://172.30.0.1/boot/08-00-27-00-00-01"
FILES = BootFiles(
    script=f"{OWN}/script.ipxe",
    kernel="http://172.30.0.1/boot/osie/x86_64/vmlinuz",
    initramfs="http://172.30.0.1/boot/osie/x86_64/initramfs",
    credential=f"{OWN}/credential.cpio",
    server="http://172.30.0.1",
    failed=f"{OWN}/failed",
    dns="172.30.0.1",
    arguments=("tinkbox.server=http://172.30.0.1", "tinkbox.mac=08:00:27:00:00:01", "console=ttyS0,115200"),
)
TELLS = f"imgfetch --timeout 5000 --name told {OWN}/failed"
INTERFACE = Interface(mac=MacAddress("08:00:27:00:00:01"), hostname="lab-1")
PLAN = Plan(boot=Boot.OSIE, hardware_id="0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94", interface=INTERFACE)
NAME = "0b4a67b2-6f0e-4a54-9a52-3f3dbd6a1c11.workflows.tinkbox.internal"
SUPPLIED = replace(PLAN, boot=Boot.WORKFLOW, workflow="0b4a67b2", script=f"http://{NAME}/auto.ipxe")
WAITING = replace(PLAN, boot=Boot.WAITING, workflow="0b4a67b2", reason="service boot is starting: pulling its image")
OWN_OSIE = replace(PLAN, boot=Boot.OWN_OSIE, workflow="0b4a67b2", ticket=True)
COMMANDS = "echo a person's own ${net0/mac} && echo yes || shell\nkernel http://lab/k ${tinkbox-arguments}\nboot\n"
OWN_SCRIPT = replace(PLAN, boot=Boot.OWN_SCRIPT, interface=replace(INTERFACE, netboot=Netboot(script=COMMANDS)))
OWN_URL = replace(OWN_SCRIPT, interface=replace(INTERFACE, netboot=Netboot(script_url="https://lab.example/a b.ipxe")))
BOOTS = [
    Boot.OSIE, Boot.DISCOVERY, Boot.PARKED, Boot.LOCAL_DISK, Boot.WORKFLOW, Boot.WAITING, Boot.OWN_OSIE, Boot.OWN_SCRIPT
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "plan"),
    [
        ("osie", replace(PLAN, workflow="0b4a67b2")),
        ("local-disk", replace(PLAN, boot=Boot.LOCAL_DISK)),
        ("parked", replace(PLAN, boot=Boot.PARKED, reason="3 boots without progress")),
        ("workflow", SUPPLIED),
        ("waiting", WAITING),
        ("own-osie", OWN_OSIE),
        ("own-script", OWN_SCRIPT),
        ("own-url", OWN_URL),
    ],
)
def test_the_script_is_word_for_word_the_one_that_was_reviewed(name: str, plan: Plan) -> None:
    assert script(plan, FILES, "1.2") == golden.text(f"ipxe/{name}.ipxe")


def test_firmware_of_cards_is_loaded_word_for_word_as_it_was_reviewed() -> None:
    files = replace(FILES, firmware="http://172.30.0.1/boot/osie/x86_64/firmware")
    assert script(replace(PLAN, workflow="0b4a67b2"), files, "1.2") == golden.text("ipxe/firmware.ipxe")


@pytest.mark.parametrize(
    ("name", "url"),
    [("come-by-https", "https://172.30.0.1/boot/08-00-27-00-00-01/script.ipxe"), ("without-https", "")],
)
def test_one_that_boots_by_https_alone_is_led_there_word_for_word(name: str, url: str) -> None:
    assert come_by_https(PLAN, FILES, url, "1.2") == golden.text(f"ipxe/{name}.ipxe")


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
    assert "\nkernel http://172.30.0.1/boot/osie/x86_64%20%7C%7C%20shell/vmlinuz tinkbox.server=" in script(
        PLAN, files, "1.2"
    )


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


@pytest.mark.parametrize(
    ("way", "commands"),
    [
        (LocalBoot.EXIT, ["exit 1"]),
        (LocalBoot.NO_FILE, ["exit 1"]),
        (
            LocalBoot.SANBOOT,
            [
                *(
                    f"sanboot --no-describe --drive 0x8{disk} || set error8{disk} ${{errno:hexraw}} ||"
                    for disk in range(4)
                ),
                f"{TELLS}?step=disk&error=${{error80}}.${{error81}}.${{error82}}.${{error83}} && imgfree told ||",
                "exit 1",
            ],
        ),
        (
            LocalBoot.GRUB,
            [
                "chain --autofree http://172.30.0.1/boot/loaders/grubx64.efi ||",
                f"{TELLS}?step=loader&error=${{errno:hexraw}} && imgfree told ||",
                "exit 1",
            ],
        ),
    ],
)
def test_the_way_to_the_disk_is_the_one_that_was_decided(way: LocalBoot, commands: list[str]) -> None:
    files = replace(FILES, loaders="http://172.30.0.1/boot/loaders")
    text = script(replace(PLAN, boot=Boot.LOCAL_DISK, local_boot=way), files, "1.2")
    assert text.splitlines()[4:] == commands


def test_one_that_nobody_knows_boots_the_osie_to_tell_what_it_is() -> None:
    stranger = replace(PLAN, boot=Boot.DISCOVERY, hardware_id="", interface=replace(INTERFACE, hostname=""))
    known, unknown = script(PLAN, FILES, "1.2").splitlines(), script(stranger, FILES, "1.2").splitlines()
    assert unknown[2:4] == [
        "echo tinkbox 1.2: a new machine (08:00:27:00:00:01)",
        "echo booting the OSIE to tell what this machine is",
    ]
    assert unknown[4:] == known[4:]


def test_own_script_without_a_ticket_is_told_of_no_credential() -> None:
    for plan in (OWN_SCRIPT, OWN_URL):
        assert "credential" not in script(plan, FILES, "1.2")
        told = f"\nset tinkbox-credential {FILES.credential}\n"
        assert told in script(replace(plan, ticket=True), FILES, "1.2")


def test_url_of_a_script_beats_its_text() -> None:
    both = replace(INTERFACE, netboot=Netboot(script=COMMANDS, script_url="http://lab/x.ipxe"))
    text = script(replace(OWN_SCRIPT, interface=both), FILES, "1.2")
    assert "\nchain --replace --autofree http://lab/x.ipxe || goto failed\n" in text
    assert "a person" not in text


@given(st.text(max_size=80))
def test_url_of_a_document_becomes_no_command(text: str) -> None:
    def of(url: str) -> str:
        return script(replace(OWN_URL, interface=replace(INTERFACE, netboot=Netboot(script_url=url))), FILES, "1.2")

    tame, wild = of("http://lab/x"), of(f"http://lab/{text}")
    assert wild.isascii()
    assert [line.split(" ")[0] for line in wild.split("\n")] == [line.split(" ")[0] for line in tame.split("\n")]
    for mark in ("||", "&&", "${"):
        assert wild.count(mark) == tame.count(mark)


@given(st.lists(st.text(max_size=20), max_size=4))
def test_kernel_parameters_become_no_command(words: list[str]) -> None:
    wild = script(PLAN, replace(FILES, arguments=tuple(words)), "1.2")
    tame = script(PLAN, replace(FILES, arguments=tuple("x" for _ in words)), "1.2")
    assert [line.split(" ")[0] for line in wild.split("\n")] == [line.split(" ")[0] for line in tame.split("\n")]
    for mark in ("||", "&&", "$"):
        assert wild.count(mark) == tame.count(mark)


@pytest.mark.parametrize("word", [";", "#", "#x", "||", "&&", "${x}", "a b", "", "\n"])
def test_what_ends_a_command_of_ipxe_is_no_argument(word: str) -> None:
    """By iPXE's command_terminator: a word that is ; or || or &&, or that begins with #."""
    text = script(PLAN, replace(FILES, arguments=("first", word, "last")), "1.2")
    (kernel,) = (line for line in text.splitlines() if line.startswith("kernel "))
    command = kernel.split(" ")[: kernel.split(" ").index("||")]
    assert command[-3:] == ["last", "initrd=initramfs", "initrd=credential.cpio"]
    assert not any(each in (";", "&&") or each.startswith("#") or "$" in each for each in command)


@pytest.mark.parametrize("boot", BOOTS)
def test_ipxe_logs_to_us_when_our_port_is_the_one_that_it_knows(boot: Boot) -> None:
    plan = replace(PLAN, boot=boot)
    assert "\nset syslog 172.30.0.1 ||\n" in script(plan, replace(FILES, syslog="172.30.0.1"), "1.2")
    assert "syslog" not in script(plan, replace(FILES, syslog="172.30.0.1:5514"), "1.2")
    assert "syslog" not in script(plan, FILES, "1.2")


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({}, {}),
        ({"platform": "pcbios", "manufacturer": "51454d55"}, {"platform": "pcbios", "manufacturer": "QEMU"}),
        ({"platform": "sparc", "serial": ""}, {}),
        ({"product": "Standard PC"}, {"product": "Standard PC"}),  # by a URL of somebody's own
        ({"product": "ff41"}, {"product": "\ufffdA"}),
        ({"product": "1b5b324a41"}, {"product": "[2JA"}),
        ({"serial": "41" * 500}, {"serial": "A" * 64}),
    ],
)
def test_what_a_machine_says_of_itself_is_bounded_text(query: dict[str, str], told: dict[str, str]) -> None:
    assert machine_facts(query) == told
