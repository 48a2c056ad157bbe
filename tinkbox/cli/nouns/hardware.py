"""`tinkbox hardware`: machines, and how far their boots came."""

import argparse
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tinkbox.cli.connection import ask, ask_each, stay_connected
from tinkbox.cli.flags import add_keys, add_listing, add_verb, add_verbs
from tinkbox.cli.input_documents import read_input
from tinkbox.cli.nouns import hardware_add, hardware_discovery, hardware_leases
from tinkbox.cli.output.formats import Column, Document, show, show_notes
from tinkbox.cli.output.printable import clean, moment
from tinkbox.cli.output.tables import fields
from tinkbox.cli.wording.timelines import detail, timeline
from tinkbox.model.errors import Invalid, NotFound

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator

# Of `list` and `get`: a line for each interface.
COLUMNS: Sequence[Column] = (
    Column("ID", "id"),
    Column("MAC Address", "mac"),
    Column("IP Address", "address"),
    Column("Hostname", "hostname"),
)
# Of `list --seen`: a line for each machine.
SEEN: Sequence[Column] = (
    Column("MAC Address", "mac"),
    Column("Hostname", lambda seen: seen["hostname"] or ("" if seen["hardware_id"] else "(nobody knows it)")),
    Column("At", "at", moment),
    Column("Stage", "stage"),
    Column("Detail", detail),
    Column("Stalled", "stalled"),
)


def declare(noun: argparse.ArgumentParser) -> None:
    verbs = add_verbs(noun)
    verb = add_verb(verbs, "push", push, "store a machine's hardware document, or replace it")
    verb.add_argument("--file", type=Path, metavar="F", help="JSON, or kind: Hardware; without it, standard input")
    hardware_add.declare(verbs)
    verb = add_listing(add_verb(verbs, "list", show_list, "one line per interface"))
    verb.add_argument("--seen", action="store_true", help="every machine that was seen, known or not")
    add_listing(add_verb(verbs, "get", get, "machines with their boots' timelines, or the list"), keys="*")
    hardware_leases.declare(verbs)
    add_keys(add_verb(verbs, "id", by_id, "documents by id"))
    for name, run in (("mac", by_mac), ("ip", by_ip)):
        verb = add_keys(add_verb(verbs, name, run, f"machines by {name.upper()} address"))
        verb.add_argument("-d", "--details", action="store_true", help="the whole document")
    add_keys(add_verb(verbs, "delete", delete, "forget machines"))
    add_keys(add_verb(verbs, "watch", watch, "print a document whenever it changes"))
    verb = add_verb(verbs, "credential", credential, "print a credential for a worker that you start by hand")
    verb.add_argument("key", metavar="MAC")
    verb.add_argument(
        "--rotate", action="store_true", help="end the machine's session and void its earlier credentials"
    )
    verb = add_verb(verbs, "tpm", tpm, "which TPM a machine has to show when it boots")
    verb.add_argument("key", metavar="MAC")
    change = verb.add_mutually_exclusive_group()
    change.add_argument("--accept", metavar="SHA256", help="have it show this one from its next boot on")
    change.add_argument("--forget", action="store_true", help="accept none any more: its next one counts as its first")
    add_keys(
        add_verb(
            verbs, "discard-history", discard_history, "let what a machine did that the store lost count for nothing"
        )
    )
    hardware_discovery.declare(verbs)


def push(chosen: argparse.Namespace) -> None:
    text = read_input(chosen.file, "hardware document")
    show_notes(ask(chosen, lambda operator: operator.hardware.push(text)))
    print(_logged("Hardware data pushed successfully"))


def show_list(chosen: argparse.Namespace) -> None:
    if chosen.seen:
        show(chosen, ask(chosen, lambda operator: operator.seen.all()), SEEN, key="mac")
    else:
        _show_all(chosen, ask(chosen, lambda operator: operator.hardware.all()))


def get(chosen: argparse.Namespace) -> None:
    """The machines and how far their boots came, also of one that nobody knows; without keys the list."""
    if not chosen.keys:
        _show_all(chosen, ask(chosen, lambda operator: operator.hardware.all()))
        return
    machines = ask_each(chosen, _with_timeline)
    _show_all(chosen, machines)
    if chosen.format == "table" and not chosen.quiet:
        for machine in machines:
            if machine.get("habits"):
                print(firmware(machine["habits"]), end="")
            if machine.get("inventory"):
                print(hardware_discovery.inventory_table(machine["inventory"]), end="")
            if machine.get("lost_history"):
                print(clean(f"{machine['lost_history']['reason']}: {machine['lost_history']['message']}"))
                print(clean(f"what to do: {machine['lost_history']['hint']}"))
            print(timeline(machine["timeline"], machine["stalled"]), end="")


def firmware(firmware_traits: Mapping[str, Any]) -> str:
    """What was learned of a machine's firmware, in a line; nothing when that is nothing."""
    learned = ["takes signed boot loaders only (Secure Boot)"] if firmware_traits["secure_boot"] else []
    if firmware_traits["local_boot"]:
        how = "which worked" if firmware_traits["proven"] else "not seen to work yet"
        learned.append(f"way to its disk: {firmware_traits['local_boot']}, {how}")
    return f"firmware: {'; '.join(learned)}\n" if learned else ""


async def _with_timeline(operator: "Operator", key: str) -> Document:
    try:
        return {**await operator.hardware.get(key), "timeline": await operator.hardware.timeline(key)}
    except NotFound:
        with suppress(NotFound):
            return _unregistered(await operator.seen.get(key))
        raise


def _unregistered(seen: Document) -> Document:
    """A machine that nobody knows, shown as those that are known: its MAC stands for the id that it does not have."""
    interface = {"mac": seen["mac"], "address": "", "hostname": ""}
    return {**seen, "id": seen["mac"], "interfaces": [interface]}


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


def delete(chosen: argparse.Namespace) -> None:
    for deleted in ask_each(chosen, lambda operator, key: operator.hardware.delete(key)):
        print(_logged(f"Hardware data with id {deleted['id']} deleted successfully"))


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


def credential(chosen: argparse.Namespace) -> None:
    print(json.dumps(ask(chosen, lambda operator: operator.hardware.credential(chosen.key, rotate=chosen.rotate))))


def tpm(chosen: argparse.Namespace) -> None:
    """Fingerprints: SHA-256 of the endorsement key."""

    async def asked(operator: "Operator") -> Document:
        if chosen.forget:
            return await operator.hardware.forget_tpm(chosen.key)
        if chosen.accept is not None:
            return await operator.hardware.accept_tpm(chosen.key, chosen.accept)
        return await operator.hardware.get(chosen.key)

    found = ask(chosen, asked)["tpm"]
    print(fields([("Accepted", found["accepted"] or "none"), ("Shown Last", found["shown"] or "none")]), end="")


def discard_history(chosen: argparse.Namespace) -> None:
    for discarded in ask_each(chosen, lambda operator, key: operator.hardware.discard_history(key)):
        print("Discarded History: ", discarded["id"])


def _show_all(chosen: argparse.Namespace, machines: Sequence[Document]) -> None:
    if chosen.format in ("table", "csv"):
        lines = [{"id": each["id"], **interface} for each in machines for interface in each["interfaces"]]
        show(chosen, lines, COLUMNS)
    else:
        show(chosen, machines, COLUMNS)


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


def _logged(text: str) -> str:
    """As 2020's tink printed what it had done: through Go's logger."""
    return f"{datetime.now(UTC):%Y/%m/%d %H:%M:%S} {text}"
