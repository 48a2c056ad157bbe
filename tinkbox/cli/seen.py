"""What was seen of machines, as `tinkbox hardware` prints it."""

import argparse
from collections.abc import Sequence

from tinkbox.cli.appliance import ask
from tinkbox.cli.output import Column, Document, clean, moment, show, table

MACHINES: Sequence[Column] = (
    ("MAC Address", lambda seen: seen["mac"]),
    ("Hostname", lambda seen: seen["hostname"] or ("" if seen["hardware_id"] else "(nobody knows it)")),
    ("At", lambda seen: moment(seen["at"])),
    ("Stage", lambda seen: seen["stage"]),
    ("Detail", lambda seen: _detail(seen)),
    ("Stalled", lambda seen: seen["stalled"]),
)
SIGHTINGS: Sequence[Column] = (
    ("At", lambda seen: moment(seen["at"])),
    ("Stage", lambda seen: seen["stage"]),
    ("Detail", lambda seen: _detail(seen)),
)


def show_seen(chosen: argparse.Namespace) -> None:
    """Every MAC that was seen, known or not."""
    show(chosen, ask(chosen, lambda operator: operator.seen.all()), MACHINES, key="mac")


def stranger(seen: Document) -> Document:
    """A machine that nobody knows, shown as those that are known: its MAC stands for the id that it does not have."""
    interface = {"mac": seen["mac"], "address": "", "hostname": ""}
    return {**seen, "id": seen["mac"], "interfaces": [interface]}


def timeline(sightings: Sequence[Document], stalled: str = "") -> str:
    """A table of sightings, and below it for how long a machine has stalled, if it has."""
    rows = [[value(each) for _, value in SIGHTINGS] for each in sightings]
    return table([title for title, _ in SIGHTINGS], rows) + (f"{clean(stalled)}\n" if stalled else "")


def _detail(seen: Document) -> str:
    """With how often it was seen, where that was more than once."""
    facts = seen.get("facts", {})
    if "count" not in facts:
        return str(seen["detail"])
    often = f"{facts['count']} times in {facts.get('lasted', 0):.0f} s"
    return f"{seen['detail']} ({often})" if seen["detail"] else often
