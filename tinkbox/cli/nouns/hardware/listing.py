"""`tinkbox hardware list` and `get`: machines, and how far their boots came."""

import argparse
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tinkbox.cli.connection import ask, ask_each
from tinkbox.cli.flags import Verbs, add_listing, add_verb
from tinkbox.cli.nouns.hardware.discovery import inventory_table
from tinkbox.cli.output.formats import Column, Document, show
from tinkbox.cli.output.printable import clean, moment
from tinkbox.cli.wording.timelines import detail, timeline
from tinkbox.model.errors import NotFound

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


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    verb = add_listing(add_verb(verbs, "list", show_list, "one line per interface"))
    verb.add_argument("--seen", action="store_true", help="every machine that was seen, known or not")
    add_listing(add_verb(verbs, "get", get, "machines with their boots' timelines, or the list"), keys="*")


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
                print(inventory_table(machine["inventory"]), end="")
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


def _show_all(chosen: argparse.Namespace, machines: Sequence[Document]) -> None:
    if chosen.format in ("table", "csv"):
        lines = [{"id": each["id"], **interface} for each in machines for interface in each["interfaces"]]
        show(chosen, lines, COLUMNS)
    else:
        show(chosen, machines, COLUMNS)
