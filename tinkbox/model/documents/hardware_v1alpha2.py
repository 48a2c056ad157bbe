"""Tinkerbell's `kind: Hardware` of v1alpha2 as the same machine in v1alpha1, which the rest of the program reads.  Pure."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tinkbox.model.documents.kubernetes import GROUP, VERSION, VERSION_2
from tinkbox.model.documents.loose_values import list_of, mapping_of, those_given
from tinkbox.model.errors import Problem

API: Final = f"{GROUP}/{VERSION_2}"
_PLACE: Final = re.compile(r"spec\.interfaces(?:\[(\d+)\])?")
_PLACEHOLDER: Final = "{{"
_TEXTS: Final = ("userdata", "vendordata")
# The fields of DHCP that have another name there.
_DHCP: Final = {
    "hostname": "hostname",
    "domainName": "domain_name",
    "leaseTimeSeconds": "lease_time",
    "nameservers": "name_servers",
    "ntpServers": "time_servers",
    "vlanID": "vlan_id",
    "tftpServerName": "tftp_server_name",
    "bootFileName": "boot_file_name",
}
# The fields of an interface of v1alpha1 as they are called here: of the interface, or of the machine.
_FIELDS: Final = {
    **{f"dhcp.{theirs}": f"dhcp.ipv4.{ours}" for ours, theirs in _DHCP.items()},
    "dhcp.classless_static_routes": "dhcp.ipv4.classlessStaticRoutes",
    "dhcp.ip.netmask": "ipam.ipv4.prefix",
    "dhcp.ip": "ipam.ipv4",
    "dhcp.mac": "",  # which an interface has for a key
    "dhcp.arch": "spec.arch",
    "netboot.allowPXE": "netboot.disabled",
    "netboot.ipxe.contents": "netboot.ipxe.script",
    "netboot.osie.baseURL": "spec.instance.osie",
    "netboot.osie.kernel": "spec.instance.osie.kernelURL",
    "netboot.osie.initrd": "spec.instance.osie.initrdURL",
    "netboot.osie": "spec.instance.osie",
    "isoboot.sourceISO": "spec.instance.osie.isoURL",
    "isoboot": "spec.instance.osie.isoURL",
    "disableDhcp": "dhcp.ipv4.disabled",
}


def is_v1alpha2(document: Mapping[str, Any]) -> bool:
    """Whether a hardware document has that form."""
    return document.get("kind") == "Hardware" and document.get("apiVersion") == API


def has_placeholders(text: str) -> bool:
    """Whether Tinkerbell would fill a text of such a document before it serves it (docs/technical/v1alpha2/hardware.yaml)."""
    return _PLACEHOLDER in text


def as_v1alpha1(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document in the form of v1alpha1; any other is as it was.  What has no place there is left out."""
    if not is_v1alpha2(document):
        return dict(document)
    spec = mapping_of(document.get("spec"))
    instance = mapping_of(spec.get("instance"))
    described = those_given({"id": instance.get("lookupID"), "ssh_keys": instance.get("sshKeys")})
    told = those_given(
        {
            "agentID": spec.get("agentID"),
            "auto": spec.get("auto"),
            "references": spec.get("references"),
            "userData": instance.get("userdata"),
            "vendorData": instance.get("vendordata"),
            "metadata": {"instance": described} if described else None,
            "disks": [{"device": mapping_of(each).get("name")} for each in list_of(spec.get("storageDevices"))],
        }
    )
    osie, iso = _osie(mapping_of(instance.get("osie")))
    interfaces = [
        _interface(mac, mapping_of(each), spec.get("arch"), osie, iso)
        for mac, each in mapping_of(spec.get("networkInterfaces")).items()
    ]
    return {**document, "apiVersion": f"{GROUP}/{VERSION}", "spec": {**told, "interfaces": interfaces}}


def told_of_v1alpha2(problem: Problem, document: Mapping[str, Any]) -> Problem:
    """A problem with a field of `as_v1alpha1`, by the nearest field that the document has."""
    place = _PLACE.match(problem.key)
    if place is None or not is_v1alpha2(document):
        return problem
    interfaces = mapping_of(mapping_of(document.get("spec")).get("networkInterfaces"))
    macs = list(interfaces)
    key = "spec.networkInterfaces"
    interface: Mapping[str, Any] = {}
    if place[1] and int(place[1]) < len(macs):
        key += f".{macs[int(place[1])]}"
        interface = mapping_of(interfaces[macs[int(place[1])]])
    field = field_of(problem.key[place.end() :].removeprefix("."))
    if "ipv4" not in mapping_of(interface.get("ipam")):
        field = field.replace("ipam.ipv4", "ipam.ipv6")
    whole = field if field.startswith("spec.") or not field else f"{key}.{field}"
    return Problem(line=problem.line, key=whole or key, text=problem.text)


def field_of(field: str) -> str:
    """What a field of an interface of v1alpha1 is called here."""
    for theirs, ours in _FIELDS.items():
        if field == theirs or field.startswith((f"{theirs}.", f"{theirs}[")):
            return f"{ours}{field[len(theirs) :]}"
    return field


def notes_on_v1alpha2(document: Mapping[str, Any]) -> Iterator[Problem]:
    """What of a document of that form says more than v1alpha1 can."""
    spec = mapping_of(document.get("spec"))
    instance = mapping_of(spec.get("instance"))
    for mac, each in mapping_of(spec.get("networkInterfaces")).items():
        addresses = mapping_of(mapping_of(each).get("ipam"))
        if all(mapping_of(addresses.get(family)).get("address") for family in ("ipv4", "ipv6")):
            yield Problem(
                key=f"spec.networkInterfaces.{mac}.ipam.ipv6",
                text="not honoured: an interface has one address here, and this one has one of IPv4",
            )
    for name in _TEXTS:
        if has_placeholders(str(instance.get(name) or "")):
            text = "its placeholders are not filled: it is served as it is, and was not checked"
            yield Problem(key=f"spec.instance.{name}", text=text)
    if not _is_one_folder(mapping_of(instance.get("osie"))):
        yield Problem(
            key="spec.instance.osie",
            text="not honoured: kernelURL and initrdURL, which are not in one folder of one server",
        )


def _interface(mac: str, entry: Mapping[str, Any], arch: Any, osie: Mapping[str, Any], iso: Any) -> dict[str, Any]:
    dhcp = mapping_of(mapping_of(entry.get("dhcp")).get("ipv4"))
    netboot = mapping_of(entry.get("netboot"))
    ipxe = mapping_of(netboot.get("ipxe"))
    told = {
        "mac": mac,
        "arch": arch,
        "ip": _address(mapping_of(entry.get("ipam"))),
        **{theirs: dhcp.get(ours) for ours, theirs in _DHCP.items()},
        "classless_static_routes": [
            {"destination_descriptor": each.get("destinationDescriptor"), "router": each.get("router")}
            for each in map(mapping_of, list_of(dhcp.get("classlessStaticRoutes")))
        ],
    }
    boots = {
        "ipxe": those_given({"binary": ipxe.get("binary"), "contents": ipxe.get("script"), "url": ipxe.get("url")}),
        "osie": osie,
        "pxelinux": netboot.get("pxelinux"),
        "rpi": netboot.get("rpi"),
    }
    return {
        "dhcp": those_given(told),
        "netboot": {"allowPXE": not netboot.get("disabled"), **those_given(boots)},
        **those_given({"disableDhcp": dhcp.get("disabled"), "isoboot": {"sourceISO": iso} if iso else None}),
    }


def _address(ipam: Mapping[str, Any]) -> dict[str, Any]:
    """Of IPv4 where it has one; a prefix of IPv4 is a mask in v1alpha1."""
    four, six = mapping_of(ipam.get("ipv4")), mapping_of(ipam.get("ipv6"))
    told = four if four.get("address") or not six.get("address") else six
    prefix = str(told.get("prefix") or "").removeprefix("/")
    is_length = told is four and prefix.isdecimal() and len(prefix) <= 2 and int(prefix) <= 32
    mask = _netmask(int(prefix)) if is_length else prefix
    return those_given({"address": told.get("address"), "netmask": mask, "gateway": told.get("gateway")})


def _netmask(length: int) -> str:
    bits = (0xFFFFFFFF << (32 - length)) & 0xFFFFFFFF
    return ".".join(str(bits >> shift & 0xFF) for shift in (24, 16, 8, 0))


def _osie(told: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
    """Another OSIE as v1alpha1 has it, with a folder and names in it; and where its ISO image is."""
    found: dict[str, Any] = {"kernelParams": told.get("kernelParams")}
    if _is_one_folder(told):
        urls = {name: str(told.get(f"{name}URL") or "").rpartition("/") for name in ("kernel", "initrd")}
        found["baseURL"] = next((folder for folder, _, name in urls.values() if name), None)
        found |= {name: url[2] for name, url in urls.items()}
    return those_given(found), told.get("isoURL")


def _is_one_folder(told: Mapping[str, Any]) -> bool:
    folders = {str(told[name]).rpartition("/")[0] for name in ("kernelURL", "initrdURL") if told.get(name)}
    return len(folders) <= 1
