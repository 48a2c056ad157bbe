"""`tinkbox hardware push`, `id`, `mac`, `ip` and `watch`: the documents of machines."""

import argparse
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tinkbox.cli.connection import ask, ask_each, stay_connected
from tinkbox.cli.flags import Verbs, add_keys, add_listing, add_verb, carry_out
from tinkbox.cli.input_documents import input_file, read_input
from tinkbox.cli.interruptions.outages import Outages
from tinkbox.cli.interruptions.readers import check_reader
from tinkbox.cli.nouns.hardware.listing import LISTED
from tinkbox.cli.output.formats import Document, fields, for_people, names_one, show_notes
from tinkbox.cli.output.printable import clean, logged
from tinkbox.model.errors import Invalid, NotFound, Unavailable
from tinkbox.model.key_kinds import KeyKind

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    verb = add_verb(verbs, "push", push, "store a machine's hardware document, or replace it")
    verb.add_argument(
        "--file", "-f", type=input_file, metavar="FILE", help="JSON, or kind: Hardware; - or without it, standard input"
    )
    add_listing(add_verb(verbs, "id", by_id, "documents by id"), keys="+", kind=KeyKind.MACHINE)
    for name, run in (("mac", by_mac), ("ip", by_ip)):
        verb = add_verb(verbs, name, run, f"machines by {name.upper()} address")
        add_listing(verb, keys="+", kind=name.upper())
        verb.add_argument("-d", "--details", action="store_true", help="the whole document")
    # Without a line in the list of verbs: `list` and `id` are for people.
    carry_out(
        verbs.add_parser("all", description="the documents of all machines, as `tink` of 2020", allow_abbrev=False),
        all_documents,
    )
    add_keys(add_verb(verbs, "watch", watch, "print a document whenever it changes"), KeyKind.MACHINE)


def push(chosen: argparse.Namespace) -> None:
    text = read_input(chosen.file, "hardware document")
    answer = ask(chosen, lambda operator: operator.hardware.push(text))
    show_notes(answer)
    if chosen.as_2020:
        print(logged("Hardware data pushed successfully"))
        return
    for pushed in answer["pushed"]:
        print(clean(f"{pushed['name']} ({pushed['mac']}) stored" if pushed["name"] else f"{pushed['mac']} stored"))


def by_id(chosen: argparse.Namespace) -> None:
    machines = ask_each(chosen, lambda operator, key: operator.hardware.get(key))
    if not for_people(chosen):
        LISTED.show(chosen, machines, one=names_one(chosen))
        return
    for machine in machines:
        print(json.dumps(machine["document"]))


def all_documents(chosen: argparse.Namespace) -> None:
    """A line of JSON for each, oldest first, which 2020's `tink` printed; those out of service are left out."""
    for machine in ask(chosen, lambda operator: operator.hardware.all()):
        print(json.dumps(machine["document"]))


def by_mac(chosen: argparse.Namespace) -> None:
    from tinkbox.model.hardware import MacAddress

    try:
        addresses = [MacAddress(key) for key in chosen.keys]
    except Invalid as error:
        chosen.usage_error(str(error))
    _by_address(chosen, addresses, "MAC")


def by_ip(chosen: argparse.Namespace) -> None:
    from ipaddress import AddressValueError, IPv4Address

    for key in chosen.keys:
        try:
            IPv4Address(key)
        except AddressValueError:
            chosen.usage_error(f"invalid ip: {key[:40]}")
    _by_address(chosen, chosen.keys, "IP")


def watch(chosen: argparse.Namespace) -> None:
    """Print the documents of these machines, and again whenever one changes."""
    import asyncio

    async def watched(operator: "Operator") -> None:
        known: dict[str, object] = {}
        outages = Outages()
        while True:
            try:
                for key in chosen.keys:
                    document = (await operator.hardware.get(key))["document"]
                    if known.get(key) != document:
                        known[key] = document
                        print(json.dumps(document), flush=True)
                outages.over()
            except Unavailable as error:
                if not known:
                    raise
                outages.tell(error)
            check_reader()
            await asyncio.sleep(1)

    stay_connected(chosen, watched)


def _by_address(chosen: argparse.Namespace, addresses: Sequence[str], kind: str) -> None:
    machines = [_machine(chosen, address, kind) for address in addresses]
    if chosen.details:
        for machine in machines:
            print(json.dumps(machine["document"]))
    elif not for_people(chosen):
        LISTED.show(chosen, machines, one=names_one(chosen))
    else:
        for machine, address in zip(machines, addresses, strict=True):
            for interface in _matching(machine, address):
                print(fields(chosen, _told(machine, interface)), end="")


def _machine(chosen: argparse.Namespace, address: str, kind: str) -> Document:
    try:
        return ask(chosen, lambda operator: operator.hardware.get(address))
    except NotFound:
        raise NotFound(f"{kind} address not found in the database {address}") from None


def _told(machine: Document, interface: Document) -> Sequence[tuple[str, object]]:
    return [
        ("ID", machine["id"]),
        ("MAC Address", interface["mac"]),
        ("IP Address", interface["address"]),
        ("Hostname", interface["hostname"]),
    ]


def _matching(machine: Document, address: str) -> list[Document]:
    return [each for each in machine["interfaces"] if address in (each["mac"], each["address"])]
