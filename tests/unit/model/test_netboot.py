"""How a hardware document says that its machine boots: what is honoured, what is told, what is refused."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tinkbox.model.documents.hardware import given_hardware, hardware_from_document, parse_hardware
from tinkbox.model.errors import Invalid
from tinkbox.model.hardware import Hardware
from tinkbox.model.netboot import (
    BY_THE_APPLIANCE,
    MAX_KERNEL_BYTES,
    MAX_SCRIPT_BYTES,
    Netboot,
    OwnOsie,
    kernel_parameters_of,
    option_of,
    path_of,
    script_of,
    url_of,
)


def document(netboot: Any = None, **dhcp: Any) -> dict[str, Any]:
    interface = {"dhcp": {"mac": "08:00:27:00:00:01", **dhcp}, "netboot": {"allowPXE": True, **(netboot or {})}}
    return {"kind": "Hardware", "metadata": {"name": "m"}, "spec": {"interfaces": [interface]}}


def of_2020(**netboot: Any) -> dict[str, Any]:
    interface = {"dhcp": {"mac": "08:00:27:00:00:01"}, "netboot": {"allow_pxe": True, **netboot}}
    return {"id": "0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94", "network": {"interfaces": [interface]}}


def own(hardware: Hardware) -> Netboot:
    return hardware.interfaces[0].netboot


def noted(hardware: Hardware) -> dict[str, str]:
    return {each.key.rpartition("[0].")[2]: each.text for each in hardware.remarks.all}


def test_document_that_says_nothing_boots_as_the_appliance_does() -> None:
    for each in (document(), document({"ipxe": {}, "osie": None}), of_2020(ipxe={"url": "", "contents": ""})):
        hardware = given_hardware(each)
        assert own(hardware) is BY_THE_APPLIANCE
        assert hardware.remarks.all == ()


def test_script_is_taken_without_its_first_line_and_told() -> None:
    hardware = given_hardware(document({"ipxe": {"contents": "#!ipxe\r\n\r\necho hello\r\nshell"}}))
    assert own(hardware).script == "echo hello\nshell\n"
    assert "also without a workflow" in noted(hardware)["netboot.ipxe.contents"]
    assert script_of("dhcp\n\tboot") == "dhcp\n\tboot\n"


@pytest.mark.parametrize("empty", ["#!ipxe", "#!ipxe\n", "\n \n#!ipxe \n\n"])
def test_script_without_a_command_is_none(empty: str) -> None:
    assert own(given_hardware(document({"ipxe": {"contents": empty}}))) is BY_THE_APPLIANCE


@pytest.mark.parametrize("url", ["http://lab/x.ipxe", "HTTPS://lab:8443/a?b=c&d", "tftp://172.30.0.9/menu.ipxe"])
def test_url_of_a_script_is_taken_and_beats_contents(url: str) -> None:
    hardware = given_hardware(document({"ipxe": {"url": url, "contents": "#!ipxe\nshell"}}))
    assert own(hardware) == Netboot(script_url=url)
    assert "the script of the url is booted" in noted(hardware)["netboot.ipxe.contents"]


def test_settings_of_ipxe_in_a_url_are_told() -> None:
    hardware = given_hardware(document({"ipxe": {"url": "http://lab/${mac}.ipxe"}}))
    told = [each.text for each in hardware.remarks.all if each.key.endswith("ipxe.url")]
    assert any("iPXE's settings are not put into a url" in each for each in told)


def test_osie_of_another_place_has_tinkerbells_names() -> None:
    hardware = given_hardware(document({"osie": {"baseURL": "http://lab/osie/"}}, arch="arm64"))
    found = OwnOsie(kernel="http://lab/osie/vmlinuz-aarch64", initramfs="http://lab/osie/initramfs-aarch64")
    assert own(hardware).osie == found
    assert "by iPXE only" in noted(hardware)["netboot.osie"]
    given = {"baseURL": "http://lab", "kernel": "/k", "initrd": "a/i.img"}
    found = OwnOsie(kernel="http://lab/k", initramfs="http://lab/a/i.img")
    assert own(given_hardware(document({"osie": given}))).osie == found


def test_names_of_an_osie_without_its_place_are_told() -> None:
    hardware = given_hardware(document({"osie": {"kernel": "vmlinuz", "initrd": "initrd"}}))
    assert own(hardware) is BY_THE_APPLIANCE
    assert set(noted(hardware)) == {"netboot.osie.kernel", "netboot.osie.initrd"}
    assert len(hardware.remarks.ignored) == 2


def test_kernel_parameters_are_words() -> None:
    given = ["console=ttyS1,115200 nomodeset", "memmap=4G!12G", " ", 'dyndbg="file*"']
    hardware = given_hardware(document({"osie": {"kernelParams": given}}))
    assert own(hardware).kernel_parameters == ("console=ttyS1,115200", "nomodeset", "memmap=4G!12G", 'dyndbg="file*"')
    (told,) = hardware.remarks.notes
    assert told.key == "spec.interfaces[0].netboot.osie.kernelParams"
    assert told.text == "'console=ttyS1,115200 nomodeset' has a blank in it: the kernel is given 2 words"


@pytest.mark.parametrize("letter", ["\x1b", "\u202e", "\u3164", "\n"])
def test_a_letter_that_is_not_seen_is_told_as_an_escape(letter: str) -> None:
    escaped = letter.encode("unicode_escape").decode()
    for netboot in ({"ipxe": {"url": f"http://lab/{letter}"}}, {"osie": {"baseURL": f"http://lab/{letter}"}}):
        with pytest.raises(Invalid) as refusal:
            given_hardware(document(netboot))
        assert f"not 'http://lab/{escaped}'" in refusal.value.problems[0].text


def test_a_url_in_a_note_is_in_quotes_that_it_cannot_end() -> None:
    (told,) = given_hardware(document({"osie": {"baseURL": "http://lab/'`rm`"}})).remarks.notes
    assert 'it boots \'http://lab/""rm"/vmlinuz-x86_64\' by iPXE only' in told.text


@pytest.mark.parametrize(
    ("name", "program"),
    [
        ("undionly.kpxe", "undionly.kpxe"),
        ("ipxe.efi", "ipxe.efi"),
        ("snp-x86_64.efi", "snponly.efi"),
        ("snp-arm64.efi", "ipxe-arm64.efi"),
    ],
)
def test_loader_is_known_by_tinkerbells_name(name: str, program: str) -> None:
    hardware = given_hardware(document({"ipxe": {"binary": name}}))
    assert (own(hardware).program, hardware.remarks.all) == (program, ())


def test_loader_that_is_not_here_is_told() -> None:
    hardware = given_hardware(document({"ipxe": {"binary": "ipxe-x.efi"}}))
    assert own(hardware) is BY_THE_APPLIANCE
    assert "there is no 'ipxe-x.efi' here" in noted(hardware)["netboot.ipxe.binary"]


def test_other_boot_server_is_taken_and_told() -> None:
    hardware = given_hardware(document(tftp_server_name="tftp.lab", boot_file_name="ztp.cfg"))
    assert own(hardware) == Netboot(server_name="tftp.lab", file="ztp.cfg")
    assert own(hardware).elsewhere
    assert "told to boot there, always" in noted(hardware)["dhcp.tftp_server_name"]
    assert set(noted(given_hardware(document(boot_file_name="ztp.cfg")))) == {"dhcp.boot_file_name"}


def test_document_of_2020_has_the_same_by_its_own_names() -> None:
    ipxe = {"url": "http://lab/menu.ipxe"}
    hardware = given_hardware(of_2020(ipxe=ipxe, osie={"base_url": "http://lab", "kernel": "k", "initrd": "i"}))
    osie = OwnOsie(kernel="http://lab/k", initramfs="http://lab/i")
    assert own(hardware) == Netboot(script_url="http://lab/menu.ipxe", osie=osie)


def test_example_of_2020_boots_the_osie_as_it_did() -> None:
    osie = {"base_url": "", "kernel": "vmlinuz-x86_64", "initrd": ""}
    example = of_2020(allow_workflow=True, ipxe={"url": "http://url/menu.ipxe", "contents": "#!ipxe"}, osie=osie)
    hardware = parse_hardware(json.dumps(example))
    assert own(hardware) is BY_THE_APPLIANCE
    assert list(noted(hardware)) == ["netboot.ipxe"]


@pytest.mark.parametrize(
    ("netboot", "key", "said"),
    [
        ({"ipxe": {"contents": "a\0b"}}, "ipxe.contents", "expected printable text"),
        ({"ipxe": {"contents": "a\x1b[2J"}}, "ipxe.contents", "expected printable text"),
        ({"ipxe": {"contents": "x" * (MAX_SCRIPT_BYTES + 1)}}, "ipxe.contents", "at most 64 KiB"),
        ({"ipxe": {"contents": 7}}, "ipxe.contents", "expected the text"),
        ({"ipxe": {"url": "nfs://lab/x"}}, "ipxe.url", "expected a URL"),
        ({"ipxe": {"url": "http:///x"}}, "ipxe.url", "expected a URL"),
        ({"ipxe": {"url": "http://lab/a b"}}, "ipxe.url", "expected a URL"),
        ({"ipxe": {"url": "http://lab/a\nshell"}}, "ipxe.url", "expected a URL"),
        ({"ipxe": {"url": "http://lab/" + "x" * 1024}}, "ipxe.url", "at most 1024 bytes"),
        ({"ipxe": []}, "ipxe", "expected an object"),
        ({"osie": {"baseURL": "lab"}}, "osie.baseURL", "expected a URL"),
        ({"osie": {"kernel": ["x"]}}, "osie.kernel", "expected the name of a file"),
        ({"osie": {"kernelParams": "quiet"}}, "osie.kernelParams", "expected a list"),
        ({"osie": {"kernelParams": ["a'b"]}}, "osie.kernelParams", "takes for its own"),
        ({"osie": {"kernelParams": ["${x}"]}}, "osie.kernelParams", "takes for its own"),
        ({"osie": {"kernelParams": ["||"]}}, "osie.kernelParams", "takes for its own"),
        ({"osie": {"kernelParams": ["quiet ; shell"]}}, "osie.kernelParams", "takes for its own"),
        ({"osie": {"kernelParams": ["#x"]}}, "osie.kernelParams", "takes for its own"),
        ({"osie": {"kernelParams": ["a\0"]}}, "osie.kernelParams", "takes for its own"),
        ({"osie": {"kernelParams": ["x" * (MAX_KERNEL_BYTES + 1)]}}, "osie.kernelParams", "at most 1536"),
    ],
)
def test_what_cannot_be_is_refused_and_of_a_stored_document_left_out(netboot: Any, key: str, said: str) -> None:
    with pytest.raises(Invalid) as refusal:
        given_hardware(document(netboot))
    (problem,) = refusal.value.problems
    assert problem.key == f"spec.interfaces[0].netboot.{key}"
    assert said in problem.text
    assert own(hardware_from_document(document(netboot))) is BY_THE_APPLIANCE


@pytest.mark.parametrize("key", ["tftp_server_name", "boot_file_name"])
@pytest.mark.parametrize("wrong", ["x" * 254, "a\nb", "ä", 7])
def test_options_of_dhcp_are_short_ascii(key: str, wrong: Any) -> None:
    with pytest.raises(Invalid):
        given_hardware(document(**{key: wrong}))
    assert own(hardware_from_document(document(**{key: wrong}))) is BY_THE_APPLIANCE


@pytest.mark.parametrize("check", [script_of, url_of, path_of, option_of, kernel_parameters_of])
@pytest.mark.parametrize("value", [1, True, {}, {"a": 1}, [1], [["a"]], 1.5])
def test_what_is_of_another_kind_is_refused(check: Callable[[Any], Any], value: Any) -> None:
    with pytest.raises(Invalid):
        check(value)
