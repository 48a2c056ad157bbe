"""`tinkbox hardware import`: machines of a list that another program or a person keeps."""

import argparse
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tinkbox.cli.connection import ask
from tinkbox.cli.flags import Verbs, add_format, add_labels, add_verb
from tinkbox.cli.input_documents import read_bounded, read_input
from tinkbox.cli.output.formats import Column, Document, for_people, show
from tinkbox.cli.output.printable import clean
from tinkbox.cli.output.tables import Fit
from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.text import counted

if TYPE_CHECKING:
    from tinkbox.model.machine_lists import ListedMachine
    from tinkbox.wire.machine_lists.listing import Listing, Network

KINDS: Final = ("csv", "dnsmasq", "dnsmasq-leases", "isc", "isc-leases", "kea", "kea-leases", "maas", "netbox")
MOST_TOLD: Final = 100
STORY = (
    "FILE is a CSV with a header row (mac,name,ip,gateway,labels,notes), or a list of dnsmasq, ISC dhcpd, Kea, MAAS or NetBox: "
    "what it is, is recognised. Nothing is stored when a line is wrong. A machine that is there with other values is told, and "
    "left alone."
)
EPILOG = (
    "dnsmasq: its configuration, --dhcp-hostsfile, /etc/ethers, dnsmasq.leases. ISC: dhcpd.conf, dhcpd.leases. Kea: kea-dhcp4.conf, "
    "kea-leases4.csv. MAAS: `maas PROFILE machines read`. NetBox: the CSV exports of devices and of interfaces, both at once."
)
COLUMNS: Sequence[Column] = (
    Column("Line", lambda each: each["line"] or each["key"], fit=Fit(least=4)),
    Column("MAC", "mac"),
    Column("Name", "name", fit=Fit(least=8)),
    Column("IP", "address", fit=Fit(rank=1)),
    Column("Outcome", "outcome"),
    Column(
        "Changes",
        lambda each: "; ".join([*each["changes"], *([each["why"]] if each["why"] else [])]),
        fit=Fit(least=12),
    ),
)
# What a summary says of each outcome: in a dry run, and when it is done.
SAID: Final[Mapping[str, tuple[str, str]]] = {
    "made": ("would be made", "made"),
    "updated": ("would be updated", "updated"),
    "unchanged": ("unchanged", "unchanged"),
    "different": ("different, left alone (--update changes them)", "different, left alone (--update changes them)"),
    "retired": ("retired, left alone", "retired, left alone"),
    "refused": ("refused", "refused, skipped"),
}


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    verb = add_verb(verbs, "import", import_list, "register the machines of a list", STORY)
    verb.epilog = EPILOG
    verb.add_argument("files", nargs="+", metavar="FILE", help="the list; - is standard input")
    verb.add_argument("--kind", choices=KINDS, metavar="KIND", help=f"which list it is: {', '.join(KINDS)}")
    verb.add_argument(
        "--network",
        action="append",
        default=[],
        type=_network,
        metavar="NETWORK[,GATEWAY]",
        help="a network of the list's addresses, such as 172.30.0.0/24,172.30.0.1: their prefix, and their gateway where the "
        "list has none; may be repeated",
    )
    add_labels(verb, "a label for all of them", "-l")
    verb.add_argument("--update", action="store_true", help="change machines that are there with other values")
    verb.add_argument("--skip-invalid", action="store_true", help="leave out what is wrong, and store the rest")
    verb.add_argument("--dry-run", action="store_true", help="show what would be done, and store nothing")
    verb.add_argument(
        "--as-csv", action="store_true", help="print what could be read as tinkbox's own CSV, and store nothing"
    )
    add_format(verb)
    verb.add_argument("--no-headers", action="store_true", help="no line of headings")


def import_list(chosen: argparse.Namespace) -> int:
    """Print what became of each machine that is not unchanged, and how many there are of each."""
    from dataclasses import replace

    listing = _read(chosen)
    machines = [replace(each, labels={**each.labels, **dict(chosen.labels)}) for each in listing.machines]
    _tell_problems(listing.left_out, "left out: ")
    _tell_problems(listing.changed, "note: ")
    if chosen.as_csv and machines:
        from tinkbox.wire.machine_lists import csv_lists

        _tell_problems(listing.problems, "wrong: ")
        print(csv_lists.write(machines), end="")
        return int(bool(listing.problems))
    if listing.problems and not (chosen.skip_invalid or chosen.dry_run):
        _refuse(listing.problems)
    _tell_problems(listing.problems, "wrong: ")
    wrong = {(each.line, each.key) for each in listing.problems}
    machines = [each for each in machines if (each.line or None, each.key) not in wrong]
    if not machines:
        hints = {
            "correct what is wrong": listing.problems,
            "look at what was left out": listing.left_out,
            "name its --kind if it is another list": not chosen.kind,
        }
        told = ", or ".join(hint for hint, is_apt in hints.items() if is_apt)
        raise Invalid(f"no machine to import in {' '.join(chosen.files)}{f': {told}' if told else ''}")
    return _import(chosen, machines, len(listing.problems))


def _import(chosen: argparse.Namespace, machines: "Sequence[ListedMachine]", wrong: int) -> int:
    """`wrong` is how many problems the list has beside them."""
    done = ask(
        chosen,
        lambda operator: operator.hardware.import_list(
            machines, update=chosen.update, skip_invalid=chosen.skip_invalid, dry_run=chosen.dry_run
        ),
    )
    refused = [
        Problem(text=f"{each['mac']}: {each['why']}", line=each["line"] or None, key=each["key"])
        for each in done
        if each["outcome"] == "refused"
    ]
    told = done
    if for_people(chosen):
        # Why one is refused stands below the table, which may have no room for it.
        told = [{**each, "why": ""} if each["outcome"] == "refused" else each for each in done]
        told = [each for each in told if each["outcome"] != "unchanged"]
    if told or not for_people(chosen):
        show(chosen, told, COLUMNS, key="mac", name="name")
    if for_people(chosen):
        stops = chosen.dry_run and not chosen.skip_invalid and (refused or wrong)
        print(
            _summary(done, dry_run=chosen.dry_run)
            + (f"; {counted(wrong, 'problem')} in the list" if wrong else "")
            + (": nothing would be stored" if stops else "")
        )
        _tell_problems(refused, "refused: ")
    return int((bool(refused) or wrong > 0) and not chosen.skip_invalid)


def _summary(done: Sequence[Document], *, dry_run: bool) -> str:
    counts = Counter(str(each["outcome"]) for each in done)
    parts = [f"{counts[outcome]} {said[0 if dry_run else 1]}" for outcome, said in SAID.items() if counts[outcome]]
    return f"{counted(len(done), 'machine')}: {', '.join(parts)}"


def _read(chosen: argparse.Namespace) -> "Listing":
    from tinkbox.wire.machine_lists.reading import MAX_JSON, Kind, read_lists

    read = [
        ("standard input", read_input(None, "list")) if each == "-" else (each, read_bounded(Path(each), MAX_JSON))
        for each in chosen.files
    ]
    kind = Kind(chosen.kind) if chosen.kind else None
    return read_lists(read, kind, now=datetime.now(UTC), networks=chosen.network)


def _network(text: str) -> "Network":
    """An argument that is a network, perhaps with its gateway."""
    from tinkbox.wire.machine_lists.listing import parse_network

    try:
        return parse_network(text)
    except Invalid as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _refuse(problems: Sequence[Problem]) -> None:
    rest = len(problems) - MOST_TOLD
    more = [Problem(text=f"and {rest} more")] if rest > 0 else []
    raise Invalid(
        f"the list has {counted(len(problems), 'problem')}, so nothing was stored: correct what is wrong, or import the rest "
        "with --skip-invalid",
        [*problems[:MOST_TOLD], *more],
    )


def _tell_problems(problems: Sequence[Problem], what: str) -> None:
    for each in problems[:MOST_TOLD]:
        print(clean(f"tinkbox: {what}{each}"), file=sys.stderr)
    if len(problems) > MOST_TOLD:
        print(f"tinkbox: {what}{len(problems) - MOST_TOLD} more", file=sys.stderr)
