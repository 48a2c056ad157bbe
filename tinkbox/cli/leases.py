"""`tinkbox hardware leases`."""

import argparse
from collections.abc import Sequence

from tinkbox.cli.appliance import ask
from tinkbox.cli.output import Column, moment, show

COLUMNS: Sequence[Column] = (
    ("IP Address", lambda lease: lease["address"]),
    ("MAC Address", lambda lease: lease["mac"]),
    ("State", lambda lease: lease["state"]),
    ("Until", lambda lease: moment(lease["until"])),
    ("Hostname", lambda lease: lease["hostname"]),
    ("Hardware", lambda lease: lease["hardware_id"]),
)


def show_list(chosen: argparse.Namespace) -> None:
    show(chosen, ask(chosen, lambda operator: operator.leases.all()), COLUMNS, key="address")
