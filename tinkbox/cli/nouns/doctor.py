"""`tinkbox doctor`: what is wrong with the appliance, the network, machines and workflows, and what to do."""

import argparse
import json
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from tinkbox.cli.called_as import told
from tinkbox.cli.connection import stay_connected
from tinkbox.cli.flags import add_listing, add_selection, carry_out
from tinkbox.cli.interruptions.outages import Outages
from tinkbox.cli.interruptions.readers import while_read
from tinkbox.cli.output.changes import change_each
from tinkbox.cli.output.formats import Column, Document, for_people, json_of, names_one, short, show, yaml_of
from tinkbox.cli.output.printable import clean, moment, wrapped
from tinkbox.model.errors import TooMany, Unavailable
from tinkbox.model.key_kinds import KeyKind

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator

KEYS: Final = f"{KeyKind.MACHINE}|{KeyKind.WORKFLOW}"
EVERY: Final = 5.0  # seconds between two looks
MAX_WIDTH = 100
# Where many machines suffer from the same, the first few say what it is.
ALIKE = 3
NAMED = 20
UNKNOWN: Final = 2  # the exit status when a key means nothing, as of a line that is mistyped
GRAVITIES: Final = ("fault", "suspect", "harmless")
# Of what many workflows lack in common there is one thing to mend.
LACKING: Final = frozenset({"ImageMissing"})
REST: Final = "everything else"  # what is not examined beside a machine or a workflow
# What the lines for other DHCP servers mend.
OF_OTHER_SERVERS: Final = frozenset({"OtherServer", "NotDirectedHere", "NobodyGivesAddresses", "BootLoop"})
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
    noun.set_defaults(names={}, selects_nothing=UNKNOWN)
    add_selection(noun, KeyKind.MACHINE, all_without=True)
    noun.add_argument(
        "-w",
        "--watch",
        action="store_true",
        help="look again every few seconds, and print what begins and what is over, until Ctrl-C",
    )
    add_listing(noun, quiet="only the MACs of machines and the ids of workflows that something is wrong with")


def examine(chosen: argparse.Namespace) -> int:
    """Print what the doctor says; returns the exit status: 1 when anything is a fault, UNKNOWN when a key could not be examined."""
    if chosen.watch:
        if not for_people(chosen) and (chosen.quiet or chosen.format != "json"):
            chosen.usage_error("--watch prints what people read, or with -o json a document on each line")
        watch(chosen)
        return 0
    one = names_one(chosen) or not chosen.keys
    chosen.keys = chosen.keys or [""]
    at_once = for_people(chosen) and (len(chosen.keys) <= ALIKE or chosen.format == "wide")
    found: list[Document] = []

    def tell(examined: Document) -> None:
        found.append(examined)
        if at_once:
            for line in _told(examined, sys.maxsize if chosen.format == "wide" else ALIKE, chosen.names):
                print(line, flush=True)

    # It takes seconds to listen for other servers, and what is heard counts for all that are examined then.
    listening = iter([True])

    async def ask(operator: "Operator", key: str) -> Document:
        return await operator.doctor(key, listens=next(listening, False))

    status = UNKNOWN * change_each(chosen, ask, tell, only_looks=True)
    if not found:
        return status
    diagnoses = [each for examined in found for each in examined["diagnoses"]]
    if chosen.format in ("json", "yaml") and not chosen.quiet:
        print((json_of if chosen.format == "json" else yaml_of)(found[0] if one else found), end="")
    elif not for_people(chosen):
        keyed = [each for each in diagnoses if _key(each)] if chosen.quiet or chosen.format == "name" else diagnoses
        show(chosen, keyed, COLUMNS, key=_key)
    elif not at_once:
        for line in _told_of_many(found, chosen.names):
            print(line)
    return max(status, int(any(each["gravity"] == "fault" for each in diagnoses)))


def _key(diagnosis: Document) -> str:
    """What commands take for what a diagnosis is about: the machine, else the workflow; empty for the appliance."""
    return str(diagnosis["machine"] or diagnosis.get("workflow", ""))


def _told(found: Document, alike_shown: int, names: Mapping[str, str]) -> Iterator[str]:
    """What is long and can wait comes first: on a console the end is what stays to be seen.

    Of what many machines suffer from, the first `alike_shown` are told in full; `names` are those of machines by their keys.
    """
    has_lines = found["mode"] == "off" and found["servers"]
    shows_lines = has_lines and (
        alike_shown == sys.maxsize or any(each["rule"] in OF_OTHER_SERVERS for each in found["diagnoses"])
    )
    if shows_lines:
        for server in found["servers"]:
            yield clean(f"For {server['server']}, {server['where']}:")
            yield ""
            yield from map(clean, server["lines"])
            yield ""
    yield from _all(found["diagnoses"], alike_shown)
    yield from _bill(found, names)
    if has_lines and not shows_lines:
        yield told("`tinkbox doctor -o wide` prints the lines that the other DHCP server has to be told.")


def _told_of_many(found: Sequence[Document], names: Mapping[str, str]) -> Iterator[str]:
    """Of many machines and workflows that were named: what they have in common once, and in a line which of them are well."""
    yield from _all(sorted((each for one in found for each in one["diagnoses"]), key=_rank), ALIKE)
    well = [each for each in found if not each["diagnoses"]]
    if well:
        keys = [names.get(each["machine"], each["machine"]) or short(each.get("workflow", "")) for each in well]
        of_them = "all of them" if len(well) == len(found) else f"{len(well)} of {len(found)}"
        yield f"Nothing wrong was found with {of_them} ({moment(found[-1]['at'])}):"
        yield from _wrapped(" ".join(keys[:NAMED]) + (" …" if len(keys) > NAMED else ""), "  ", "  ")
    yield from _of_appliance(found[0])
    if unasked := found[0]["unasked"]:
        yield from _wrapped(f"Not examined: other DHCP servers ({unasked}).", "", "  ")


def _all(diagnoses: Sequence[Document], alike_shown: int) -> Iterator[str]:
    """Diagnoses, the gravest first, and together what is alike; of each kind `alike_shown` in full."""
    kinds: dict[str, list[Document]] = {}
    for diagnosis in _merged(diagnoses) if alike_shown < sys.maxsize else diagnoses:
        kinds.setdefault(f"{diagnosis['gravity'].upper()}  {diagnosis['rule']}", []).append(diagnosis)
    for kind, alike in kinds.items():
        for diagnosis in alike[:alike_shown]:
            yield from _diagnosis(diagnosis)
            yield ""
        if more := alike[alike_shown:]:
            yield from _alike(kind, more)
            yield ""


def _merged(diagnoses: Iterable[Document]) -> Iterator[Document]:
    """The same, but what many workflows lack is one diagnosis, of what is lacking."""
    lacking: dict[tuple[str, str, str], list[Document]] = {}
    placed: list[tuple[str, str, str] | Document] = []
    for each in diagnoses:
        if each["rule"] in LACKING and each.get("subject"):
            key = each["gravity"], each["rule"], each["subject"]
            if key not in lacking:
                placed.append(key)
            lacking.setdefault(key, []).append(each)
        else:
            placed.append(each)
    for place in placed:
        if not isinstance(place, tuple):
            yield place
            continue
        first, *others = alike = lacking[place]
        if not others:
            yield first
            continue
        keys = [short(each.get("workflow", "")) for each in alike]
        named = ", ".join(keys[:ALIKE]) + (" …" if len(keys) > ALIKE else "")
        cause = f"{place[2][:1].upper()}{place[2][1:]}: {len(alike)} workflows need it ({named})."
        evidence = first["evidence"][:1]
        yield {**first, "machine": "", "name": "", "workflow": "", "cause": cause, "evidence": evidence}


def _rank(diagnosis: Document) -> int:
    return GRAVITIES.index(diagnosis["gravity"])


def _of_appliance(found: Document) -> Iterator[str]:
    """The faults of the appliance itself beside those of a machine or workflow, of which they may be the cause."""
    for each in found.get("appliance", ()):
        yield from _wrapped(f"The appliance itself: {_heading(each)}: {each['cause']}", "", "  ")
    if found.get("appliance"):
        yield told("  What to do: `tinkbox doctor` says it.")


def _bill(found: Document, names: Mapping[str, str]) -> Iterator[str]:
    """That nothing is wrong, where nothing is, and what that rests on; and what was not looked at."""
    machine, workflow = names.get(found["machine"], found["machine"]), found.get("workflow", "")
    whom = f" with machine {machine}" if machine else f" with workflow {short(workflow)}" if workflow else ""
    left_out = [(each["what"], each["why"]) for each in found.get("unexamined", ())]
    if not found["diagnoses"]:
        itself = " itself" if whom and found.get("appliance") else ""
        yield clean(f"Nothing wrong was found{whom}{itself} ({moment(found['at'])}).")
        if examined := found.get("examined", ()):
            yield from _wrapped(f"Examined: {', '.join(examined)}.", "", "  ")
    elif machine or workflow:  # who reads a fault of one knows that it is about that one
        left_out = [each for each in left_out if each[0] != REST]
    yield from _of_appliance(found)
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
        if sys.stderr.isatty():  # of thousands of machines the first look takes a while
            print("examining …", file=sys.stderr, flush=True)
        while True:
            late = 0
            try:
                looked = [await operator.doctor(key, listens=False) for key in chosen.keys or [""]]
                outages.over()
            except Unavailable as error:
                if before is None and not isinstance(error, TooMany):
                    raise
                late = error.retry_after if isinstance(error, TooMany) else 0
                outages.tell(error)
            else:
                now = {
                    _identity(each): each
                    for found in looked
                    for each in (*found.get("appliance", ()), *found["diagnoses"])
                }
                if people:
                    lines = _changed(before, now, looked, chosen.names)
                else:
                    lines = _changed_as_json(before or {}, now, looked)
                for line in lines:
                    print(line, flush=True)
                before = now
            await asyncio.sleep(max(EVERY, late))

    stay_connected(chosen, lambda operator: while_read(watched(operator)))


def _identity(diagnosis: Document) -> tuple[str, ...]:
    """What tells a diagnosis from others, and stays the same while figures in it change."""
    subject = diagnosis.get("subject") or re.sub(r"\d+", "#", diagnosis["cause"])
    return diagnosis["rule"], diagnosis["machine"], diagnosis.get("workflow", ""), subject


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
        elif (was := before[identity]["gravity"]) != diagnosis["gravity"]:
            yield clean(f"{at} changed, {was} before:")
            yield from _diagnosis(diagnosis)
            yield ""
    for identity, diagnosis in before.items():
        if identity not in now:
            yield from _wrapped(f"{at} over: {_heading(diagnosis)}: {diagnosis['cause']}", "", "  ")
    if before and not now:
        yield clean(f"{at} Nothing wrong is left.")


def _changed_as_json(
    before: Mapping[tuple[str, ...], Document], now: Mapping[tuple[str, ...], Document], looked: Sequence[Document]
) -> Iterator[str]:
    """The same for programs: a document on each line, of what `began`, `changed` its gravity or is `over`.

    Rule, machine, workflow and subject tell one from the others.
    """
    at = looked[0]["at"]
    changes: Iterable[tuple[str, Document]] = (
        *(("began", each) for identity, each in now.items() if identity not in before),
        *(
            ("changed", each)
            for identity, each in now.items()
            if identity in before and before[identity]["gravity"] != each["gravity"]
        ),
        *(("over", each) for identity, each in before.items() if identity not in now),
    )
    for change, each in changes:
        yield json.dumps({"change": change, "at": at, **each})


def _alike(kind: str, diagnoses: Sequence[Document]) -> Iterator[str]:
    """The same of many machines, in few lines."""
    yield clean(f"{kind}, as above, of {len(diagnoses)} more")
    patients = [each.get("name") or each["machine"] or short(each.get("workflow", "")) for each in diagnoses]
    keys = list(dict.fromkeys(each for each in patients if each))
    if keys:
        yield from _wrapped(" ".join(keys[:NAMED]) + (" …" if len(keys) > NAMED else ""), "  ", "  ")
        yield told("  What to do: `tinkbox doctor` with one of these keys says it of that one.")


def _heading(diagnosis: Document) -> str:
    """What a diagnosis is called, and what it is about."""
    workflow = f"workflow {short(diagnosis['workflow'])}" if diagnosis.get("workflow") else ""
    name = diagnosis.get("name", "")
    machine = f"{name} ({diagnosis['machine']})" if name and name != diagnosis["machine"] else diagnosis["machine"]
    parts = (diagnosis["gravity"].upper(), diagnosis["rule"], machine, workflow)
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
    return wrapped(text, width, first, then)
