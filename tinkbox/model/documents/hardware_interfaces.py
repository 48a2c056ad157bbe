"""The interfaces of a hardware document: what is reserved for each, and how it boots."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv6Address, IPv6Interface
from itertools import chain
from typing import Final

from tinkbox.model.documents.hardware_values import Reader, is_netmask
from tinkbox.model.documents.kubernetes import INTERFACE
from tinkbox.model.errors import Invalid
from tinkbox.model.hardware import DEFAULT_ARCHITECTURE, DEFAULT_LEASE_SECONDS, Form, Interface, MacAddress, WithoutMac
from tinkbox.model.netboot import (
    BY_THE_APPLIANCE,
    MAX_URL_BYTES,
    PROGRAMS,
    Netboot,
    OwnOsie,
    kernel_parameters_of,
    option_of,
    path_of,
    script_of,
    url_of,
)
from tinkbox.model.text import counted, quoted

# The keys of an interface in 2020's form, which has those of today below `dhcp`.
_KEYS_2020: Final[Collection[str]] = ("dhcp", "netboot")
_NETBOOT_2020: Final[Collection[str]] = ("allow_pxe", "allow_workflow", "ipxe", "osie")
_NETBOOTED_2020: Final[Mapping[str, Collection[str]]] = {
    "ipxe": ("url", "contents"), "osie": ("base_url", "kernel", "initrd")
}  # fmt: skip
_NO_MACS: Final = (
    "no MAC of the machine is told, so it cannot boot by the network: start its worker with a file of "
    "`tinkbox hardware credential`"
)
_SCRIPTED: Final = (
    "this script boots in the OSIE's place, also without a workflow; once a workflow has succeeded, the machine boots its "
    "disk, and the script for its next workflow"
)


def interfaces_of(
    holder: Reader, what: str, read: Callable[[Reader, int], Interface | WithoutMac]
) -> tuple[tuple[Interface, ...], tuple[WithoutMac, ...]]:
    """Those with a MAC, and those without; raises Invalid with all that was found wrong."""
    read_ones = [read(entry, place) for place, entry in enumerate(holder.inner_list("interfaces"))]
    read_ones = list(_each_address_once(_each_mac_once(read_ones, holder), holder))
    interfaces = tuple(each for each in read_ones if isinstance(each, Interface))
    without_mac = tuple(each for each in read_ones if isinstance(each, WithoutMac))
    if holder.found.problems:
        raise Invalid(f"{what} has {counted(len(holder.found.problems), 'problem')}", holder.found.problems)
    if not interfaces:
        holder.note("interfaces", _NO_MACS)
    return interfaces, without_mac


def interface_2020(entry: Reader, place: int) -> Interface | WithoutMac:
    entry.note_unknown(_KEYS_2020)
    dhcp, netboot = entry.inner("dhcp"), entry.inner("netboot")
    address = dhcp.inner("ip")
    dhcp.note_unknown(INTERFACE["dhcp"])
    address.note_unknown(INTERFACE["dhcp"]["ip"])
    netboot.note_unknown(_NETBOOT_2020)
    read = _reserved(dhcp, address, place, allow_pxe=netboot.flag("allow_pxe", default=True))
    if not netboot.flag("allow_workflow", default=True) and isinstance(read, Interface):
        netboot.note("allow_workflow", "it is false: this interface boots the OSIE for no workflow")
        read = replace(read, allow_workflow=False)
    return _with_netboot(read, dhcp, netboot, is_object=False)


def interface_of_object(entry: Reader, place: int) -> Interface | WithoutMac:
    """Of a `kind: Hardware`, where what is not said is not allowed."""
    dhcp, netboot = entry.inner("dhcp"), entry.inner("netboot")
    answered = not entry.flag("disableDhcp", default=False)
    allow_pxe = netboot.flag("allowPXE", default=False)
    read = _reserved(dhcp, dhcp.inner("ip"), place, allow_pxe=allow_pxe, answered=answered)
    if isinstance(read, Interface):
        read = replace(read, form=Form.V1ALPHA1, pxe_told=netboot.says("allowPXE"))
    return _with_netboot(read, dhcp, netboot, is_object=True)


def _each_mac_once(interfaces: Iterable[Interface | WithoutMac], holder: Reader) -> Iterator[Interface | WithoutMac]:
    """The same, of which one with the MAC of an earlier one has none; what it repeats of that one it has not either."""
    first = dict[MacAddress, Interface]()
    for each in interfaces:
        if isinstance(each, WithoutMac):
            yield each
            continue
        if (counting := first.setdefault(each.mac, each)) is each:
            yield each
            continue
        text = f"an earlier interface has {each.mac} too, and that one counts: this one counts as one without a MAC"
        holder.ignore(f"interfaces[{each.place}].dhcp.mac", text)
        address = each.address if each.address != counting.address else None
        yield WithoutMac(hostname=each.hostname, address=address)


def _each_address_once(
    interfaces: Iterable[Interface | WithoutMac], holder: Reader
) -> Iterator[Interface | WithoutMac]:
    """The same, of which one with the IPv4 address of an earlier one has none: an address leads to one card."""
    taken = set[IPv4Address]()
    for place, each in enumerate(interfaces):
        if each.address is None or each.address not in taken:
            taken |= {each.address} if each.address else set()
            yield each
            continue
        text = f"an earlier interface has {each.address} too, and that one is given it: this one counts as one without an address"
        holder.ignore(f"interfaces[{place}].dhcp.ip.address", text)
        if isinstance(each, Interface):
            yield replace(each, address=None, netmask=None, gateway=None)
        else:
            yield replace(each, address=None)


def _with_netboot(
    read: Interface | WithoutMac, dhcp: Reader, netboot: Reader, *, is_object: bool
) -> Interface | WithoutMac:
    """The same interface with how it boots; one without a MAC does not."""
    ipxe, osie = netboot.told("ipxe"), netboot.told("osie")
    if not is_object:
        ipxe.note_unknown(_NETBOOTED_2020["ipxe"])
        osie.note_unknown(_NETBOOTED_2020["osie"])
    if isinstance(read, WithoutMac):
        return read
    script, script_url = _own_script(ipxe)
    if not is_object and script + script_url and netboot.is_true("allow_workflow"):
        # Boots of 2020 gave its script to machines without a workflow; most documents have the one of its own example.
        netboot.note("ipxe", "allow_workflow is true: its workflows boot the OSIE, and this script is not booted")
        script = script_url = ""
    server_name, file = dhcp.checked("tftp_server_name", option_of, ""), dhcp.checked("boot_file_name", option_of, "")
    found = Netboot(
        script=script,
        script_url=script_url,
        osie=_own_osie(osie, read.architecture, is_object=is_object),
        kernel_parameters=_kernel_parameters(osie) if is_object else (),
        program=_program(ipxe) if is_object else "",
        server_name=server_name,
        file=file,
    )
    if found == BY_THE_APPLIANCE:
        return read
    _note_what_follows(found, dhcp, ipxe, osie)
    return replace(read, netboot=found)


def _own_script(ipxe: Reader) -> tuple[str, str]:
    """The commands, and the URL, of which one at most is something."""
    script, url = ipxe.checked("contents", script_of, ""), ipxe.checked("url", url_of, "")
    if script and url:
        ipxe.ignore("contents", "url is given too, and the script of the url is booted")
    if "${" in url:
        ipxe.note("url", "iPXE's settings are not put into a url: have `chain` and the url in contents")
    return ("" if url else script), url


def _own_osie(osie: Reader, architecture: str, *, is_object: bool) -> OwnOsie | None:
    """Files without a name are called as Tinkerbell calls its own."""
    name = "baseURL" if is_object else "base_url"
    base = osie.checked(name, url_of, "")
    kernel, initrd = osie.checked("kernel", path_of, ""), osie.checked("initrd", path_of, "")
    if base:
        below = base.rstrip("/")
        return OwnOsie(
            kernel=f"{below}/{kernel or f'vmlinuz-{architecture}'}",
            initramfs=f"{below}/{initrd or f'initramfs-{architecture}'}",
        )
    for key, value in (("kernel", kernel), ("initrd", initrd)):
        if value and is_object:
            osie.ignore(key, f"without {name} the appliance's own OSIE boots, in which the file has another name")
    return None


def _kernel_parameters(osie: Reader) -> tuple[str, ...]:
    none: tuple[tuple[str, ...], ...] = ()
    found = osie.checked("kernelParams", kernel_parameters_of, none)
    for words in (each for each in found if len(each) > 1):
        text = f"{quoted(' '.join(words))} has a blank in it: the kernel is given {len(words)} words"
        osie.note("kernelParams", text)
    return tuple(chain.from_iterable(found))


def _program(ipxe: Reader) -> str:
    name = ipxe.checked("binary", option_of, "")
    if name and name not in PROGRAMS:
        ipxe.ignore("binary", f"there is no {quoted(name)} here: the firmware decides; known are {', '.join(PROGRAMS)}")
    return PROGRAMS.get(name, "")


def _note_what_follows(found: Netboot, dhcp: Reader, ipxe: Reader, osie: Reader) -> None:
    if found.elsewhere:
        dhcp.note(
            "tftp_server_name" if found.server_name else "boot_file_name",
            "this interface is told to boot there, always: its loader and the OSIE come from nowhere else",
        )
        return
    if found.has_script:
        ipxe.note("url" if found.script_url else "contents", _SCRIPTED)
    if found.osie is not None:
        kernel, initramfs = (quoted(each, MAX_URL_BYTES) for each in (found.osie.kernel, found.osie.initramfs))
        osie.note("", f"it boots {kernel} by iPXE only; tinkbox's worker has to be in {initramfs}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reserved:
    """What stands below `ip`: an address of IPv4 or of IPv6 with its like, or neither."""

    address: IPv4Address | None = None
    netmask: IPv4Address | None = None
    gateway: IPv4Address | None = None
    address6: IPv6Interface | None = None
    gateway6: IPv6Address | None = None


def _reserved(
    dhcp: Reader, below_ip: Reader, place: int, *, allow_pxe: bool, answered: bool = True
) -> Interface | WithoutMac:
    reserved, hostname, architecture = _addressing(below_ip), dhcp.hostname("hostname"), dhcp.architecture("arch")
    lease_seconds = dhcp.seconds("lease_time", DEFAULT_LEASE_SECONDS)
    name_servers, time_servers = dhcp.name_servers("name_servers"), dhcp.time_servers("time_servers")
    domain_name, vlan_id, routes = (
        dhcp.text("domain_name"),
        dhcp.vlan("vlan_id"),
        dhcp.routes("classless_static_routes"),
    )
    if (mac := dhcp.mac("mac")) is None:
        return WithoutMac(hostname=hostname, address=reserved.address)
    return Interface(
        mac=mac,
        place=place,
        address=reserved.address,
        netmask=reserved.netmask,
        gateway=reserved.gateway,
        address6=reserved.address6,
        gateway6=reserved.gateway6,
        hostname=hostname,
        domain_name=domain_name,
        lease_seconds=lease_seconds,
        name_servers=name_servers,
        time_servers=time_servers,
        architecture=architecture or DEFAULT_ARCHITECTURE,
        architecture_told=bool(architecture),
        allow_pxe=allow_pxe,
        dhcp=answered,
        vlan_id=vlan_id,
        routes=routes,
    )


def _addressing(below_ip: Reader) -> _Reserved:
    address, gateway = below_ip.address("address"), below_ip.address("gateway")
    if isinstance(address, IPv6Address):
        return _addressing6(below_ip, address, gateway)
    netmask = below_ip.address4("netmask")
    if netmask is not None and not is_netmask(netmask):
        below_ip.refuse("netmask", f"invalid netmask: {netmask}")
    if isinstance(gateway, IPv6Address):
        below_ip.ignore("gateway", f"{gateway} is of IPv6, and there is no address of it: left out")
        gateway = None
    return _Reserved(address=address, netmask=netmask, gateway=gateway)


def _addressing6(below_ip: Reader, address: IPv6Address, gateway: IPv4Address | IPv6Address | None) -> _Reserved:
    length = below_ip.prefix6("netmask")
    if isinstance(gateway, IPv4Address):
        below_ip.ignore("gateway", f"{gateway} is of IPv4, and the address is of IPv6: left out")
        gateway = None
    if length is None:
        below_ip.ignore("address", f"{address} has no prefix (netmask, such as 64): left out")
        return _Reserved()
    below_ip.note(
        "address", f"{address}: DHCP gives IPv4 addresses only, so this one is told to the installed system alone"
    )
    return _Reserved(address6=IPv6Interface((address, length)), gateway6=gateway)
