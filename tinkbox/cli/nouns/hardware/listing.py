"""`tinkbox hardware list` and `get`: machines, and how far their boots came."""

import argparse
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tinkbox.cli.called_as import told
from tinkbox.cli.connection import ask
from tinkbox.cli.flags import Verbs, add_filters, add_listing, add_verb, add_watch, filters_of
from tinkbox.cli.nouns.hardware.discovery import inventory_table
from tinkbox.cli.nouns.hardware.notes import noted
from tinkbox.cli.output.changes import show_each
from tinkbox.cli.output.formats import As2020, Column, Document, fields, for_people, names_one, show
from tinkbox.cli.output.lists import List
from tinkbox.cli.output.printable import age, clean, moment
from tinkbox.cli.output.tables import Fit
from tinkbox.cli.terminal.watched_list import show_found
from tinkbox.cli.typed_words import key_for_scripts
from tinkbox.cli.wording.machines import seen_standing, shown_by, standing, why
from tinkbox.cli.wording.timelines import NO_BOOTS, detail, timeline
from tinkbox.model.errors import Forbidden, NotFound
from tinkbox.model.key_kinds import KeyKind
from tinkbox.model.labels import show_labels

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator
    from tinkbox.model.machine_state import MachineState


def _interfaces(machine: Document) -> Iterable[Document]:
    """2020's lists have a line for each, and one for a machine that has none."""
    return ({"id": machine["id"], **each} for each in machine["interfaces"] or [shown_by(machine)])


def _since(machine: Document) -> object:
    """When it came to stand where it does."""
    retired = machine.get("retired")
    return retired["at"] if retired else machine["stage_at"] or machine["created_at"]


def _why(machine: Document) -> str:
    """Why it goes no further, or is out of service."""
    retired = machine.get("retired")
    return str(retired["reason"]) if retired else why(machine)


def _key(machine: Document) -> str:
    """What commands take for it and for no other machine."""
    return key_for_scripts(machine.get("key", machine["name"]), machine["id"])  # earlier releases tell no key


AS_2020 = As2020(
    (
        Column("ID", "id"),
        Column("MAC Address", "mac"),
        Column("IP Address", "address"),
        Column("Hostname", "hostname"),
    ),
    _interfaces,
    as_data=True,
)
COLUMNS: Sequence[Column] = (
    Column("ID", "id", wide=True),
    Column("Name", "name", fit=Fit(least=8)),
    Column("MAC", lambda machine: shown_by(machine)["mac"]),
    Column("IP", lambda machine: shown_by(machine)["address"]),
    Column("State", standing, fit=Fit(least=12)),
    Column("Age", _since, age, called="since"),
    Column("Labels", "labels", show_labels, Fit(least=8, rank=1)),
    Column("Stage", "stage", wide=True),
    Column("Why", _why, wide=True),
)

# Of `list --seen`: a line for each machine.
SEEN: Sequence[Column] = (
    Column("MAC", "mac"),
    Column("Name", lambda seen: seen["hostname"] or ("" if seen["hardware_id"] else "(unknown)"), fit=Fit(least=9)),
    Column("State", seen_standing, fit=Fit(least=12)),
    Column("Age", "at", age),
    Column("Detail", detail, fit=Fit(least=8, rank=1)),
    Column("Stage", "stage", wide=True),
    Column("Stalled", "stalled", wide=True),
)
SEEN_AS_2020 = As2020(
    (
        Column("MAC Address", "mac"),
        Column("Hostname", lambda seen: seen["hostname"] or ("" if seen["hardware_id"] else "(nobody knows it)")),
        Column("At", "at", moment),
        Column("Stage", "stage"),
        Column("Detail", detail),
        Column("Stalled", "stalled"),
    )
)
LISTED = List(columns=COLUMNS, name=_key, as_2020=AS_2020, sort="name")
SORTS = ("name", "ip", "state", "created_at", "updated_at", "stage_at", "since", "last_contact")


def _states() -> "type[MachineState]":
    from tinkbox.model.machine_state import MachineState

    return MachineState


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    verb = add_listing(add_verb(verbs, "list", show_list, "machines, and how far their boots came"))
    verb.add_argument("--seen", action="store_true", help="every machine that was seen, known or not")
    add_filters(verb, "label", sorts=SORTS, age="since", states=_states)
    verb.add_argument(
        "--retired",
        action="store_true",
        help="the retired machines, which lists leave out; the same as --state retired",
    )
    add_watch(verb)
    add_listing(
        add_verb(verbs, "get", get, "machines with their boots' timelines, or the list"), keys="*", kind=KeyKind.MACHINE
    )


def show_list(chosen: argparse.Namespace) -> int:
    if chosen.retired:
        if chosen.state is not None:
            chosen.usage_error(
                "--retired is the same as --state retired: give one of them, or both states after --state"
            )
        chosen.state = "retired"
    if chosen.seen:
        if filters_of(chosen) or chosen.watch:
            chosen.usage_error("--seen lists all machines that were seen: leave the other flags out")
        show(chosen, ask(chosen, lambda operator: operator.seen.all()), SEEN, key="mac", as_2020=SEEN_AS_2020)
        return 0
    return show_found(chosen, lambda operator: operator.hardware, LISTED)


def get(chosen: argparse.Namespace) -> int:
    """The machines and how far their boots came, also of one that nobody knows; without keys the list."""
    if not chosen.keys:
        LISTED.show(chosen, *ask(chosen, lambda operator: operator.hardware.found(LISTED.filters(chosen))))
        return 0
    return show_each(chosen, _with_timeline, lambda machines: _show_machines(chosen, machines))


def _show_machines(chosen: argparse.Namespace, machines: Sequence[Document]) -> None:
    if not for_people(chosen):
        LISTED.show(chosen, machines, one=names_one(chosen))
        return
    if chosen.as_2020:
        LISTED.show(chosen, machines)
    for number, machine in enumerate(machines):
        if not chosen.as_2020:
            print("\n" if number else "", fields(chosen, _told(machine)), sep="", end="")
        if machine.get("habits"):
            print(firmware(machine["habits"]), end="")
        if machine.get("inventory"):
            print(inventory_table(chosen, machine["inventory"]), end="")
        if machine.get("lost_history"):
            print(clean(f"{machine['lost_history']['reason']}: {machine['lost_history']['message']}"))
            print(told(f"what to do: {machine['lost_history']['hint']}"))
        print(noted(machine.get("notes") or ()), end="")
        has_mac = any(each["mac"] for each in machine["interfaces"])
        print(timeline(chosen, machine["timeline"], machine["stalled"] if has_mac else NO_BOOTS), end="")


def _told(machine: Document) -> Sequence[tuple[str, object]]:
    """What is known of a machine, for people; what is not is left out."""
    cards = [_card(each) for each in machine["interfaces"]]
    known = [
        ("Name", machine["name"]),
        ("ID", machine["id"]),
        ("State", standing(machine)),
        ("Why", why(machine)),
        ("Retired", _retired(machine)),
        ("Boots By", _boots_by(machine)),
        ("Labels", show_labels(machine["labels"])),
        *(("" if number else "Interfaces", card) for number, card in enumerate(cards)),
        ("Last Contact", moment(machine["last_contact"])),
        ("Created", moment(machine["created_at"])),
    ]
    return [(name, value) for name, value in known if value]


def _card(interface: Document) -> str:
    """An interface with what is reserved for it: `08:00:27:00:00:01 172.30.0.11/24 gateway 172.30.0.1`."""
    from ipaddress import IPv4Network

    address, gateway = interface["address"], interface.get("gateway")
    if address and (mask := interface.get("netmask")):  # earlier releases tell neither mask nor gateway
        address = f"{address}/{IPv4Network((0, mask)).prefixlen}"
    parts = (interface["mac"] or "no MAC", address, f"gateway {gateway}" if gateway else "")
    return " ".join(each for each in parts if each)


def _boots_by(machine: Document) -> str:
    """How it loads what it boots, where that is by HTTPS alone; earlier releases tell nothing of it."""
    return "HTTPS alone" if machine.get("https", {}).get("tls") == "enrolled" else ""


def _retired(machine: Document) -> str:
    told = machine.get("retired")
    if not told:
        return ""
    return f"{moment(told['at'])} by {told['who']}" + (f": {told['reason']}" if told["reason"] else "")


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
        with suppress(NotFound, Forbidden):  # a token with a scope sees no unknown machines
            return _unregistered(await operator.seen.get(key))
        raise


def _unregistered(seen: Document) -> Document:
    """An unknown machine, shown as those that are known: its MAC stands for the id that it does not have."""
    interface = {"mac": seen["mac"], "address": "", "hostname": ""}
    return {
        **seen,
        "id": seen["mac"],
        "name": "",
        "state": "unknown",
        "labels": {},
        "last_contact": None,
        "created_at": None,
        "stage_at": seen["at"],
        "interfaces": [interface],
    }
