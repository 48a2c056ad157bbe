"""`tinkbox hardware discovered`, `accept` and `refuse`."""

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from tinkbox.cli.appliance import ask, ask_each
from tinkbox.cli.output import Column, Document, clean, fields, moment, show

_GIB = 2**30
COLUMNS: Sequence[Column] = (
    ("MAC Address", lambda found: found["mac"]),
    ("Standing", lambda found: found["standing"]),
    ("From", lambda found: found["port"]),
    ("Last Seen", lambda found: moment(found["last_seen"])),
    ("Machine", lambda found: _machine(_told(found))),
    ("Serial", lambda found: _told(found).get("serial", "")),
    ("Processors", lambda found: _told(found).get("processors", "")),
    ("Memory", lambda found: _size(_told(found).get("memory", 0))),
    ("Disks", lambda found: _disks(_told(found))),
)


def discovered(chosen: argparse.Namespace) -> None:
    """Who waits, and below it why a rule that holds for one has not accepted it."""
    strangers = ask(chosen, lambda operator: operator.discovered.all())
    show(chosen, strangers, COLUMNS, key="mac")
    if chosen.format == "table" and not chosen.quiet:
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


def refuse(chosen: argparse.Namespace) -> None:
    for refused in ask_each(chosen, lambda operator, key: operator.discovered.refuse(key)):
        print(f"Refused {refused['mac']}")


def inventory_table(told: Mapping[str, Any]) -> str:
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
        ("Told At", moment(told["told_at"])),
    ]
    return fields([(name, value) for name, value in pairs if value], ("Made Of", "Value"))


def _told(found: Document) -> Mapping[str, Any]:
    return found["inventory"] or {}


def _machine(told: Mapping[str, Any]) -> str:
    return f"{told.get('manufacturer', '')} {told.get('product', '')}".strip()


def _disks(told: Mapping[str, Any]) -> str:
    disks = (f"{each['device']} {_size(each['size'])} {each['serial']}".strip() for each in told.get("disks", ()))
    return ", ".join(disks)


def _size(count: int) -> str:
    return f"{count / _GIB:.1f} GiB" if count else ""
