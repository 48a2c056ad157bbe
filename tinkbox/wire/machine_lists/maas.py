"""Canonical's MAAS: what `maas PROFILE machines read` prints, a JSON list.

`boot_interface.mac_address` is the card that it boots with, those of the physical ones in `interface_set` are its others;
`hostname`; the address is the first IPv4 of `boot_interface.links[]`, else of the links of a bond or a bridge over it
(`interface_set[]`, whose `parents` name it), else of `ip_addresses`, else of the links of any interface.  Prefix and gateway are
`subnet.cidr` and `subnet.gateway_ip` of the link with the address, of whichever interface.  `zone.name`, `pool.name` and every
one of `tag_names` become labels, `description` a note.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from ipaddress import IPv4Network
from typing import Any, Final

from tinkbox.model.documents.json_text import read_document
from tinkbox.model.errors import Invalid
from tinkbox.wire.machine_lists.listing import Gathered, Network, own_note, within

PHYSICAL: Final = "physical"
_OVER_CARDS: Final = ("bond", "bridge")
Document = Mapping[str, Any]


def is_export(document: object) -> bool:
    """Whether a JSON document may be a list of MAAS's machines."""
    return isinstance(document, list) and any(isinstance(each, dict) and "system_id" in each for each in document)


def read(text: str, gathered: Gathered) -> None:
    """Gather the machines.  Raises Invalid for what is no JSON list."""
    try:
        document = read_document(text)
    except ValueError as error:
        raise Invalid(f"this is not the JSON of MAAS: {error}") from None
    if not isinstance(document, list):
        raise Invalid("expected the list that `maas PROFILE machines read` prints")
    for number, entry in enumerate(document):
        key = f"[{number}]"
        if not isinstance(entry, dict):
            gathered.wrong("expected an object", key=key)
            continue
        machine: Document = entry
        named = _text(machine.get("hostname"))
        boots = _mapping(machine.get("boot_interface"))
        macs = [_text(boots.get("mac_address")), *_physical(machine)]
        if not any(macs):
            gathered.leave_out(f"{named or 'a machine'} has no MAC yet: MAAS has not seen its cards", key=key)
            continue
        links, all_links = _links(_stacked(machine, boots)), _links(map(_mapping, _list(machine.get("interface_set"))))
        address = _address(links, _list(machine.get("ip_addresses")), all_links)
        network = within(address, _networks([*links, *all_links], address))
        values = {name: _text(_mapping(machine.get(name)).get("name")) for name in ("zone", "pool")}
        gathered.add(
            macs=[each for each in macs if each],
            foreign=named,
            address=f"{address}/{network.network.prefixlen}" if network else address,
            gateway=network.router if network else "",
            labels=gathered.labels(values, map(_text, _list(machine.get("tag_names")))),
            notes=own_note(_text(machine.get("description"))),
            key=f"{key} {named}".strip(),
        )


def _physical(machine: Document) -> Iterator[str]:
    for each in map(_mapping, _list(machine.get("interface_set"))):
        if each.get("type", PHYSICAL) == PHYSICAL:
            yield _text(each.get("mac_address"))


def _stacked(machine: Document, boots: Document) -> Iterator[Document]:
    """The interface that it boots with, and the bonds and bridges that have it below them."""
    yield boots
    names = {_text(boots.get("name"))}
    others = [each for each in map(_mapping, _list(machine.get("interface_set"))) if each.get("type") in _OVER_CARDS]
    while over := [each for each in others if names & set(map(_text, _list(each.get("parents"))))]:
        yield from over
        others = [each for each in others if each not in over]
        names = {_text(each.get("name")) for each in over}


def _links(interfaces: Iterable[Document]) -> list[Document]:
    return [link for each in interfaces for link in map(_mapping, _list(each.get("links")))]


def _address(links: Iterable[Document], addresses: Iterable[object], all_links: Iterable[Document]) -> str:
    first, last = ([_text(each.get("ip_address")) for each in some] for some in (links, all_links))
    return next((each for each in (*first, *map(_text, addresses), *last) if each and ":" not in each), "")


def _networks(links: Sequence[Document], address: str) -> Iterator[Network]:
    """Those of the links, first of the ones that have the address."""
    for link in sorted(links, key=lambda each: _text(each.get("ip_address")) != address):
        subnet = _mapping(link.get("subnet"))
        try:
            yield Network(network=IPv4Network(_text(subnet.get("cidr"))), router=_text(subnet.get("gateway_ip")))
        except ValueError:
            continue


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _mapping(value: object) -> Document:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
