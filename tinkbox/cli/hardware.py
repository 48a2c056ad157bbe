"""`tinkbox hardware`."""

import argparse
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from tinkbox.cli.appliance import ask, ask_each, read_input
from tinkbox.cli.discovery import inventory_table
from tinkbox.cli.intake import say_notes
from tinkbox.cli.output import Column, Document, fields, show
from tinkbox.cli.seen import show_seen, stranger, timeline
from tinkbox.client.operator import Operator
from tinkbox.model.errors import Invalid, NotFound

COLUMNS: Sequence[Column] = (
    ("ID", lambda line: line["id"]),
    ("MAC Address", lambda line: line["mac"]),
    ("IP Address", lambda line: line["address"]),
    ("Hostname", lambda line: line["hostname"]),
)


def push(chosen: argparse.Namespace) -> None:
    text = read_input(chosen.file, "hardware document")
    say_notes(ask(chosen, lambda operator: operator.hardware.push(text)))
    print(_logged("Hardware data pushed successfully"))


def show_list(chosen: argparse.Namespace) -> None:
    if chosen.seen:
        show_seen(chosen)
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
                print(inventory_table(machine["inventory"]), end="")
            print(timeline(machine["timeline"], machine["stalled"]), end="")


def firmware(firmware_traits: Mapping[str, Any]) -> str:
    """What was learned of a machine's firmware, in a line; nothing when that is nothing."""
    learned = ["takes signed boot loaders only (Secure Boot)"] if firmware_traits["secure_boot"] else []
    if firmware_traits["local_boot"]:
        how = "which worked" if firmware_traits["proven"] else "not seen to work yet"
        learned.append(f"way to its disk: {firmware_traits['local_boot']}, {how}")
    return f"firmware: {'; '.join(learned)}\n" if learned else ""


async def _with_timeline(operator: Operator, key: str) -> Document:
    try:
        return {**await operator.hardware.get(key), "timeline": await operator.hardware.timeline(key)}
    except NotFound:
        with suppress(NotFound):
            return stranger(await operator.seen.get(key))
        raise


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

    async def watched(operator: Operator) -> None:
        known: dict[str, object] = {}
        while True:
            for key in chosen.keys:
                document = (await operator.hardware.get(key))["document"]
                if known.get(key) != document:
                    known[key] = document
                    print(json.dumps(document), flush=True)
            await asyncio.sleep(1)

    ask(chosen, watched)


def credential(chosen: argparse.Namespace) -> None:
    print(json.dumps(ask(chosen, lambda operator: operator.hardware.credential(chosen.key))))


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
