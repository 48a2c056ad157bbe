"""The lines for other DHCP servers, as text; tests/integration/wire has the servers read and follow them."""

from ipaddress import IPv4Address
from pathlib import Path

from tinkbox.wire.dhcp.other_server_config import boot_files, foreign_lines
from tinkbox.wire.dhcp.pxe import PROGRAMS

LINES = {each.server: each for each in foreign_lines(IPv4Address("172.30.0.1"), "http://172.30.0.1:8080")}
SCRIPT = "http://172.30.0.1:8080/boot/${mac:hexhyp}/script.ipxe"


def test_firmware_gets_what_it_would_get_of_us() -> None:
    files = boot_files("http://172.30.0.1:8080")
    assert (files[0], files[7]) == ("undionly.kpxe", "snponly.efi")
    assert files[16] == "http://172.30.0.1:8080/boot/loaders/snponly.efi"
    assert set(files) == set(PROGRAMS)


def test_every_server_is_told_every_file_and_the_script() -> None:
    assert list(LINES) == ["dnsmasq", "ISC dhcpd", "Kea", "Windows DHCP"]
    for server in LINES.values():
        text = "\n".join(server.lines)
        assert SCRIPT in text, server.server
        for file in boot_files("http://172.30.0.1:8080").values():
            assert file in text, (server.server, file)


def test_windows_takes_ipxe_before_the_firmware_that_it_calls_itself() -> None:
    lines = LINES["Windows DHCP"].lines
    assert "Add-DhcpServerv4Class -Name 'iPXE' -Type User -Data 'iPXE'" in lines
    assert "Add-DhcpServerv4Policy -Name 'tinkbox iPXE' -Condition OR -UserClass EQ,'iPXE' -ProcessingOrder 1" in lines
    # In double quotes PowerShell would take the dollar for its own.
    assert f"Set-DhcpServerv4OptionValue -PolicyName 'tinkbox iPXE' -OptionId 67 -Value '{SCRIPT}'" in lines
    assert "Add-DhcpServerv4Class -Name 'PXEClient 7' -Type Vendor -Data 'PXEClient:Arch:00007'" in lines
    assert "Set-DhcpServerv4OptionValue -PolicyName 'tinkbox 7' -OptionId 67 -Value 'snponly.efi'" in lines
    assert "Set-DhcpServerv4OptionValue -PolicyName 'tinkbox 16' -OptionId 60 -Value 'HTTPClient'" in lines
    assert not any('"' in line for line in lines)


def test_the_docs_show_these_lines() -> None:
    shown = (Path(__file__).parents[4] / "docs" / "doctor.md").read_text()
    for server in foreign_lines(IPv4Address("172.30.0.1"), "http://172.30.0.1"):
        assert "```\n" + "\n".join(server.lines) + "\n```" in shown, server.server
