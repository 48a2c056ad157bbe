"""ISC Kea's DHCPv4 server: the reservations of its configuration, and its leases as CSV.

A configuration is JSON with comments (`//`, `#`, `/* */`), its `Dhcp4` whole or alone, also as `config-get` answers it.
Reservations stand in it, in `subnet4[]`, and in `shared-networks[].subnet4[]`: `hw-address`, `ip-address`, `hostname`,
`client-classes` (labels), `comment` or `user-context.comment` (a note).  `option-data` of `host-name` is the name where there is
no `hostname`, that of `routers` the gateway: the reservation's own, else that of the subnet with the address, of the shared
network around that, of `Dhcp4`.  The prefix is that of `subnet`.  A file that another one includes (`<?include "FILE"?>`, with
or without a comma behind it, for the file may end with one) may also be a list of reservations, a list of subnets, one subnet,
or members such as `"subnet4": […],`.

Leases have a header row `address,hwaddr,client_id,…,hostname,state,…`; state 0 is lent.  The last line of an address
counts, and one whose `valid_lifetime` is 0 ended, as did one whose `expire` (seconds since 1970) has come.  A comma in a name is written `&#x2c`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network
from typing import Any, Final

from tinkbox.model.documents.json_text import read_document
from tinkbox.model.errors import Invalid
from tinkbox.wire.machine_lists.csv_lists import rows
from tinkbox.wire.machine_lists.listing import Gathered, Network, Unread, own_note, shown, whole_mac, within

LEASES: Final = ("address", "hwaddr", "client_id")
INCLUDE: Final = re.compile(r'<\?include\s+"(?P<path>[^"\n]*)"\s*\?>')
MEMBER: Final = re.compile(r'"[A-Za-z0-9-]+"\s*:')
_SEVERAL: Final = re.compile(r"\A\s*\{.*\}\s*,\s*(?:\{.*)?\Z", re.DOTALL)
_LENT: Final = "0"
_DROP: Final = "DROP"  # the built-in class of clients that are not answered
_FOREVER: Final = 0xFFFFFFFF  # a valid_lifetime
_STRING_OR_COMMENT: Final = re.compile(
    rf'"(?:[^"\\\n]|\\.)*"|//[^\n]*|#[^\n]*|/\*.*?(?:\*/|\Z)|{INCLUDE.pattern}', re.DOTALL
)
_INCLUDED: Final = "\x1a"  # which no JSON may have, not even in a string
_BESIDE_INCLUDES: Final = re.compile(rf"[\s{{}}\[\],{_INCLUDED}]+")  # where all that a file says is in others
_NUMBER: Final = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"  # of JSON (RFC 8259 §6)
_STRING_COMMA_OR_NUMBER: Final = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|,(?=\s*[}\]])'
    rf"|(?<![\w.+-])(?!{_NUMBER}(?![\w.]))(?P<number>[-+]?(?>[0-9]+\.?[0-9]*|\.[0-9]+)(?>[eE][-+]?[0-9]+)?)(?![\w.])"
)
_UNREAD: Final[Mapping[Unread, tuple[str, int]]] = {
    Unread.DNS: ("domain-name-servers", 6),
    Unread.NTP: ("ntp-servers", 42),
}
Document = Mapping[str, Any]


def parsed(text: str) -> object:
    """JSON with what Kea allows beside it: comments, commas behind the last value, includes, other numbers.

    A file that stands in another may also be members of an object, or values of a list.  Raises ValueError.
    """
    plain = _STRING_OR_COMMENT.sub(_plain, text)
    if _INCLUDED in plain and not _BESIDE_INCLUDES.sub("", plain):
        return {"Dhcp4": None}
    plain = _without_includes(plain.split(_INCLUDED))
    if MEMBER.match(plain.lstrip()):
        plain = f"{{{plain}}}"
    try:
        return read_document(_STRING_COMMA_OR_NUMBER.sub(_json, plain))
    except ValueError:
        if _SEVERAL.search(plain) is None:
            raise
    return read_document(_STRING_COMMA_OR_NUMBER.sub(_json, f"[{plain}]"))


def _plain(found: re.Match[str]) -> str:
    """Of a string itself, of a comment its lines, of an include these and its mark."""
    if found[0].startswith('"'):
        return found[0]
    return "\n" * found[0].count("\n") + (_INCLUDED if found["path"] is not None else "")


def _without_includes(parts: Sequence[str]) -> str:
    """What stands between includes, put together: null where one is a value, else with one comma or none in its place."""
    kept = [parts[0]]
    last = parts[0].rstrip()[-1:]
    for part in parts[1:]:
        if last == ":":
            kept.append("null")
            last = "l"
        first = part.lstrip()[:1]
        if first == "," and last in ("", *"{[,"):
            part = part.replace(",", " ", 1)
        elif first not in ("", *",}]") and last not in ("", *"{[,"):
            kept.append(",")
        kept.append(part)
        last = part.rstrip()[-1:] or last
    return "".join(kept)


def _json(found: re.Match[str]) -> str:
    """A string as it is, no comma, and a number that JSON has otherwise as it has that."""
    number = found["number"]
    if number is None:
        return found[0] if found[0].startswith('"') else " "
    digits = number.lstrip("+-")
    if digits.isdigit():
        return ("-" if number.startswith("-") else "") + (digits.lstrip("0") or "0")
    return repr(float(number))


def configuration(document: object) -> Document | None:
    """The `Dhcp4` of a document that has one; None: it is none of Kea's."""
    inner = document[0] if isinstance(document, list) and document else document
    for name, mark in (("reservations", "hw-address"), ("subnet4", "subnet")):
        if mark in _mapping(inner):
            return {name: document if isinstance(document, list) else [document]}
    found = _mapping(inner)
    found = _mapping(found.get("arguments")) or found
    if "Dhcp4" in found:
        return _mapping(found["Dhcp4"])
    return found if any(name in found for name in ("subnet4", "shared-networks", "reservations")) else None


@dataclass(slots=True)
class Files:
    """The configurations of Kea among the files, each with the gathering of its file."""

    files: list[tuple[Gathered, Document]] = field(default_factory=list)


def take(text: str, gathered: Gathered, files: Files) -> None:
    """Take in one file of a configuration.  Raises Invalid for what is none of Kea's."""
    try:
        found = configuration(parsed(text))
    except ValueError as error:
        raise Invalid(f"this is not the JSON of Kea: {error}") from None
    if found is None:
        raise Invalid("this JSON has no Dhcp4: name the file of kea-dhcp4")
    for each in _STRING_OR_COMMENT.finditer(text):
        if each["path"] is not None:
            gathered.include(each["path"], text.count("\n", 0, each.start()) + 1)
    files.files.append((gathered, found))


def gather(files: Files) -> None:
    """Gather the reservations, each into the gathering of its file."""
    everywhere = next((router for _, found in files.files if (router := _router(found))), "")
    for gathered, found in files.files:
        gathered.networks += _networks(found, everywhere)
    networks = [network for gathered, _ in files.files for network in gathered.networks]
    for gathered, found in files.files:
        for key in _unread_routers(found, everywhere):
            gathered.change(
                "its routers are not read: write them into option-data of the reservations that they are for", key=key
            )
        for key, holder in _holders(found):
            for what, option in _UNREAD.items():
                if any(_options(holder, *option)):
                    gathered.leave_unread(what, key=f"{key}.option-data")
        for key, reservation in _reservations("Dhcp4.", found):
            around = within(_text(_mapping(reservation).get("ip-address")), networks)
            _reservation(reservation, key, around.router if around else everywhere, gathered)
        for where, subnet, router in _subnets(found, everywhere):
            for key, reservation in _reservations(f"{where}.", subnet):
                _reservation(reservation, key, router, gathered)


def read_leases(text: str, gathered: Gathered) -> None:
    """Gather what is lent."""
    found = rows(text, gathered)
    _, header = next(found, (0, ()))
    newest: dict[str, tuple[int, dict[str, str]]] = {}
    for line, row in found:
        cells = dict(zip(header, row, strict=False))
        newest.pop(cells.get("address", ""), None)
        newest[cells.get("address", "")] = line, cells
    by_mac: dict[str, tuple[int, dict[str, str]]] = {}
    for line, cells in newest.values():
        mac = cells.get("hwaddr", "").lower()
        if cells.get("state", _LENT) != _LENT or cells.get("valid_lifetime") == "0":
            gathered.leave_out(f"{shown(cells.get('address', ''))} is not lent now", line)
        elif (end := _end(cells)) and gathered.is_over(end):
            gathered.leave_out(f"the lease of {shown(cells.get('address', ''))} is over", line)
        elif not mac:
            gathered.leave_out(f"{shown(cells.get('address', ''))} names no MAC", line)
        else:
            by_mac[mac] = line, cells
    for mac, (line, cells) in by_mac.items():
        name = cells.get("hostname", "").replace("&#x2c", ",")
        gathered.add(macs=[mac], foreign=name, address=cells.get("address", ""), line=line)


def _end(cells: Mapping[str, str]) -> int:
    """When a lease ends, in seconds since 1970; 0: never, or it does not say."""
    end, lifetime = cells.get("expire", "")[:20], cells.get("valid_lifetime", "")
    is_told = end.isascii() and end.isdigit() and lifetime != str(_FOREVER)
    return int(end) if is_told else 0


def _reservation(entry: object, key: str, router: str, gathered: Gathered) -> None:
    if not isinstance(entry, dict):
        gathered.wrong("expected an object", key=key)
        return
    mac = whole_mac(_text(entry.get("hw-address")))
    if not mac:
        gathered.leave_out("it has no hw-address", key=key)
        return
    classes = [_text(each) for each in _list(entry.get("client-classes"))]
    if _DROP in classes:
        gathered.leave_out(f"Kea answers nothing of client class {_DROP}", key=key)
        return
    address = _text(entry.get("ip-address"))
    comment = _text(entry.get("comment")) or _text(_mapping(entry.get("user-context")).get("comment"))
    gathered.add(
        macs=[mac],
        foreign=_text(entry.get("hostname")) or _option(entry, "host-name", 12),
        address=address,
        gateway=(_router(entry) or router) if address else "",
        labels=gathered.labels({}, classes),
        notes=own_note(comment),
        key=key,
    )


def _reservations(where: str, holder: Document) -> Iterator[tuple[str, object]]:
    for number, reservation in enumerate(_list(holder.get("reservations"))):
        yield f"{where}reservations[{number}]", reservation


def _subnets(found: Document, everywhere: str) -> Iterator[tuple[str, Document, str]]:
    """Each with its path and the router that is told there: `everywhere`, where nothing narrower tells one."""
    around = [("Dhcp4.", found, _router(found) or everywhere)]
    for number, shared in enumerate(_list(found.get("shared-networks"))):
        inner = _mapping(shared)
        around.append((f"Dhcp4.shared-networks[{number}].", inner, _router(inner) or around[0][2]))
    for where, holder, router in around:
        for number, subnet in enumerate(_list(holder.get("subnet4"))):
            inner = _mapping(subnet)
            yield f"{where}subnet4[{number}]", inner, _router(inner) or router


def _unread_routers(found: Document, everywhere: str) -> Iterator[str]:
    """The paths of client classes and pools that tell routers: which machines they are for depends on what these send."""
    for number, each in enumerate(_list(found.get("client-classes"))):
        if _router(_mapping(each)):
            yield f"Dhcp4.client-classes[{number}]"
    for where, subnet, _ in _subnets(found, everywhere):
        for number, each in enumerate(_list(subnet.get("pools"))):
            if _router(_mapping(each)):
                yield f"{where}.pools[{number}]"


def _holders(found: Document) -> Iterator[tuple[str, Document]]:
    """All that may have `option-data`, each with its path."""

    def each_of(where: str, holder: Document, name: str) -> Iterator[tuple[str, Document]]:
        for number, each in enumerate(_list(holder.get(name))):
            yield f"{where}.{name}[{number}]", _mapping(each)

    yield "Dhcp4", found
    yield from each_of("Dhcp4", found, "client-classes")
    shared = list(each_of("Dhcp4", found, "shared-networks"))
    yield from shared
    around = [("Dhcp4", found), *shared]
    subnets = [each for where, holder in around for each in each_of(where, holder, "subnet4")]
    yield from subnets
    for where, holder in ("Dhcp4", found), *subnets:
        yield from each_of(where, holder, "pools")
        yield from each_of(where, holder, "reservations")


def _networks(found: Document, everywhere: str) -> Iterator[Network]:
    for _, subnet, router in _subnets(found, everywhere):
        try:
            yield Network(network=IPv4Network(_text(subnet.get("subnet")), strict=False), router=router)
        except ValueError:
            continue


def _router(holder: Document) -> str:
    """The first router that `option-data` tells; empty: none."""
    return _option(holder, "routers", 3).partition(",")[0].strip()


def _option(holder: Document, name: str, code: int) -> str:
    """What `option-data` tells as an option of DHCP, by its name or code, as text; empty: nothing."""
    for each in _options(holder, name, code):
        data = _text(each.get("data"))
        return data if each.get("csv-format", True) is not False else _decoded(data, name)
    return ""


def _options(holder: Document, name: str, code: int) -> Iterator[Document]:
    """The entries of `option-data` that are an option of DHCP, by its name or code."""
    for each in map(_mapping, _list(holder.get("option-data"))):
        if each.get("space", "dhcp4") == "dhcp4" and (each.get("name") == name or each.get("code") == code):
            yield each


def _decoded(data: str, name: str) -> str:
    """Data in hexadecimal digits, or a text between single quotes, as text; empty for what is neither."""
    if data.startswith("'"):
        return data.strip("'")
    try:
        octets = bytes.fromhex(re.sub(r"\A0[xX]|[:\s]", "", data))
        return str(IPv4Address(octets[:4])) if name == "routers" else octets.decode()
    except ValueError:
        return ""


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _mapping(value: object) -> Document:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
