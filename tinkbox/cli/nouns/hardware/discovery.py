"""`tinkbox hardware discovered`, `accept` and `refuse`."""

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from tinkbox.cli.connection import ask
from tinkbox.cli.flags import Verbs, add_confirmation, add_listing, add_verb, filled
from tinkbox.cli.input_documents import read_devices
from tinkbox.cli.output.changes import change_each
from tinkbox.cli.output.formats import Column, Document, fields, for_people, show
from tinkbox.cli.output.printable import age, clean, moment
from tinkbox.cli.output.tables import Fit
from tinkbox.model.inventory import Device
from tinkbox.model.pci_vendors import named

_GIB = 2**30
COLUMNS: Sequence[Column] = (
    Column("MAC", "mac"),
    Column("State", "standing"),
    Column("From", "port", fit=Fit(least=6, rank=2)),
    Column("Seen", "last_seen", age),
    Column("Machine", lambda found: _machine(_told(found)), fit=Fit(least=10)),
    Column("Serial", lambda found: _told(found).get("serial", ""), wide=True),
    Column("CPUs", lambda found: _told(found).get("processors", ""), fit=Fit(rank=1)),
    Column("Memory", lambda found: _told(found).get("memory", 0), lambda count: _size(count), Fit(rank=3)),
    Column("Disks", lambda found: _disks(_told(found)), fit=Fit(least=12)),
)


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    add_listing(add_verb(verbs, "discovered", discovered, "unknown machines, and what they are"))
    verb = add_verb(
        verbs,
        "accept",
        accept,
        "register a discovered machine",
        "It goes on as that machine without booting again.",
    )
    verb.add_argument("mac", metavar="MAC")
    verb.add_argument("--name", type=filled, help="its name and hostname (default: made of its MAC)")
    verb.add_argument(
        "--ip", type=filled, metavar="ADDRESS", help="an address to reserve, such as 172.30.0.20 or 172.31.0.20/24"
    )
    verb.add_argument("--gateway", type=filled, metavar="ADDRESS", help="to tell it together with --ip")
    verb.add_argument("-t", "--template", metavar="TEMPLATE", help="and create a workflow of this template for it")
    verb.add_argument(
        "-r",
        "--hardware",
        metavar="JSON",
        type=read_devices,
        default={},
        help='the template\'s devices; without it, {"device_1": "MAC"}',
    )
    add_confirmation(verb)
    verb = add_verb(verbs, "refuse", refuse, "stop answering an unknown machine")
    verb.add_argument("keys", nargs="+", metavar="MAC")


def discovered(chosen: argparse.Namespace) -> None:
    """Who waits, and below it why a rule that holds for one has not accepted it."""
    strangers = ask(chosen, lambda operator: operator.discovered.all())
    show(chosen, strangers, COLUMNS, key="mac")
    if for_people(chosen):
        for each in strangers:
            if each["problem"]:
                print(clean(f"{each['mac']}: {each['problem']}"))


def accept(chosen: argparse.Namespace) -> None:
    wanted: dict[str, Any] = {
        "name": chosen.name,
        "address": chosen.ip,
        "gateway": chosen.gateway,
        "template": chosen.template,
        "hardware": dict(chosen.hardware),
        "confirm_wipe": chosen.confirm_wipe,
    }
    asked = {name: value for name, value in wanted.items() if value}
    accepted = ask(chosen, lambda operator: operator.discovered.accept(chosen.mac, asked))
    print(f"Accepted {chosen.mac} as {accepted['name']}:  {accepted['id']}")
    if accepted["workflow"]:
        print("Created Workflow: ", accepted["workflow"])


def refuse(chosen: argparse.Namespace) -> int:
    return change_each(
        chosen,
        lambda operator, key: operator.discovered.refuse(key),
        lambda refused: print(f"Refused {refused['mac']}", flush=True),
    )


def inventory_table(chosen: argparse.Namespace, told: Mapping[str, Any]) -> str:
    """What a machine is made of, for people; what it does not tell is left out."""
    pairs = [
        ("Machine", _machine(told)),
        ("Serial", told["serial"]),
        ("UUID", told["uuid"]),
        ("Processors", f"{told['processors']} x {told['processor']} ({told['architecture']})"),
        ("Memory", _size(told["memory"])),
        ("Firmware", f"{told['firmware_version']} {told['firmware']}".strip()),
        ("Secure Boot", "on" if told["secure_boot"] else ""),
        ("BMC", told["bmc"]),
        *(
            ("Disk", f"{each['device']} {_size(each['size'])} {each['model']} {each['serial']}".strip())
            for each in told["disks"]
        ),
        *(
            ("Network", f"{each['name']} {each['mac']} {'up' if each['link'] else 'no link'} {each['driver']}".strip())
            for each in told["cards"]
        ),
        *(("Lacks", lacking) for each in told.get("devices", ()) if (lacking := _lacking(each))),
        ("Told At", moment(told["told_at"])),
    ]
    return fields(chosen, [(name, value) for name, value in pairs if value], ("Made Of", "Value"))


def _lacking(device: Mapping[str, Any]) -> str:
    """What a card lacks in the OSIE, empty: nothing."""
    shown = named(Device(place=str(device["place"]), id=str(device["id"]), kind=str(device["kind"]))).removeprefix(
        "the "
    )
    if device["missing"]:
        return f"{shown}: firmware {', '.join(map(str, device['missing']))} ({device['module'] or device['driver']})"
    if device["kind"] and not device["driver"]:
        why = f"module {device['module']} does not take it" if device["module"] else "the OSIE has no module for it"
        return f"{shown}: {why}"
    return ""


def _told(found: Document) -> Mapping[str, Any]:
    return found["inventory"] or {}


def _machine(told: Mapping[str, Any]) -> str:
    return f"{told.get('manufacturer', '')} {told.get('product', '')}".strip()


def _disks(told: Mapping[str, Any]) -> str:
    disks = (f"{each['device']} {_size(each['size'])} {each['serial']}".strip() for each in told.get("disks", ()))
    return ", ".join(disks)


def _size(count: int) -> str:
    return f"{count / _GIB:.1f} GiB" if count else ""
