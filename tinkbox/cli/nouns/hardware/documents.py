"""`tinkbox hardware push`, `id`, `mac`, `ip` and `watch`: the documents of machines."""

import argparse
import json
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from tinkbox.cli.connection import ask, stay_connected
from tinkbox.cli.flags import Verbs, add_keys, add_listing, add_strict, add_verb, carry_out
from tinkbox.cli.input_documents import input_file, read_input
from tinkbox.cli.interruptions.outages import Outages
from tinkbox.cli.interruptions.readers import check_reader
from tinkbox.cli.nouns.hardware.listing import LISTED
from tinkbox.cli.output.changes import show_each
from tinkbox.cli.output.formats import Document, fields, for_people, names_one, show_notes
from tinkbox.cli.output.printable import clean, logged
from tinkbox.cli.output.refusals import tell_refusal
from tinkbox.model.errors import Conflict, Invalid, NotFound, Unavailable
from tinkbox.model.key_kinds import KeyKind

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    verb = add_verb(verbs, "push", push, "store a machine's hardware document, or replace it")
    verb.add_argument(
        "--file",
        "-f",
        type=input_file,
        metavar="FILE",
        help="documents in YAML or JSON; - or without it, standard input",
    )
    add_strict(verb)
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
    answer = ask(chosen, lambda operator: operator.hardware.push(text, strict=chosen.strict))
    show_notes(answer)
    if chosen.as_2020:
        print(logged("Hardware data pushed successfully"))
        return
    for pushed in answer["pushed"]:
        name, mac = pushed["name"], pushed["mac"]
        print(clean(f"{name} ({mac}) stored" if name and mac else f"{name or mac or pushed['id']} stored"))


def by_id(chosen: argparse.Namespace) -> int:
    def show(machines: Sequence[Document]) -> None:
        if for_people(chosen):
            _print_documents(machines)
        else:
            LISTED.show(chosen, machines, one=names_one(chosen))

    return show_each(chosen, lambda operator, key: operator.hardware.get(key), show)


def all_documents(chosen: argparse.Namespace) -> None:
    """A line of JSON for each, oldest first, which 2020's `tink` printed; those out of service are left out."""
    _print_documents(ask(chosen, lambda operator: operator.hardware.all()))


def _print_documents(machines: Sequence[Document]) -> None:
    for machine in machines:
        print(json.dumps(machine["document"]))


def by_mac(chosen: argparse.Namespace) -> int:
    from tinkbox.model.hardware import MacAddress

    try:
        chosen.keys = [MacAddress(key) for key in chosen.keys]
    except Invalid as error:
        chosen.usage_error(str(error))
    return _by_address(chosen, "MAC")


def by_ip(chosen: argparse.Namespace) -> int:
    from ipaddress import AddressValueError, IPv4Address

    for key in chosen.keys:
        try:
            IPv4Address(key)
        except AddressValueError:
            chosen.usage_error(f"invalid ip: {key[:40]}")
    return _by_address(chosen, "IP")


def watch(chosen: argparse.Namespace) -> int:
    """Print the documents of these machines, and again whenever one changes; 1 once each of them was refused or is gone."""
    import asyncio

    async def watched(operator: "Operator") -> int:
        known: dict[str, object] = {}
        keys = list(chosen.keys)
        outages = Outages()
        while keys:
            try:
                for key in list(keys):
                    try:
                        document = (await operator.hardware.get(key))["document"]
                    except (NotFound, Conflict, Invalid) as refusal:
                        tell_refusal(refusal)
                        keys.remove(key)
                        continue
                    if known.get(key) != document:
                        known[key] = document
                        print(json.dumps(document), flush=True)
                outages.over()
            except Unavailable as error:
                if not known:
                    raise
                outages.tell(error)
            check_reader()
            if keys:
                await asyncio.sleep(1)
        return 1

    return stay_connected(chosen, watched)


def _by_address(chosen: argparse.Namespace, kind: str) -> int:
    async def found(operator: "Operator", address: str) -> tuple[str, Document]:
        with suppress(NotFound):
            machine = await operator.hardware.get(address)
            if _matching(machine, address):  # and is not only called so
                return address, machine
        raise NotFound(f"{kind} address not found in the database {address}")

    return show_each(chosen, found, lambda machines: _show_addressed(chosen, machines))


def _show_addressed(chosen: argparse.Namespace, found: Sequence[tuple[str, Document]]) -> None:
    """Machines, each with the address that it was found by."""
    machines = [machine for _, machine in found]
    if chosen.details:
        _print_documents(machines)
    elif not for_people(chosen):
        LISTED.show(chosen, machines, one=names_one(chosen))
    else:
        for address, machine in found:
            for interface in _matching(machine, address):
                print(fields(chosen, _told(machine, interface)), end="")


def _told(machine: Document, interface: Document) -> Sequence[tuple[str, object]]:
    return [
        ("ID", machine["id"]),
        ("MAC Address", interface["mac"]),
        ("IP Address", interface["address"]),
        ("Hostname", interface["hostname"]),
    ]


def _matching(machine: Document, address: str) -> list[Document]:
    return [each for each in machine["interfaces"] if address in (each["mac"], each["address"])]
