"""`tinkbox hardware leases`."""

import argparse
from collections.abc import Sequence

from tinkbox.cli.connection import ask
from tinkbox.cli.flags import Verbs, add_listing, add_verb
from tinkbox.cli.output.formats import Column, show
from tinkbox.cli.output.printable import moment

COLUMNS: Sequence[Column] = (
    Column("IP Address", "address"),
    Column("MAC Address", "mac"),
    Column("State", "state"),
    Column("Until", "until", moment),
    Column("Hostname", "hostname"),
    Column("Hardware", "hardware_id"),
)


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    add_listing(add_verb(verbs, "leases", show_list, "the addresses of pools that are lent"))


def show_list(chosen: argparse.Namespace) -> None:
    show(chosen, ask(chosen, lambda operator: operator.leases.all()), COLUMNS, key="address")
