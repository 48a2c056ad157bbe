"""What another DHCP server has to be told, so that its machines boot from here: exact lines, to be pasted.

Each machine's boot script has a URL of its own, which iPXE makes from its MAC itself: `${mac:hexhyp}`.  iPXE says who it
is by its user class (option 77); firmware by its architecture (option 93, RFC 4578 §2.1); firmware that boots over HTTP
takes only an offer that says HTTPClient (UEFI §24.7.3.2).
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Any, Final

from tinkbox.wire.dhcp.pxe import PROGRAMS

SCRIPT: Final = "${mac:hexhyp}/script.ipxe"
_OVER_HTTP: Final = frozenset({16, 19})


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignLines:
    """`server` is the DHCP server's name, `where` says where its `lines` go."""

    server: str
    where: str
    lines: tuple[str, ...]


def foreign_lines(address: IPv4Address, url: str) -> tuple[ForeignLines, ...]:
    """For dnsmasq, ISC dhcpd, Kea and Windows; the appliance is at `address`, its node door at `url`."""
    files = boot_files(url)
    script = f"{url}/boot/{SCRIPT}"
    return (
        ForeignLines(
            server="dnsmasq",
            where="into a file of its own below /etc/dnsmasq.d/",
            lines=tuple(_dnsmasq(address, script, files)),
        ),
        ForeignLines(
            server="ISC dhcpd",
            where="into /etc/dhcp/dhcpd.conf, outside of every subnet",
            lines=tuple(_dhcpd(address, script, files)),
        ),
        ForeignLines(
            server="Kea",
            where="into /etc/kea/kea-dhcp4.conf, under Dhcp4",
            lines=tuple(_kea(address, script, files)),
        ),
        ForeignLines(
            server="Windows DHCP",
            where="into a PowerShell of the server, as administrator",
            lines=tuple(_windows(address, script, files)),
        ),
    )


def boot_files(url: str) -> Mapping[int, str]:
    """What firmware of each architecture is to load: a name for TFTP, or a URL for what boots over HTTP."""
    return {
        architecture: f"{url}/boot/loaders/{name}" if architecture in _OVER_HTTP else name
        for architecture, name in PROGRAMS.items()
    }


def _dnsmasq(address: IPv4Address, script: str, files: Mapping[int, str]) -> Iterator[str]:
    yield "dhcp-userclass=set:ipxe,iPXE"
    for architecture in files:
        yield f"dhcp-match=set:arch{architecture},option:client-arch,{architecture}"
    yield f"dhcp-boot=tag:ipxe,{script}"
    for architecture, file in files.items():
        tags = f"tag:!ipxe,tag:arch{architecture}"
        if architecture in _OVER_HTTP:
            yield f"dhcp-boot={tags},{file}"
            yield f"dhcp-option-force={tags},60,HTTPClient"
        else:
            yield f"dhcp-boot={tags},{file},{address},{address}"


def _dhcpd(address: IPv4Address, script: str, files: Mapping[int, str]) -> Iterator[str]:
    yield "option client-architecture code 93 = unsigned integer 16;"
    yield 'class "tinkbox" {'
    yield '  match if substring(option vendor-class-identifier, 0, 9) = "PXEClient"'
    yield '        or substring(option vendor-class-identifier, 0, 10) = "HTTPClient";'
    yield f"  next-server {address};"
    yield '  if exists user-class and option user-class = "iPXE" {'
    yield f'    filename "{script}";'
    for architecture, file in files.items():
        yield f"  }} elsif option client-architecture = 00:{architecture:02x} {{"
        if architecture in _OVER_HTTP:
            yield '    option vendor-class-identifier "HTTPClient";'
        yield f'    filename "{file}";'
    yield "  }"
    yield "}"


def _kea(address: IPv4Address, script: str, files: Mapping[int, str]) -> Iterator[str]:
    classes: list[dict[str, Any]] = [
        {"name": "tinkbox-ipxe", "test": "option[77].hex == 'iPXE'", "boot-file-name": script}
    ]
    for architecture, file in files.items():
        test = f"not member('tinkbox-ipxe') and option[93].hex == 0x{architecture:04x}"
        chosen: dict[str, Any] = {"name": f"tinkbox-{architecture}", "test": test, "boot-file-name": file}
        if architecture in _OVER_HTTP:
            told = {"name": "vendor-class-identifier", "data": "HTTPClient", "always-send": True}
            chosen["option-data"] = [told]
        else:
            chosen |= {"next-server": str(address), "server-hostname": str(address)}
        classes.append(chosen)
    yield '"client-classes": ['
    for each in classes:
        yield f"  {json.dumps(each)}{',' if each is not classes[-1] else ''}"
    yield "],"


def _windows(address: IPv4Address, script: str, files: Mapping[int, str]) -> Iterator[str]:
    """Policies are tried in the order of their numbers: iPXE's comes first, for it says its architecture as well."""
    yield "Add-DhcpServerv4OptionDefinition -OptionId 60 -Name 'vendor class' -Type String"
    yield "Add-DhcpServerv4Class -Name 'iPXE' -Type User -Data 'iPXE'"
    yield "Add-DhcpServerv4Policy -Name 'tinkbox iPXE' -Condition OR -UserClass EQ,'iPXE' -ProcessingOrder 1"
    yield f"Set-DhcpServerv4OptionValue -PolicyName 'tinkbox iPXE' -OptionId 66 -Value '{address}'"
    # In single quotes PowerShell leaves the dollar to iPXE.
    yield f"Set-DhcpServerv4OptionValue -PolicyName 'tinkbox iPXE' -OptionId 67 -Value '{script}'"
    for number, (architecture, file) in enumerate(files.items(), start=2):
        http = architecture in _OVER_HTTP
        kind = "HTTPClient" if http else "PXEClient"
        name, policy = f"{kind} {architecture}", f"tinkbox {architecture}"
        chosen = f"-PolicyName '{policy}'"
        yield f"Add-DhcpServerv4Class -Name '{name}' -Type Vendor -Data '{kind}:Arch:{architecture:05}'"
        yield (
            f"Add-DhcpServerv4Policy -Name '{policy}' -Condition AND -VendorClass EQ,'{name}*' "
            f"-UserClass NE,'iPXE' -ProcessingOrder {number}"
        )
        if http:
            yield f"Set-DhcpServerv4OptionValue {chosen} -OptionId 60 -Value 'HTTPClient'"
        else:
            yield f"Set-DhcpServerv4OptionValue {chosen} -OptionId 66 -Value '{address}'"
        yield f"Set-DhcpServerv4OptionValue {chosen} -OptionId 67 -Value '{file}'"
