"""`tinkbox doctor`: what is wrong with the appliance, the network, machines and workflows, and what to do."""

import argparse
import json
import re
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from tinkbox.cli.connection import stay_connected
from tinkbox.cli.flags import add_listing, add_selection, carry_out
from tinkbox.cli.interruptions.outages import Outages
from tinkbox.cli.interruptions.readers import while_read
from tinkbox.cli.output.changes import change_each
from tinkbox.cli.output.formats import Column, Document, for_people, json_of, names_one, short, show, yaml_of
from tinkbox.cli.output.printable import clean, moment
from tinkbox.model.errors import Unavailable
from tinkbox.model.key_kinds import KeyKind

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator

KEYS: Final = f"{KeyKind.MACHINE}|{KeyKind.WORKFLOW}"
EVERY: Final = 5.0  # seconds between two looks
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
    Column("Workflow", lambda diagnosis: diagnosis.get("workflow", ""), wide=True, called="workflow"),
)


def declare(noun: argparse.ArgumentParser) -> None:
    carry_out(noun, examine)
    about = "only these: machines by their keys, unknown ones by their MACs, workflows by their keys (default: everything there is)"
    noun.add_argument("keys", nargs="*", metavar=KEYS, help=about)
    noun.set_defaults(names={})
    add_selection(noun, KeyKind.MACHINE, all_without=True)
    noun.add_argument(
        "-w",
        "--watch",
        action="store_true",
        help="look again every few seconds, and print what begins and what is over, until Ctrl-C",
    )
    add_listing(noun)


def examine(chosen: argparse.Namespace) -> int:
    """Print what the doctor says, one patient after the other; returns the exit status, 1 when anything is a fault or is unknown."""
    if chosen.watch:
        if not for_people(chosen) and (chosen.quiet or chosen.format != "json"):
            chosen.usage_error("--watch prints what people read, or with -o json a document on each line")
        watch(chosen)
        return 0
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
    yield from _bill(found, names)


def _bill(found: Document, names: Mapping[str, str]) -> Iterator[str]:
    """That nothing is wrong, where nothing is, and what that rests on; and what was not looked at."""
    machine, workflow = names.get(found["machine"], found["machine"]), found.get("workflow", "")
    whom = f" with machine {machine}" if machine else f" with workflow {short(workflow)}" if workflow else ""
    left_out = [(each["what"], each["why"]) for each in found.get("unexamined", ())]
    if not found["diagnoses"]:
        yield clean(f"Nothing wrong was found{whom} ({moment(found['at'])}).")
        if examined := found.get("examined", ()):
            yield from _wrapped(f"Examined: {', '.join(examined)}.", "", "  ")
    elif machine or workflow:  # who reads a fault of one knows that it is about that one
        left_out = [each for each in left_out if each[1] == found["unasked"]]
    if left_out:
        yield from _wrapped(
            f"Not examined: {'; '.join(f'{what} ({why})' if why else what for what, why in left_out)}.", "", "  "
        )
    elif found["unasked"]:  # as an earlier release tells it
        yield clean(f"Other DHCP servers were not asked for: {found['unasked']}")


def watch(chosen: argparse.Namespace) -> None:
    """Print what is wrong, and from then on what begins and what is over, without loss over a restart of the appliance."""
    import asyncio

    people = for_people(chosen)

    async def watched(operator: "Operator") -> None:
        before: dict[tuple[str, ...], Document] | None = None
        outages = Outages()
        while True:
            try:
                looked = [await operator.doctor(key, listens=False) for key in chosen.keys or [""]]
                outages.over()
            except Unavailable as error:
                if before is None:
                    raise
                outages.tell(error)
            else:
                now = {_identity(each): each for found in looked for each in found["diagnoses"]}
                if people:
                    lines = _changed(before, now, looked, chosen.names)
                else:
                    lines = _changed_as_json(before or {}, now, looked)
                for line in lines:
                    print(line, flush=True)
                before = now
            await asyncio.sleep(EVERY)

    stay_connected(chosen, lambda operator: while_read(watched(operator)))


def _identity(diagnosis: Document) -> tuple[str, ...]:
    """What tells a diagnosis from others, and stays the same while figures in it change."""
    subject = diagnosis.get("subject") or re.sub(r"\d+", "#", diagnosis["cause"])
    return diagnosis["rule"], diagnosis["gravity"], diagnosis["machine"], diagnosis.get("workflow", ""), subject


def _changed(
    before: Mapping[tuple[str, ...], Document] | None,
    now: Mapping[tuple[str, ...], Document],
    looked: Sequence[Document],
    names: Mapping[str, str],
) -> Iterator[str]:
    """What a person is told of a look: all of it at first, then what is new and what is over."""
    if before is None:
        for found in looked:
            yield from _told({**found, "servers": ()}, ALIKE, names)
        return
    at = moment(looked[0]["at"])
    for identity, diagnosis in now.items():
        if identity not in before:
            yield clean(f"{at} began:")
            yield from _diagnosis(diagnosis)
            yield ""
    for identity, diagnosis in before.items():
        if identity not in now:
            yield clean(f"{at} over: {_heading(diagnosis)}")
    if before and not now:
        yield clean(f"{at} Nothing wrong is left.")


def _changed_as_json(
    before: Mapping[tuple[str, ...], Document], now: Mapping[tuple[str, ...], Document], looked: Sequence[Document]
) -> Iterator[str]:
    """The same for programs: a document on each line, of what `began` or is `over`."""
    at = looked[0]["at"]
    changes: Iterable[tuple[str, Document]] = (
        *(("began", each) for identity, each in now.items() if identity not in before),
        *(("over", each) for identity, each in before.items() if identity not in now),
    )
    for change, each in changes:
        yield json.dumps({"change": change, "at": at, **each})


def _alike(kind: str, diagnoses: Sequence[Document]) -> Iterator[str]:
    """The same of many machines, in few lines."""
    yield clean(f"{kind}, as above, of {len(diagnoses)} more")
    patients = [each["machine"] or short(each.get("workflow", "")) for each in diagnoses]
    keys = list(dict.fromkeys(each for each in patients if each))
    if keys:
        yield from _wrapped(" ".join(keys[:NAMED]) + (" …" if len(keys) > NAMED else ""), "  ", "  ")
        yield "  What to do: `tinkbox doctor` with one of these keys says it of that one."


def _heading(diagnosis: Document) -> str:
    """What a diagnosis is called, and what it is about."""
    workflow = f"workflow {short(diagnosis['workflow'])}" if diagnosis.get("workflow") else ""
    parts = (diagnosis["gravity"].upper(), diagnosis["rule"], diagnosis["machine"], workflow)
    return "  ".join(each for each in parts if each)


def _diagnosis(diagnosis: Document) -> Iterator[str]:
    since = f"  since {moment(diagnosis['since'])}" if diagnosis.get("since") else ""
    yield clean(f"{_heading(diagnosis)}{since}")
    yield from _wrapped(diagnosis["cause"], "  ", "  ")
    for line in diagnosis["evidence"]:
        yield from _wrapped(line, "    - ", "      ")
    yield from _wrapped(f"What to do: {diagnosis['remedy']}", "  ", "  ")


def _wrapped(text: str, first: str, then: str) -> list[str]:
    width = min(shutil.get_terminal_size((MAX_WIDTH, 0)).columns, MAX_WIDTH)
    return textwrap.wrap(
        clean(text), width, initial_indent=first, subsequent_indent=then, break_long_words=False, break_on_hyphens=False
    )
