"""`tinkbox hardware import`: machines of a list that another program or a person keeps."""

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from ipaddress import ip_network
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tinkbox.cli.connection import ask
from tinkbox.cli.flags import Verbs, add_format, add_labels, add_verb
from tinkbox.cli.input_documents import read_bounded, read_input
from tinkbox.cli.interruptions.breaking_off import told_how_far
from tinkbox.cli.output.formats import Column, Document, for_people, show
from tinkbox.cli.output.printable import clean
from tinkbox.cli.output.refusals import MOST_SHOWN
from tinkbox.cli.output.tables import Fit
from tinkbox.cli.typed_words import key_for_scripts
from tinkbox.model.errors import Invalid, Problem, Refusal, TooLarge
from tinkbox.model.text import counted, natural

if TYPE_CHECKING:
    from tinkbox.model.machine_lists import ListedMachine
    from tinkbox.wire.machine_lists.listing import Listing, Network

KINDS: Final = ("csv", "dnsmasq", "dnsmasq-leases", "isc", "isc-leases", "kea", "kea-leases", "maas", "netbox")
STORY = (
    "FILE is a CSV with a header row (mac,name,ip,gateway,labels,notes), or a list of dnsmasq, ISC dhcpd, Kea, MAAS or NetBox: "
    "what it is, is recognised. Nothing is stored when a line is wrong. A machine that is there with other values is told and left "
    "alone: --update changes it. `-o name` prints the machines that are stored as the list has them."
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
# There afterwards, as the list has it.
STORED: Final = ("made", "updated", "unchanged")
# What a summary says of each outcome: in a dry run, and when it is done.
SAID: Final[Mapping[str, tuple[str, str]]] = {
    "made": ("would be made", "made"),
    "updated": ("would be updated", "updated"),
    "unchanged": ("unchanged", "unchanged"),
    "different": ("", ""),  # `_left_alone` has the words
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
    listing = _read(chosen)
    machines = [replace(each, labels={**each.labels, **dict(chosen.labels)}) for each in listing.machines]
    _tell_problems(listing.left_out, "left out: ")
    _tell_problems(listing.changed, "note: ")
    if chosen.as_csv and machines:
        from tinkbox.wire.machine_lists import csv_lists

        _tell_problems(listing.problems, "wrong: ")
        _tell_problems(_unrouted(machines), "note: ")
        print(csv_lists.write(machines), end="")
        return int(bool(listing.problems))
    wrong = {(each.line, each.key) for each in listing.problems}
    machines = [each for each in machines if (each.line or None, each.key) not in wrong]
    if listing.problems and not (chosen.skip_invalid or chosen.dry_run):
        _refuse(_in_order(chosen, [*listing.problems, *_refused(chosen, machines)]))
    if not machines:
        _tell_problems(_in_order(chosen, listing.problems), "wrong: ")
        hints = {
            "correct what is wrong": listing.problems,
            "look at what was left out": listing.left_out,
            "name its --kind if it is another list": not chosen.kind,
        }
        told = ", or ".join(hint for hint, is_apt in hints.items() if is_apt)
        raise Invalid(f"no machine to import in {' '.join(chosen.files)}{f': {told}' if told else ''}")
    return _import(chosen, machines, listing.problems)


def _unrouted(machines: "Sequence[ListedMachine]") -> list[Problem]:
    """That their gateway, which depends on their network, is not printed, if there are such machines."""
    without = [each for each in machines if each.routers]
    if not without:
        return []
    such = str(ip_network(f"{without[0].address}/24", strict=False))
    text = f"{counted(len(without), 'machine')} without a gateway, which depends on the netmask: name the network, such as --network {such}"
    return [Problem(text=text)]


def _refused(chosen: argparse.Namespace, machines: "Sequence[ListedMachine]") -> list[Problem]:
    """What the appliance would refuse of these; nothing where it cannot be asked, for the list is wrong whatever it says."""
    if not machines:
        return []
    try:
        done = _sent(chosen, machines, dry_run=True)
    except Refusal:
        return []
    return _in_the_way(done, _is_refused)


def _sent(
    chosen: argparse.Namespace, machines: "Sequence[ListedMachine]", *, dry_run: bool, skip_invalid: bool = False
) -> Sequence[Document]:
    """What becomes of each."""
    from tinkbox.cli.output.progress_line import while_it_works

    how = {"update": chosen.update, "skip_invalid": skip_invalid, "dry_run": dry_run}
    doing = "looking at" if dry_run else "importing"
    with while_it_works(f"{doing} {counted(len(machines), 'machine')}") as progress:
        try:
            return ask(chosen, lambda operator: operator.hardware.import_list(machines, progress, **how))
        except TooLarge as refusal:
            raise TooLarge(f"{' and '.join(chosen.files)}: too much for one import ({refusal}): split it") from None


def _import(chosen: argparse.Namespace, machines: "Sequence[ListedMachine]", problems: Sequence[Problem]) -> int:
    """`problems` are what is wrong with the list beside them."""
    done = _sent(chosen, machines, dry_run=chosen.dry_run, skip_invalid=chosen.skip_invalid)
    wrong = len(problems)
    refused = _in_the_way(done, _is_refused)
    stops = chosen.dry_run and not chosen.skip_invalid and (refused or wrong)
    told = done
    if chosen.format == "name":
        stored = STORED[-1:] if stops else STORED
        told = [each for each in done if each["outcome"] in stored]
    elif for_people(chosen):
        # Why one is or would be refused stands below the table, which may have no room for it.
        told = [{**each, "why": ""} if each["outcome"] in ("refused", "different") else each for each in done]
        told = [each for each in told if each["outcome"] != "unchanged"]
    summary = (
        _summary(done, dry_run=chosen.dry_run)
        + (f"; {counted(wrong, 'problem')} in the list" if wrong else "")
        + (": nothing would be stored" if stops else "")
    )
    with told_how_far(lambda: summary):
        if told or not for_people(chosen):
            show(chosen, told, COLUMNS, key="mac", name=_named)
        if for_people(chosen):
            print(summary)
        sys.stdout.flush()
    reasons = dict.fromkeys(refused, "refused: ")
    for each in _in_order(chosen, [*problems, *reasons])[:MOST_SHOWN]:
        _tell_problems([each], reasons.get(each, "wrong: "))
    _tell_more(len(problems) + len(reasons), "")
    _tell_problems(_in_the_way(done, lambda each: _is_untold(chosen, each)), "left alone: ")
    _tell_problems(_notes(done), "note: ")
    return int((bool(refused) or wrong > 0) and not chosen.skip_invalid)


def _summary(done: Sequence[Document], *, dry_run: bool) -> str:
    counts = Counter(str(each["outcome"]) for each in done)
    said = {outcome: words[0 if dry_run else 1] for outcome, words in SAID.items()}
    said["different"] = _left_alone(
        counts["different"], sum(each["outcome"] == "different" and bool(each["why"]) for each in done), dry_run=dry_run
    )
    parts = [f"{counts[outcome]} {words}" for outcome, words in said.items() if counts[outcome]]
    return f"{counted(len(done), 'machine')}: {', '.join(parts)}"


def _left_alone(different: int, blocked: int, *, dry_run: bool) -> str:
    """What a summary says of those that differ, and what `--update` makes of them: it would refuse those `blocked`."""
    one = different == 1
    verb, was, them = ("differs", "was", "it") if one else ("differ", "were", "them")
    if not blocked:
        then = f"--update changes {them}"
    elif blocked == different:
        then = f"--update would refuse {them}"
    else:
        then = f"--update would change {different - blocked} of them and refuse {blocked}"
    return f"{verb} and {'would be' if dry_run else was} left alone ({then})"


def _named(imported: Document) -> str:
    """What means it; of one that would be made, what it would be called."""
    means = key_for_scripts(imported["means"], imported["id"]) if imported["means"] else ""
    return str(means or imported["name"] or imported["mac"])


def _is_untold(chosen: argparse.Namespace, imported: Document) -> bool:
    """Whether one was left alone for a reason that is not printed."""
    if chosen.format == "name":
        return imported["outcome"] in ("different", "retired")
    return for_people(chosen) and imported["outcome"] == "different" and bool(imported["why"])


def _is_refused(imported: Document) -> bool:
    return bool(imported["outcome"] == "refused")


def _in_the_way(done: Sequence[Document], is_told: Callable[[Document], bool]) -> list[Problem]:
    """Why some are refused, or would be, or what is different of them: what is said of several once."""
    from tinkbox.model.told_once import problems_told_once

    told = [(str(each["mac"]), _problem(each)) for each in done if is_told(each)]
    return problems_told_once(told, len(done) - len(told))


def _notes(done: Sequence[Document]) -> list[Problem]:
    """What there is to say of machines as they are stored, or would be: what is said of several once."""
    from tinkbox.model.told_once import problems_told_once

    told = [
        (str(each["mac"]), Problem(text=note, line=each["line"] or None))
        for each in done
        for note in each.get("notes", ())  # an earlier appliance tells none
    ]
    return problems_told_once(told, len(done) - len({mac for mac, _ in told}))


def _problem(refused: Document) -> Problem:
    why = refused["why"] or f"{'; '.join(refused['changes'])} (--update changes it)"
    return Problem(text=why, line=refused["line"] or None, key=refused["key"])


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
    raise Invalid(
        f"the list has {counted(len(problems), 'problem')}, so nothing was stored: correct what is wrong, or import the rest "
        "with --skip-invalid",
        problems,
    )


def _in_order(chosen: argparse.Namespace, problems: Sequence[Problem]) -> list[Problem]:
    """The problems as a person goes through the files: by these, and by lines within one."""

    def place(problem: Problem) -> tuple[object, ...]:
        # Of several files each problem begins its key with the name of one.
        file = next((number for number, each in enumerate(chosen.files) if problem.key.startswith(each)), 0)
        return file, problem.line or 0, natural(problem.key)

    return sorted(problems, key=place)


def _tell_problems(problems: Sequence[Problem], what: str) -> None:
    for each in problems[:MOST_SHOWN]:
        print(clean(f"tinkbox: {what}{each}"), file=sys.stderr)
    _tell_more(len(problems), what)


def _tell_more(number: int, what: str) -> None:
    if number > MOST_SHOWN:
        print(f"tinkbox: {what}{number - MOST_SHOWN} more", file=sys.stderr)
