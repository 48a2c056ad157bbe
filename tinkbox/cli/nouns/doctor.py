"""`tinkbox doctor`: why machines do not boot, and what to do."""

import argparse
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from tinkbox.cli.flags import add_listing, carry_out
from tinkbox.cli.output.changes import change_each
from tinkbox.cli.output.formats import Column, Document, for_people, json_of, names_one, show, yaml_of
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
    add_listing(noun, keys="*", kind=KeyKind.MACHINE, about="only these machines: keys, or MACs of unknown ones")


def examine(chosen: argparse.Namespace) -> int:
    """Print what the doctor says, machine by machine; returns the exit status, 1 when anything is a fault or is unknown."""
    one = names_one(chosen) or not chosen.keys
    chosen.keys = chosen.keys or [""]
    found: list[Document] = []

    def tell(examined: Document) -> None:
        found.append(examined)
        if for_people(chosen):  # at once: each is listened for, for some seconds
            for line in _told(examined, sys.maxsize if chosen.format == "wide" else ALIKE, chosen.names):
                print(line, flush=True)

    status = change_each(chosen, lambda operator, key: operator.doctor(key), tell, only_looks=True)
    if not found:
        return status
    diagnoses = [each for examined in found for each in examined["diagnoses"]]
    if chosen.format in ("json", "yaml") and not chosen.quiet:
        print((json_of if chosen.format == "json" else yaml_of)(found[0] if one else found), end="")
    elif not for_people(chosen):
        show(chosen, diagnoses, COLUMNS, key="rule", name=_named)
    return max(status, int(any(each["gravity"] == "fault" for each in diagnoses)))


def _named(diagnosis: Document) -> str:
    """A diagnosis in two words: its rule, and the machine if it is about one."""
    return f"{diagnosis['rule']} {diagnosis['machine']}".strip()


def _told(found: Document, alike_shown: int, names: Mapping[str, str]) -> Iterator[str]:
    """What is long and can wait comes first: on a console the end is what stays to be seen.

    Of what many machines suffer from, the first `alike_shown` are told in full; `names` are those of machines by their keys.
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
    machine = names.get(found["machine"], found["machine"])
    whom = f"how {machine} boots" if machine else everybody
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
