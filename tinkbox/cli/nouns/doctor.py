"""`tinkbox doctor`: why machines do not boot, and what to do."""

import argparse
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence

from tinkbox.cli.connection import ask
from tinkbox.cli.flags import add_listing, carry_out
from tinkbox.cli.output.formats import Column, Document, for_people, json_of, show, yaml_of
from tinkbox.cli.output.printable import clean, moment
from tinkbox.model.key_kinds import KeyKind
from tinkbox.model.text import counted

MAX_WIDTH = 100
# Where many machines suffer from the same, the first few say what it is.
ALIKE = 3
NAMED = 20
COLUMNS: Sequence[Column] = (
    Column("Gravity", "gravity"),
    Column("Rule", "rule"),
    Column("Machine", "machine"),
    Column("Cause", "cause"),
    Column("Remedy", "remedy"),
)


def declare(noun: argparse.ArgumentParser) -> None:
    carry_out(noun, examine)
    about = "only this machine: a key of it, or the MAC of an unknown one"
    noun.add_argument("machine", nargs="?", metavar=KeyKind.MACHINE, help=about)
    add_listing(noun)


def examine(chosen: argparse.Namespace) -> int:
    """Print what the doctor says; returns the exit status, 1 when anything is a fault."""
    found = ask(chosen, lambda operator: operator.doctor(chosen.machine or ""))
    if chosen.format == "json" and not chosen.quiet:
        print(json_of(found), end="")
    elif chosen.format == "yaml" and not chosen.quiet:
        print(yaml_of(found), end="")
    elif for_people(chosen):
        for line in _told(found, sys.maxsize if chosen.format == "wide" else ALIKE):
            print(line)
    else:
        show(chosen, found["diagnoses"], COLUMNS, key="rule", name=_named)
    return int(any(each["gravity"] == "fault" for each in found["diagnoses"]))


def _named(diagnosis: Document) -> str:
    """A diagnosis in two words: its rule, and the machine if it is about one."""
    return f"{diagnosis['rule']} {diagnosis['machine']}".strip()


def _told(found: Document, alike_shown: int) -> Iterator[str]:
    """What is long and can wait comes first: on a console the end is what stays to be seen.

    Of what many machines suffer from, the first `alike_shown` are told in full.
    """
    if found["mode"] == "off":
        for server in found["servers"]:
            yield clean(f"For {server['server']}, {server['where']}:")
            yield ""
            yield from map(clean, server["lines"])
            yield ""
    shown: Counter[str] = Counter()
    more: dict[str, list[Document]] = {}
    for diagnosis in found["diagnoses"]:
        kind = f"{diagnosis['gravity'].upper()}  {diagnosis['rule']}"
        shown[kind] += 1
        if shown[kind] > alike_shown:
            more.setdefault(kind, []).append(diagnosis)
            continue
        yield from _diagnosis(diagnosis)
        yield ""
    for kind, alike in more.items():
        yield from _alike(kind, alike)
        yield ""
    machines = counted(found["machines"], "machine")
    everybody = f"the appliance and {machines}, seen within a day or needed by a workflow"
    whom = f"how {found['machine']} boots" if found["machine"] else everybody
    if not found["diagnoses"]:
        yield clean(f"Nothing wrong was found with {whom} ({moment(found['at'])}).")
    if found["unasked"]:
        yield clean(f"Other DHCP servers were not asked for: {found['unasked']}")


def _alike(kind: str, diagnoses: Sequence[Document]) -> Iterator[str]:
    """The same of many machines, in few lines."""
    yield clean(f"{kind}, as above, of {len(diagnoses)} more")
    macs = [each["machine"] for each in diagnoses[:NAMED]]
    yield from _wrapped(" ".join(macs) + (" …" if len(diagnoses) > NAMED else ""), "  ", "  ")
    yield "  What to do: `tinkbox doctor MAC` says it of one of them."


def _diagnosis(diagnosis: Document) -> Iterator[str]:
    machine = f"  {diagnosis['machine']}" if diagnosis["machine"] else ""
    yield clean(f"{diagnosis['gravity'].upper()}  {diagnosis['rule']}{machine}")
    yield from _wrapped(diagnosis["cause"], "  ", "  ")
    for line in diagnosis["evidence"]:
        yield from _wrapped(line, "    - ", "      ")
    yield from _wrapped(f"What to do: {diagnosis['remedy']}", "  ", "  ")


def _wrapped(text: str, first: str, then: str) -> list[str]:
    width = min(shutil.get_terminal_size((MAX_WIDTH, 0)).columns, MAX_WIDTH)
    return textwrap.wrap(
        clean(text), width, initial_indent=first, subsequent_indent=then, break_long_words=False, break_on_hyphens=False
    )
