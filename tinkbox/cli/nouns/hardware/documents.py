"""`tinkbox hardware push`, `id`, `mac`, `ip` and `watch`: the documents of machines."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from tinkbox.cli.connection import ask, ask_each, stay_connected
from tinkbox.cli.flags import Verbs, add_keys, add_verb
from tinkbox.cli.input_documents import read_input
from tinkbox.cli.output.formats import Document, show_notes
from tinkbox.cli.output.printable import logged
from tinkbox.cli.output.tables import fields
from tinkbox.model.errors import Invalid, NotFound

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    verb = add_verb(verbs, "push", push, "store a machine's hardware document, or replace it")
    verb.add_argument("--file", type=Path, metavar="F", help="JSON, or kind: Hardware; without it, standard input")
    add_keys(add_verb(verbs, "id", by_id, "documents by id"))
    for name, run in (("mac", by_mac), ("ip", by_ip)):
        verb = add_keys(add_verb(verbs, name, run, f"machines by {name.upper()} address"))
        verb.add_argument("-d", "--details", action="store_true", help="the whole document")
    add_keys(add_verb(verbs, "watch", watch, "print a document whenever it changes"))


def push(chosen: argparse.Namespace) -> None:
    text = read_input(chosen.file, "hardware document")
    show_notes(ask(chosen, lambda operator: operator.hardware.push(text)))
    print(logged("Hardware data pushed successfully"))


def by_id(chosen: argparse.Namespace) -> None:
    for machine in ask_each(chosen, lambda operator, key: operator.hardware.get(key)):
        print(json.dumps(machine["document"]))


def by_mac(chosen: argparse.Namespace) -> None:
    from tinkbox.model.hardware import MacAddress

    for key in chosen.keys:
        _by_address(chosen, MacAddress(key), "MAC")


def by_ip(chosen: argparse.Namespace) -> None:
    from ipaddress import AddressValueError, IPv4Address

    for key in chosen.keys:
        try:
            IPv4Address(key)
        except AddressValueError:
            raise Invalid(f"invalid ip: {key[:40]}") from None
        _by_address(chosen, key, "IP")


def watch(chosen: argparse.Namespace) -> None:
    """Print the documents of these machines, and again whenever one changes."""
    import asyncio

    async def watched(operator: "Operator") -> None:
        known: dict[str, object] = {}
        while True:
            for key in chosen.keys:
                document = (await operator.hardware.get(key))["document"]
                if known.get(key) != document:
                    known[key] = document
                    print(json.dumps(document), flush=True)
            await asyncio.sleep(1)

    stay_connected(chosen, watched)


def _by_address(chosen: argparse.Namespace, address: str, kind: str) -> None:
    try:
        machine = ask(chosen, lambda operator: operator.hardware.get(address))
    except NotFound:
        raise NotFound(f"{kind} address not found in the database {address}") from None
    if chosen.details:
        print(json.dumps(machine["document"]))
        return
    for interface in _matching(machine, address):
        pairs = [
            ("ID", machine["id"]),
            ("MAC Address", interface["mac"]),
            ("IP Address", interface["address"]),
            ("Hostname", interface["hostname"]),
        ]
        print(fields(pairs), end="")


def _matching(machine: Document, address: str) -> list[Document]:
    return [each for each in machine["interfaces"] if address in (each["mac"], each["address"])]
