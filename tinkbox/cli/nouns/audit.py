"""`tinkbox audit`: who did what, and whether that is told as it was written."""

import argparse
import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tinkbox.cli.connection import ask, stay_connected
from tinkbox.cli.exit_statuses import DONE, FAILED
from tinkbox.cli.flags import (
    FITTING,
    add_filters,
    add_format,
    add_listing,
    add_times,
    add_verb,
    add_verbs,
    add_watch,
    filled,
)
from tinkbox.cli.interruptions.outages import Outages, tell_put_back
from tinkbox.cli.interruptions.readers import while_read
from tinkbox.cli.output.formats import Column, Document, is_terminal
from tinkbox.cli.output.lists import List
from tinkbox.cli.output.printable import clean, moment
from tinkbox.cli.output.tables import Fit
from tinkbox.cli.terminal.watched_list import show_found
from tinkbox.model.errors import Invalid, Unavailable
from tinkbox.model.text import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tinkbox.client.operator import Found, Operator
    from tinkbox.client.operator.audit import Audit

STORY: Final = """\
Who did what on this appliance: each change, each attempt that was refused, and who read a credential, a recording or secret fields of a machine.

A line is written before something is changed, and another one that tells what became of it. No line is ever changed; each has
the digest of the one before it. It needs the right to audit.
"""
RESULTS: Final = """\
results:
  done         it was done; so is what the appliance does by itself
  404 ...      it was not done: the status of the answer, and why
  refused      somebody without the right, or without a valid token, asked, so many times within a minute; or what came to nothing
               of somebody of whom very much did
  asked        it was asked for, and another line tells what became of it (with --every)
  under way    it is being done, such as a shell that is open
  unknown      it was asked for, and the appliance ended before it could tell what became of it
  damaged      another program changed it, so nothing of it is told but its number; `tinkbox audit verify` says more
"""
FORMATS: Final = ("table", "json")
STANDARD: Final = Path("-")
_FAILING: Final = 400
_FILTERS: Final = ("who", "object", "what")


def result(line: Document) -> str:
    """What became of it, in a word or a few."""
    if line["kind"] == "asked":
        return "asked" if line.get("outcome") == "told" else str(line.get("outcome", "unknown"))
    why = f" {line['why']}" if line.get("why") else ""
    if line["kind"] == "damaged":
        return f"damaged: line {line['number']};{why}"
    times = f", {line['times']} times" if "times" in line else ""
    if line["kind"] == "refused":
        return f"refused {line.get('status', '')}".strip() + f"{times}:{why}"
    status = line.get("status", 0)
    return f"{status}{why}" if status >= _FAILING else f"done{times}{why and ':'}{why}"


def what(line: Document) -> str:
    """What was done, else what was asked."""
    return ", ".join(dict.fromkeys(each["what"] for each in line.get("did", ()))) or str(line["what"])


def thing(line: Document) -> str:
    """What it was done to, else what was asked for."""
    done = list(dict.fromkeys(each["which"] for each in line.get("did", ())))
    more = f" and {len(done) - 1} more" if len(done) > 1 else ""
    return f"{done[0]}{more}" if done else str(line["object"])


COLUMNS: Sequence[Column] = (
    Column("Number", "number", wide=True),
    Column("Time", "at", moment),
    Column("Who", "who", fit=Fit(least=6)),
    Column("How", "how", fit=Fit(rank=2)),
    Column("From", lambda line: line["from"], fit=Fit(rank=1), called="from"),
    Column("What", what, fit=Fit(least=12)),
    Column("Object", thing, fit=Fit(least=8)),
    Column("Result", result, fit=Fit(least=8)),
    Column("Digest", "digest", wide=True),
)
LISTED = List(columns=COLUMNS, key="number", limit=100)


def declare(noun: argparse.ArgumentParser) -> None:
    verbs = add_verbs(noun, STORY, RESULTS)
    verb = add_listing(add_verb(verbs, "list", show_list, "lines, the newest first"), quiet="numbers only")
    verb.add_argument("--who", type=filled, metavar="NAME", help="of this person only")
    verb.add_argument(
        "--object", type=filled, metavar="TEXT", help="about what has this in its id, a name or an address"
    )
    verb.add_argument(
        "--what", type=filled, metavar="TEXT", help="what was done or asked has this in it, such as delete"
    )
    verb.add_argument(
        "--every", action="store_true", help="also the lines before a change, of which another tells the end"
    )
    add_filters(verb, "since", sorts=("number", "who", "object"))
    add_watch(verb)
    verb = add_verb(verbs, "watch", watch, "print every line as it is written")
    verb.add_argument("--after", type=_number, metavar="N", help="first those behind the one with this number")
    add_format(verb, FORMATS, "table: a line for people (default on a terminal); json: a document on each line")
    add_times(verb)
    verb.set_defaults(format=FITTING)
    verb = add_verb(
        verbs,
        "verify",
        verify,
        "examine whether every line is as it was written, and none is missing",
        "Exit status 1 when one is not; a place that lacks lines is told, and changes no status. With a FILE it asks no appliance: of a file nobody can tell whether lines at its end are "
        "missing, so compare the digest of its last line with one that you know. Lines that came again unchanged are counted.",
    )
    verb.add_argument(
        "file",
        nargs="?",
        type=Path,
        metavar="FILE",
        help="what `tinkbox audit export` printed, or a syslog server wrote; - for standard input",
    )
    add_format(verb, FORMATS, "table: sentences for people (default); json: a document")
    verb.add_argument(
        "--after",
        type=_number,
        default=0,
        metavar="N",
        help="only those behind the one with this number, which were examined before",
    )
    verb = add_verb(verbs, "export", export, "print every line as JSON, the oldest first")
    verb.add_argument(
        "--after", type=_number, default=0, metavar="N", help="only those behind the one with this number"
    )


def _number(text: str) -> int:
    """An argument that is the number of a line."""
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no number of a line: write 0 for all, or a `number`")
    return int(text)


class _Filtered:
    """Lines that have what flags of this noun alone ask for."""

    def __init__(self, audit: "Audit", chosen: argparse.Namespace) -> None:
        self._audit = audit
        self._asked = {name: getattr(chosen, name) for name in _FILTERS if getattr(chosen, name) is not None}
        if chosen.every:
            self._asked["every"] = "1"

    async def found(self, asked: "Mapping[str, str]") -> "Found":
        return await self._audit.found({**asked, **self._asked})


def show_list(chosen: argparse.Namespace) -> int:
    return show_found(chosen, lambda operator: _Filtered(operator.audit, chosen), LISTED)


def watch(chosen: argparse.Namespace) -> None:
    """Print each line, without loss or repetition over a restart of the appliance."""
    import asyncio

    people = chosen.format == "table" or (chosen.format == FITTING and is_terminal())
    written = _for_people if people else json.dumps

    async def watched(operator: "Operator") -> None:
        last: int | None = chosen.after
        reached = False
        outages = Outages()
        while True:
            try:
                async for number, line in operator.audit.watched(last):
                    if last is not None and number < last:
                        tell_put_back(last, of="line")
                    last, reached = number, True
                    outages.over()
                    if line is not None:
                        print(written(dict(line)), flush=True)
            except Unavailable as error:
                if not reached:
                    raise
                outages.tell(error)
            await asyncio.sleep(1)

    stay_connected(chosen, lambda operator: while_read(watched(operator)))


def _for_people(line: Document) -> str:
    if line["kind"] == "damaged":
        return clean(result(line))
    told = (moment(line["at"]), line["who"] or "?", line["how"] or "-", line["from"] or "-", what(line), thing(line))
    asks = line["kind"] == "asked"
    return clean("  ".join(str(each) for each in (*told, "asked" if asks else result(line)) if each))


def export(chosen: argparse.Namespace) -> None:
    """Print the lines as they come."""

    async def exported(operator: "Operator") -> None:
        async for chunk in operator.audit.exported(chosen.after):
            sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()

    stay_connected(chosen, lambda operator: while_read(exported(operator)))


def verify(chosen: argparse.Namespace) -> int:
    verdict: dict[str, Any]
    if chosen.file is not None:
        verdict = {**_examined(chosen.file, chosen.after), "deliveries": []}
    else:
        verdict = dict(ask(chosen, lambda operator: operator.audit.verify(chosen.after)))
    if chosen.format == "json":
        print(json.dumps(verdict))
    else:
        for sentence in _sentences(verdict, chosen.after):
            print(clean(sentence))
    if verdict["problem"]:
        number = f" (line {verdict['wrong']})" if verdict["wrong"] else ""
        more = _begins_later(verdict, chosen) if chosen.file is not None else _goes_on(verdict, chosen.after)
        print(clean(f"the audit is not as it was written{number}: {verdict['problem']}{more}"), file=sys.stderr)
    return FAILED if verdict["problem"] else DONE


def _goes_on(verdict: Document, after: int) -> str:
    """What to type for the lines behind those that are wrong; empty: there are none, or `after` is behind the last."""
    known = verdict.get("goes_on_after", 0)  # an earlier appliance does not tell it
    return f". Once you know why, `tinkbox audit verify --after {known}` examines what follows" if known > after else ""


def _begins_later(verdict: Document, chosen: argparse.Namespace) -> str:
    """What to type for a file to which only later lines were exported; empty: it is no such file."""
    before = verdict["first"] - 1
    if verdict["wrong"] != chosen.after + 1 or before <= chosen.after:
        return ""
    return (
        f". If the file was begun with `tinkbox audit export --after {before}`, `tinkbox audit verify --after {before} "
        f"{shlex.quote(str(chosen.file))}` examines all that it has"
    )


def _sentences(verdict: Document, after: int) -> Iterator[str]:
    if not verdict["problem"]:
        if verdict["lines"]:
            yield f"{verdict['lines']} lines, {verdict['first']} to {verdict['last']}: each is as it was written, and none is missing"
            if again := verdict.get("again"):  # a file may have them
                yield f"{again} of them came again, unchanged"
            yield f"the digest of line {verdict['last']} is {verdict['digest']}"
        else:
            yield f"there are no lines behind line {after} yet" if after else "there are no lines yet"
    yield from (_sent(each) for each in verdict["deliveries"])


def _sent(told: Document) -> str:
    """How far one place is known to have the lines."""
    place, waiting, problem = told["place"], counted(told["waiting"], "line"), told["problem"]
    missed = f"; {told['missed']} were deleted for their age before it took them" if told["missed"] else ""
    if not told.get("sent", True) and not problem:  # an appliance of before this release does not tell it
        missed += "; it took none yet since tinkbox started"
    if told["waiting"]:
        return f"{place} lacks {waiting}: {problem}{missed}" if problem else f"{place} lacks {waiting} so far{missed}"
    now = f"; now it takes none ({problem})" if problem else ""
    first = told.get("first", 0)
    if first > 1:
        copy = f"examine a copy there with `tinkbox audit verify --after {first - 1} FILE`"
        return f"every line from {first} on was sent to {place}{now}{missed}: {copy}"
    lines = "every line" if first else "every line since it was configured"
    return f"{lines} was sent to {place}{now}{missed}"


def _examined(path: Path, after: int) -> Document:
    from dataclasses import asdict, replace

    from tinkbox.model.audit import Chain
    from tinkbox.model.audit_copies import CopiedLines

    chain, copied = Chain(after), CopiedLines(after)
    try:
        with sys.stdin.buffer if path == STANDARD else path.open("rb") as file:
            for place, written in enumerate(file, 1):
                try:
                    line = copied.take(written)
                except Invalid as refusal:
                    raise Invalid(f"{path}, line {place}: {refusal}") from None
                if line is not None:
                    chain.add(line)
    except OSError as error:
        raise Unavailable(f"cannot read {path}: {error.strerror}") from None
    verdict = chain.verdict()
    if not verdict.lines and not verdict.problem:
        behind = f" behind line {after}" if after else ""
        verdict = replace(verdict, problem=f"{path} has no line{behind}: a copy has at least one")
    return {**asdict(verdict), "again": copied.again}
