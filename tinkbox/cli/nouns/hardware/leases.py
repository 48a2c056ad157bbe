"""`tinkbox hardware leases`."""

import argparse
from collections.abc import Sequence

from tinkbox.cli.connection import ask
from tinkbox.cli.flags import Verbs, add_listing, add_verb
from tinkbox.cli.output.formats import Column, short, show
from tinkbox.cli.output.printable import moment
from tinkbox.cli.output.tables import Fit

COLUMNS: Sequence[Column] = (
    Column("IP", "address"),
    Column("MAC", "mac"),
    Column("State", "state"),
    Column("Until", "until", moment, Fit(rank=2)),
    Column("Name", "hostname", fit=Fit(least=8)),
    Column("Hardware", lambda lease: short(lease["hardware_id"]), fit=Fit(rank=1)),
    Column("Hardware", "hardware_id", wide=True),
)


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    add_listing(add_verb(verbs, "leases", show_list, "the addresses of pools that are lent"))


def show_list(chosen: argparse.Namespace) -> None:
    show(chosen, ask(chosen, lambda operator: operator.leases.all()), COLUMNS, key="address")
