"""ISC Kea's DHCPv4 server: the reservations of its configuration, and its leases as CSV.

A configuration is JSON with comments (`//`, `#`, `/* */`), its `Dhcp4` whole or alone, also as `config-get` answers it.
Reservations stand in it, in `subnet4[]`, and in `shared-networks[].subnet4[]`: `hw-address`, `ip-address`, `hostname`,
`client-classes` (labels), `comment` or `user-context.comment` (a note), `option-data` of `routers` (the gateway, also of the
subnet or of what is around it).  The prefix is that of `subnet`.  A file that another one includes (`<?include "FILE"?>`) may
also be a list of reservations, a list of subnets, or one subnet.

Leases have a header row `address,hwaddr,client_id,…,hostname,state,…`; state 0 is lent.  The last line of an address
counts, and one whose `valid_lifetime` is 0 ended, as did one whose `expire` (seconds since 1970) has come.  A comma in a name is written `&#x2c`.
"""

import re
from collections.abc import Iterator, Mapping
from ipaddress import IPv4Network
from typing import Any, Final

from tinkbox.model.errors import Invalid
from tinkbox.model.json_text import read_document
from tinkbox.wire.machine_lists.csv_lists import rows
from tinkbox.wire.machine_lists.listing import Gathered, Network, own_labels, own_note, shown

LEASES: Final = ("address", "hwaddr", "client_id")
INCLUDE: Final = re.compile(r'<\?include\s+"(?P<path>[^"\n]*)"\s*\?>')
_LENT: Final = "0"
_FOREVER: Final = 0xFFFFFFFF  # a valid_lifetime
_STRING_OR_COMMENT: Final = re.compile(
    rf'"(?:[^"\\\n]|\\.)*"|//[^\n]*|#[^\n]*|/\*.*?(?:\*/|\Z)|{INCLUDE.pattern}', re.DOTALL
)
_INCLUDED: Final = "\x1a"  # which no JSON may have, not even in a string
_STRING_OR_COMMA: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|,(?=\s*[}\]])')
Document = Mapping[str, Any]


def parsed(text: str) -> object:
    """JSON with what Kea allows beside it: comments, commas behind the last value, includes.  Raises ValueError."""
    plain = _STRING_OR_COMMENT.sub(_plain, text)
    if not plain.replace(_INCLUDED, "").strip() and plain.strip():
        return {"Dhcp4": None}
    plain = re.sub(rf"(:\s*){_INCLUDED}", r"\1null", plain)
    plain = re.sub(rf"{_INCLUDED}(\s*),|,(\s*){_INCLUDED}|{_INCLUDED}", r"\1\2", plain)
    return read_document(_STRING_OR_COMMA.sub(lambda found: found[0] if found[0].startswith('"') else " ", plain))


def _plain(found: re.Match[str]) -> str:
    """Of a string itself, of an include its mark, of a comment its lines."""
    if found[0].startswith('"'):
        return found[0]
    return _INCLUDED if found["path"] is not None else "\n" * found[0].count("\n")


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


def read_configuration(text: str, gathered: Gathered) -> None:
    """Gather the reservations.  Raises Invalid for what is no configuration of Kea's."""
    try:
        found = configuration(parsed(text))
    except ValueError as error:
        raise Invalid(f"this is not the JSON of Kea: {error}") from None
    if found is None:
        raise Invalid("this JSON has no Dhcp4: name the file of kea-dhcp4")
    for each in _STRING_OR_COMMENT.finditer(text):
        if each["path"] is not None:
            gathered.include(each["path"], text.count("\n", 0, each.start()) + 1)
    gathered.networks += _networks(found)
    for where, holder, router in _holders(found):
        for number, reservation in enumerate(_list(holder.get("reservations"))):
            _reservation(reservation, f"{where}reservations[{number}]", router, gathered)


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
    mac = _text(entry.get("hw-address"))
    if not mac:
        gathered.leave_out("it has no hw-address", key=key)
        return
    address = _text(entry.get("ip-address"))
    comment = _text(entry.get("comment")) or _text(_mapping(entry.get("user-context")).get("comment"))
    gathered.add(
        macs=[mac],
        foreign=_text(entry.get("hostname")),
        address=address,
        gateway=(_router(entry) or router) if address else "",
        labels=own_labels({}, map(_text, _list(entry.get("client-classes")))),
        notes=own_note(comment),
        key=key,
    )


def _holders(found: Document) -> Iterator[tuple[str, Document, str]]:
    """What may have reservations: its path, and the router that is told there."""
    yield "Dhcp4.", found, _router(found)
    for where, subnet, router in _subnets(found):
        yield f"{where}.", subnet, router


def _subnets(found: Document) -> Iterator[tuple[str, Document, str]]:
    around = [("Dhcp4.", found, _router(found))]
    for number, shared in enumerate(_list(found.get("shared-networks"))):
        inner = _mapping(shared)
        around.append((f"Dhcp4.shared-networks[{number}].", inner, _router(inner) or _router(found)))
    for where, holder, router in around:
        for number, subnet in enumerate(_list(holder.get("subnet4"))):
            inner = _mapping(subnet)
            yield f"{where}subnet4[{number}]", inner, _router(inner) or router


def _networks(found: Document) -> Iterator[Network]:
    for _, subnet, router in _subnets(found):
        try:
            yield Network(network=IPv4Network(_text(subnet.get("subnet")), strict=False), router=router)
        except ValueError:
            continue


def _router(holder: Document) -> str:
    """The first router that `option-data` tells; empty: none."""
    for each in map(_mapping, _list(holder.get("option-data"))):
        if each.get("name") == "routers" or each.get("code") == 3:
            return _text(each.get("data")).partition(",")[0].strip()
    return ""


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _mapping(value: object) -> Document:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
