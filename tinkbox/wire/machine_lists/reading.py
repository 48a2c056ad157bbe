"""Which list a file is, and what it says."""

import codecs
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Generic, TypeVar

from tinkbox.model.errors import Invalid, TooLarge
from tinkbox.wire.machine_lists import csv_lists, dnsmasq, isc_dhcp, kea, maas, netbox
from tinkbox.wire.machine_lists.listing import Gathered, Listing, Network, listing

Whole = TypeVar("Whole")
MAX_TEXT: Final = 8 << 20
MAX_JSON: Final = 64 << 20  # MAAS tells some 60 KiB of each machine
MAX_LINE: Final = 64 << 10


class Kind(StrEnum):
    """A program's list."""

    CSV = "csv"
    DNSMASQ = "dnsmasq"
    DNSMASQ_LEASES = "dnsmasq-leases"
    ISC = "isc"
    ISC_LEASES = "isc-leases"
    KEA = "kea"
    KEA_LEASES = "kea-leases"
    MAAS = "maas"
    NETBOX = "netbox"


_JSON_BEGINS: Final = re.compile(rf"[{{\[]|//|/\*|{kea.INCLUDE.pattern}|{kea.MEMBER.pattern}")
# A heading of an INI file, such as an Ansible inventory.
_SECTION: Final = re.compile(r"\[[^\[\]{}\"',]*[A-Za-z][^\[\]{}\"',]*\]\s*(?:[#;].*)?")
_PASTED: Final = re.compile(r"\A\s*Success\.\s*Machine-readable output follows:\s*")  # what MAAS prints on a terminal
_DOCUMENT: Final = re.compile(r"^(?:apiVersion|kind):", re.MULTILINE)
_BINARY: Final = "it is a binary file: name a text file, or save it as UTF-8"
_PACKED: Final[Mapping[bytes, str]] = {
    b"\x1f\x8b": "it is packed with gzip: unpack it with gunzip, and name that file",
    b"PK\x03\x04": "it is a spreadsheet or a ZIP file: save the table as CSV, or unpack it, and name that file",
}
_JSON: Final = frozenset({Kind.KEA, Kind.MAAS})
_READERS: Final[Mapping[Kind, Callable[[str, Gathered], None]]] = {
    Kind.CSV: csv_lists.read,
    Kind.DNSMASQ_LEASES: dnsmasq.read_leases,
    Kind.ISC_LEASES: isc_dhcp.read_leases,
    Kind.KEA_LEASES: kea.read_leases,
    Kind.MAAS: maas.read,
}


@dataclass(frozen=True, slots=True)
class _Together(Generic[Whole]):
    """How files of a kind are read that belong together: what they are as a whole, which each goes into, and its machines."""

    whole: Callable[[], Whole]
    take: Callable[[str, Gathered, Whole], None]
    gather: Callable[[Whole], None]


_TOGETHER: Final[Mapping[Kind, _Together[Any]]] = {
    Kind.DNSMASQ: _Together(dnsmasq.Configuration, dnsmasq.take, dnsmasq.gather),
    Kind.ISC: _Together(isc_dhcp.Files, isc_dhcp.take, isc_dhcp.gather),
    Kind.KEA: _Together(kea.Files, kea.take, kea.gather),
    Kind.NETBOX: _Together(netbox.Tables, netbox.take, netbox.gather),
}


def read_lists(
    files: Sequence[tuple[str, bytes]],
    kind: Kind | None = None,
    *,
    now: datetime,
    networks: Sequence[Network] = (),
) -> Listing:
    """The machines of files, by their names and contents; without a `kind` each is recognised by what it has.

    Leases that are over `now` are left out.  `networks` are those of the addresses, beside those that the files describe.
    Raises Invalid for what is no such list, with the file's name, and TooLarge.
    """
    wholes = {kind: each.whole() for kind, each in _TOGETHER.items()}
    all_gathered: list[Gathered] = []
    for name, content in files:
        gathered = Gathered(now, file=name if len(files) > 1 else "", files=[each for each, _ in files])
        all_gathered.append(gathered)
        try:
            text = _text(content)
            found = kind or recognised(text)
            _check_size(text, found)
            if found in _TOGETHER:
                _TOGETHER[found].take(text, gathered, wholes[found])
            else:
                _READERS[found](text, gathered)
        except Invalid as error:
            raise Invalid(f"{name}: {error}", error.problems) from None
        except TooLarge as error:
            raise TooLarge(f"{name}: {error}") from None
    for each, together in _TOGETHER.items():
        together.gather(wholes[each])
    return listing(all_gathered, networks)


def recognised(text: str) -> Kind:
    """Which list a text is; raises Invalid for one that is none."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if not lines:
        raise Invalid("there is nothing in it: name the file that has your machines")
    first = lines[0].strip()
    if _JSON_BEGINS.match(first) and not _SECTION.fullmatch(first):
        return _of_json(text)
    if dnsmasq.is_configuration(lines):
        return Kind.DNSMASQ
    if isc_dhcp.LEASE.search(text):
        return Kind.ISC_LEASES
    if any(each.search(text) for each in (isc_dhcp.HOST, isc_dhcp.SUBNET, isc_dhcp.INCLUDE)):
        return Kind.ISC
    if dnsmasq.LEASE.fullmatch(lines[0].strip()) or lines[0].startswith("duid "):
        return Kind.DNSMASQ_LEASES
    header = _header(lines[0])
    if tuple(header[:3]) == kea.LEASES:
        return Kind.KEA_LEASES
    if netbox.is_interfaces(header) or netbox.is_devices(header):
        return Kind.NETBOX
    if csv_lists.has_header(header):
        return Kind.CSV
    if dnsmasq.is_host(lines[0]) and not lines[0].lstrip().startswith('"'):
        return Kind.DNSMASQ
    if _DOCUMENT.search(text):
        raise Invalid("this is a document, and no list: a hardware document goes to `tinkbox hardware push`")
    kinds = ", ".join(Kind)
    raise Invalid(
        "this is no list of machines that tinkbox recognises: a CSV begins with a line such as mac,name,ip,labels; name what "
        f"it is with --kind ({kinds})"
    )


def _header(line: str) -> Sequence[str]:
    if len(line) > MAX_LINE:
        return ()
    return [each.strip() for each in csv_lists.header_of(line)]


def _of_json(text: str) -> Kind:
    try:
        document = kea.parsed(text)
    except ValueError as error:
        raise Invalid(
            f"this begins like JSON, and is none: {error}: correct it there, or name the whole file"
        ) from None
    if maas.is_export(document):
        return Kind.MAAS
    if kea.configuration(document) is not None:
        return Kind.KEA
    raise Invalid(
        "this JSON is neither a configuration of kea-dhcp4 (Dhcp4) nor what `maas PROFILE machines read` prints; a hardware "
        "document goes to `tinkbox hardware push`"
    )


def _text(content: bytes) -> str:
    """Raises Invalid for what is no text, TooLarge for too much of it."""
    if len(content) > MAX_JSON:
        raise TooLarge(f"it has more than {MAX_JSON >> 20} MiB, which is all that is read")
    for begins, what in _PACKED.items():
        if content.startswith(begins):
            raise Invalid(what)
    try:
        # Spreadsheets write a byte order mark, and some UTF-16.
        is_wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        text = content.decode("utf-16" if is_wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        if b"\0" in content and not is_wide:
            raise Invalid(_BINARY) from None
        line = content.count(b"\n", 0, error.start) + 1
        found = f"byte 0x{content[error.start]:02x} in line {line}"
        raise Invalid(f"it is not UTF-8 text: {found}: save it as UTF-8") from None
    if "\0" in text:
        raise Invalid(_BINARY)
    return _PASTED.sub("", text)


def _check_size(text: str, kind: Kind) -> None:
    if kind in _JSON:
        return
    if len(text) > MAX_TEXT:
        raise TooLarge(f"it has more than {MAX_TEXT >> 20} MiB, which is all that is read of a list")
    for number, line in enumerate(text.splitlines(), start=1):
        if len(line) > MAX_LINE:
            raise TooLarge(f"line {number} has more than {MAX_LINE >> 10} KiB: is it a list of machines?")
