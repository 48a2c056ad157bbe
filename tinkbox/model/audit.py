"""Who did what: lines that are added and never changed, each chained by hash to the one before it.

A line is a JSON object in its canonical form: keys in order, no spaces, UTF-8.  `previous` in it is the digest of the line
before, and its own digest is the SHA-256 of that text.  So no line can be changed, taken out or moved without all that follow
being made anew; that those at the end are all there shows the head (`Head`), which is kept apart from them.  `seal` in it is
made of the rest with a key that is not in the store: without that no line can be added (decision 0028).
"""

import hashlib
import hmac
import json
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Self

from tinkbox.model.errors import Invalid
from tinkbox.model.listing import Order
from tinkbox.model.text import counted

# What the line before the first one is said to have for its digest.
NONE_BEFORE: Final = "0" * 64
# Letters of a text in a line, and octets of it in JSON of ASCII alone, where a letter may take twelve.
MOST_LETTERS: Final = 300
MOST_TEXT: Final = 700
# Letters of a name in a line about attempts, and what is shown of one that is longer: letters, and those of `sha256:…`.
MOST_TYPED: Final = 100
SHOWN_OF_TYPED: Final = 40
DIGITS_OF_TYPED: Final = len("sha256:") + 16
# Octets of the names of one thing in one line; more of them are told of the same thing once more.
MOST_NAMES: Final = 1_000
# What a list says beside a line; it is no part of it, so that nothing is worked out of it.
BESIDE: Final = ("digest", "outcome")
# Octets of a line in such JSON: of what one cannot tell there are several.  A syslog message of it fits into 8,192, of which a
# stock rsyslog takes no more, and RFC 5425 §4.3.1 wants no more taken.
MOST_OCTETS: Final = 7_500
# What a line has beside its act: number, time, two digests, and a seal.
_AROUND: Final = 400
# What the appliance did when a line tells that the lines before it were not as they should be.
EXAMINED: Final = "audit examined"
# What it did when a line tells that others are lost.
LOST: Final = "audit lost lines"
# What is wrong with a line that has not the seal which it should have.
# What a list says in the place of a row that is no line, or another one than its digest says.
DAMAGED: Final = "this is no line of the audit: another program changed it. `tinkbox audit verify` says more"
# What stands for the digest of a row that has none.
NO_DIGEST: Final = "none"
FOREIGN: Final = "was written by another program, or with another audit.key: its seal is wrong"
FIELDS: Final = ("number", "who", "object")
# How somebody showed who they are who typed a command on the data folder of a stopped appliance: as a user of its host.
COMMAND: Final = "command"
SEAL: Final = "seal"
Seal = Callable[[str], str]
"""Gives what stands for a text, in hexadecimal digits, and what only one who has the key can make of it."""


class Kind(StrEnum):
    """What a line tells.

    ASKED: somebody is about to change or read something; it stands before that is done.  DONE: what became of it, `times` of the
    same.  REFUSED: attempts that came to nothing, `times` of them.  OWN: what the appliance does by its configuration, or for a rollout.  CUT: all lines up to
    `through` are deleted for their age, of which the last had the digest `through_digest`.  DAMAGED: nothing, for another program
    changed it; no line says that of itself.
    """

    ASKED = "asked"
    DONE = "done"
    REFUSED = "refused"
    OWN = "own"
    CUT = "cut"
    DAMAGED = "damaged"


@dataclass(frozen=True, slots=True)
class Did:
    """What was done to one thing, in the words of the log: `hardware edited`, and an id.

    `names` are all that it was called then, and what belongs to it: a machine's MACs, a workflow's machines.
    """

    what: str
    which: str
    names: Sequence[str] = ()

    def document(self) -> dict[str, Any]:
        """Its fields in JSON, without names that there are none of."""
        told: dict[str, Any] = {"what": _bounded(self.what), "which": _bounded(self.which)}
        return told | _names(self.names)


@dataclass(frozen=True, slots=True)
class Changed:
    """A document before and after it was changed, as `digest_of` has it; empty: there was none, or there is none any more."""

    kind: str
    key: str
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """What one line is to tell.

    `who` is a name, empty: not known; `how` tells how they showed it (`model.access.Means`), empty: not at all.  `source` is
    the address that they asked from, empty: this host.  `what` is a request, such as `DELETE /v1/hardware/{key}`, or words, and
    `object` what it was about, as it was named there; `names` are all that this was called then, as `Did` has them.  `asked` is the number of the line that this one ends, 0: of none.
    """

    kind: Kind
    who: str = ""
    how: str = ""
    source: str = ""
    what: str = ""
    object: str = ""
    names: Sequence[str] = ()
    asked: int = 0
    status: int = 0
    did: Sequence[Did] = ()
    changed: Sequence[Changed] = ()
    times: int = 1
    why: str = ""
    through: int = 0
    through_digest: str = ""

    def masked(self, mask: Callable[[str], str]) -> "Act":
        """The same with all texts masked, which people may have typed."""

        def names(given: Sequence[str]) -> list[str]:
            return [mask(each) for each in given]

        return replace(
            self,
            who=mask(self.who), source=mask(self.source), what=mask(self.what), object=mask(self.object), why=mask(self.why),
            names=names(self.names),
            did=[Did(mask(each.what), mask(each.which), names(each.names)) for each in self.did],
            changed=[replace(each, key=mask(each.key)) for each in self.changed],
        )  # fmt: skip

    def document(self) -> dict[str, Any]:
        """Its fields in JSON, without those that say nothing."""
        told: dict[str, Any] = {
            "kind": self.kind.value,
            "who": _bounded(self.who),
            "how": self.how,
            "from": _bounded(self.source),
            "what": _bounded(self.what),
            "object": _bounded(self.object),
        }
        beside: dict[str, Any] = {
            "asked": self.asked,
            "status": self.status,
            "did": [each.document() for each in self.did],
            "changed": [
                {"kind": each.kind, "key": _bounded(each.key), "before": each.before, "after": each.after}
                for each in self.changed
            ],
            "times": 0 if self.times == 1 else self.times,
            "why": _bounded(self.why),
            "through": self.through,
            "through_digest": self.through_digest,
        }
        return told | _names(self.names) | {name: value for name, value in beside.items() if value}


@dataclass(frozen=True, slots=True)
class Line:
    """What stands in the place of a line, and its digest in hexadecimal digits; whether another one `ends` it is known in a list alone.

    Another program may have changed either.
    """

    number: int
    text: str
    digest: str
    ends: bool = False

    def document(self) -> dict[str, Any]:
        """As it is shown and exported: its own fields, and `digest`; where it is damaged, that alone."""
        told = self.told()
        if told is not None:
            return {**told, "digest": self.digest}
        return {
            **dict.fromkeys(_TEXTS, ""),
            "number": self.number,
            "kind": Kind.DAMAGED.value,
            "why": DAMAGED,
            "digest": "",
        }

    def told(self) -> Mapping[str, Any] | None:
        """Its fields, None: it is damaged, for it has another digest, or is no line of this number."""
        if line_digest(self.text) != self.digest:
            return None
        told = _fields(self.text)
        return told if told is not None and told["number"] == self.number else None


class Hindrance(StrEnum):
    """What keeps lines from being written: a TRIGGER of another program in the database, or the DISK."""

    TRIGGER = "trigger"
    DISK = "disk"


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingLines:
    """Lines that wait in memory, and are lost when the appliance ends: how many, since when, and what keeps them out."""

    number: int
    since: datetime
    hindrance: Hindrance

    def document(self) -> dict[str, Any]:
        """Its fields in JSON."""
        return {"number": self.number, "since": self.since.isoformat(), "hindrance": self.hindrance.value}

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Self:
        """The inverse of `document`; raises KeyError, TypeError or ValueError."""
        return cls(
            number=int(told["number"]),
            since=datetime.fromisoformat(told["since"]),
            hindrance=Hindrance(told["hindrance"]),
        )


@dataclass(frozen=True, slots=True)
class Head:
    """The last line that stood when this was written, the first one that was sealed, 0: not known, and what was `unwritten` then."""

    number: int = 0
    digest: str = NONE_BEFORE
    sealed_from: int = 0
    unwritten: WaitingLines | None = None


@dataclass(frozen=True, slots=True)
class Seals:
    """How lines are sealed, and the first one that was: those before it are of earlier releases, or of another key."""

    make: Seal
    begin: int = 1

    def holds(self, number: int, told: Mapping[str, Any]) -> bool:
        """Whether the line of this number, with these fields, has the seal that it should have."""
        if number < self.begin:
            return True
        rest = {name: value for name, value in told.items() if name != SEAL}
        # Half of a character is no text that can be sealed, and none that was.
        made = self.make(canonical(rest).encode(errors="replace").decode())
        return hmac.compare_digest(str(told.get(SEAL, "")).encode(errors="replace"), made.encode())


class Standing(StrEnum):
    """What became of what a line asked, as a list says it: another line TOLD it, it is UNDER_WAY, or it is UNKNOWN."""

    TOLD = "told"
    UNDER_WAY = "under way"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unguarded:
    """That parts of the database are missing or not ours: what these are, with their names, and when that was found."""

    parts: Sequence[str]
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """That lines were not as they should be: the number of the line that tells it, when that was found, and what."""

    number: int
    at: datetime
    why: str

    @property
    def is_of_key(self) -> bool:
        """Whether nothing else was found than that the key was missing."""
        return self.why == lost_key(self.number)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Which lines a list has: all conditions hold.  Empty and None: any.

    `object` is part of what a line is about, or of any name of that, `what` of what was done or asked.  A line that only asked is left out where
    another tells what became of it, unless `every` line is wanted.
    """

    who: str = ""
    object: str = ""
    what: str = ""
    since: datetime | None = None
    order: Order = field(default_factory=lambda: Order("number", descending=True))
    limit: int = 0
    every: bool = False


def canonical(document: Mapping[str, Any]) -> str:
    """The one way to write a JSON object that a digest is taken of."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest_of(document: Mapping[str, Any] | str | bytes) -> str:
    """What stands for a document: `sha256:` and the SHA-256 of its canonical JSON, of a text or bytes of these themselves."""
    text = canonical(document) if isinstance(document, Mapping) else document
    octets = text if isinstance(text, bytes) else text.encode(errors="surrogatepass")
    return f"sha256:{hashlib.sha256(octets).hexdigest()}"


def line_of(act: Act, number: int, at: datetime, previous: str, seals: Seals | None = None) -> Line:
    """The line that tells an act, behind one with the digest `previous`; without `seals` it has none."""
    told = {**act.document(), "number": number, "at": at.isoformat(), "previous": previous}
    text = canonical(told if seals is None else told | {SEAL: seals.make(canonical(told))})
    return Line(number, text, line_digest(text))


def missing_lines(first: int, last: int) -> str:
    return f"line {first} is missing" if first == last else f"lines {first} to {last} are missing"


def lost_key(number: int) -> str:
    """What the line of this number tells where the key was gone by which the lines before it were sealed."""
    return f"audit.key was missing, and another one was made: lines before line {number} cannot be examined by their seal any more"


def unwritten_lines(unwritten: WaitingLines) -> str:
    """What to say of lines that wait to be written."""
    what = f"{counted(unwritten.number, 'line')} of what was done or refused since {_second(unwritten.since)}"
    return f"{what} could not be written: {_HINDRANCES[unwritten.hindrance]}"


def unrecorded_lines(unwritten: WaitingLines) -> str:
    """What the line tells that stands for those for which there was no room in memory."""
    why = {Hindrance.TRIGGER: "another program kept them out", Hindrance.DISK: "the disk took no writes"}
    what = "1 line was" if unwritten.number == 1 else f"{unwritten.number} lines were"
    return f"{what} not recorded, for {why[unwritten.hindrance]}"


def lost_lines(unwritten: WaitingLines) -> str:
    """What the line tells that stands for those which waited when the appliance ended."""
    return f"{unwritten_lines(unwritten)}. They were lost when tinkbox stopped"


_HINDRANCES: Final = {
    Hindrance.TRIGGER: "another program put a trigger into the database that keeps lines out",
    Hindrance.DISK: "the disk takes no writes",
}


def _second(at: datetime) -> str:
    return at.isoformat(timespec="seconds")


def unguarded(parts: Sequence[str]) -> str:
    """What to say of parts with these names."""
    return f"parts of the database are missing, or not as tinkbox made them ({', '.join(parts)})"


def wrong_index(found: str) -> str:
    """What to say of an index of the lines of which SQLite `found` this."""
    return (
        f"another program changed an index of the lines ({found}). Nothing is listed or deleted by an index alone. "
        "`sqlite3 tinkbox.sqlite 'REINDEX audit'` in the data folder mends it, while tinkbox is stopped"
    )


def no_such_line(number: int, last: int) -> str:
    """What to say of a line that somebody keeps as a mark, and that is behind the `last` one, 0: there is none."""
    end = f"the last is line {last}" if last else "there are no lines"
    return f"there is no line {number}, {end}: if it was there, lines at the end are gone. `tinkbox audit verify` examines those that are there"


def put_in_before(number: int) -> str:
    return f"line {number} was put in before the first one by another program"


def line_digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def line_from_document(document: Mapping[str, Any]) -> Line:
    """The inverse of `Line.document`, whatever its digest is worth; raises Invalid."""
    fields = {name: value for name, value in document.items() if name not in BESIDE}
    number, digest = fields.get("number"), document.get("digest")
    if not isinstance(number, int) or isinstance(number, bool) or not isinstance(digest, str):
        raise Invalid("this is no line of an audit: it has a number and a digest")
    return Line(number, canonical(fields), digest)


def in_lines(act: Act) -> list[Act]:
    """The same act in as many as it takes that the line of none has more than MOST_OCTETS; each thing is in one of them."""
    alone = replace(act, did=(), changed=())
    act = replace(act, did=[piece for each in act.did for piece in _pieces(each)])
    told = act.document()
    did, changed = told.get("did", ()), told.get("changed", ())
    room = MOST_OCTETS - _AROUND - _octets(alone.document())
    pieces: list[Act] = []
    begin = used = 0
    count = max(len(act.did), len(act.changed))
    for at in range(count):
        size = sum(_octets(each[at]) + len(", ") for each in (did, changed) if at < len(each))
        if used + size > room and at > begin:
            pieces.append(replace(alone, did=act.did[begin:at], changed=act.changed[begin:at]))
            begin, used = at, 0
        used += size
    return [*pieces, replace(alone, did=act.did[begin:], changed=act.changed[begin:])]


def _octets(document: Mapping[str, Any] | str) -> int:
    """How many it has in JSON as others write it: of ASCII alone, with spaces."""
    return len(json.dumps(document))


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What an examination of lines found: how many there were, from `first` to `last`.

    `wrong` is the number of the first line that is not as it was written, or that is missing, 0: none; `problem` says what is
    wrong in a sentence, empty: nothing.  Behind the line `goes_on_after` more can be examined, 0: nothing follows.  `digest` is that of the last line that was examined, empty: of none.
    """

    lines: int
    first: int
    last: int
    wrong: int = 0
    problem: str = ""
    digest: str = ""
    goes_on_after: int = 0


class Chain:
    """Examines lines, which are added in their order, from the first one on, or behind the one numbered `after`.

    Without `seals` it is not examined who wrote a line.
    """

    def __init__(self, after: int = 0, seals: Seals | None = None) -> None:
        self._after = after
        self._seals, self._unsealed = seals, 0
        self._lines = self._first = 0
        self._last = after
        self._digest = NONE_BEFORE
        self._first_previous = ""
        self._digests: dict[int, str] = {}
        self._cuts: list[tuple[int, str]] = []
        self._wrong = self._goes_on_after = 0
        self._problem = ""
        self._is_told = False

    def watch_for(self, number: int) -> None:
        """Remember the digest of the line of this number, for `verdict`; called before lines are added."""
        self._digests[number] = ""

    def add(self, line: Line) -> None:
        """The next line.  After the first one that is wrong, none is examined."""
        if self._problem or (self._after and line.number <= self._after):
            return None
        if line.number < 1:
            return self._refuse(line.number, put_in_before(line.number))
        self._lines += 1
        told = line.told()
        if told is None:
            return self._refuse(line.number, f"line {line.number} is not as it was written")
        is_sealed = self._seals is None or self._seals.holds(line.number, told)
        self._is_told = is_sealed and told.get("what") == EXAMINED
        if not self._first:
            self._first, self._first_previous = line.number, str(told.get("previous"))
        elif line.number != self._last + 1:
            self._is_told = self._is_told and missing_lines(self._last + 1, line.number - 1) in str(told.get("why"))
            return self._refuse_place(line.number)
        elif told.get("previous") != self._digest:
            return self._refuse(
                line.number, f"line {line.number} does not follow line {self._last}: one of them was replaced"
            )
        self._last, self._digest = line.number, line.digest
        if line.number in self._digests:
            self._digests[line.number] = line.digest
        if told.get("kind") == Kind.CUT:
            through = told.get("through")
            if isinstance(through, int):
                self._cuts.append((through, str(told.get("through_digest"))))
                # What is still there of the part that goes may be gone when it is looked for.
                self._digests.setdefault(through, "")
        # What is wrong with this line and the chain says more.
        if not is_sealed:
            self._unsealed, self._goes_on_after = self._unsealed or line.number, line.number
        if self._is_told:
            return self._refuse(line.number, f"line {line.number} tells what the appliance found: {told.get('why')}")
        return None

    def untold(self) -> str:
        """What is wrong with the lines that were added, unless the one where it shows tells it; empty: nothing."""
        self._examine_rest()
        return "" if self._is_told else self._problem

    def verdict(self, head: Head | None = None) -> Verdict:
        """What was found; `head` is the last line as it is known from elsewhere, None: it is known from nowhere."""
        self._examine_rest()
        if not self._problem and head is not None and head.number:
            self._examine_end(head)
        return Verdict(
            lines=self._lines, first=self._first, last=self._last, wrong=self._wrong, problem=self._problem,
            digest=self._digest if self._lines else "", goes_on_after=self._goes_on_after,
        )  # fmt: skip

    def _examine_rest(self) -> None:
        if not self._problem and self._first > self._after + 1:
            self._examine_beginning()
        if not self._problem and self._unsealed:
            self._refuse_seal()

    def _examine_beginning(self) -> None:
        before = self._first - 1
        cut = [digest for through, digest in self._cuts if through == before]
        if cut and self._first_previous not in cut:
            self._refuse(
                self._first, f"line {self._first} does not follow line {before}, which was deleted for its age"
            )
        elif not any(through >= before for through, _ in self._cuts):
            self._refuse(
                self._after + 1,
                f"lines {self._after + 1} to {before} are missing, and no line says that they were deleted for their age",
                before,
            )

    def _examine_end(self, head: Head) -> None:
        if head.number > self._last:
            missing = self._last + 1
            self._refuse(missing, f"lines {missing} to {head.number} are missing: the head names line {head.number}", 0)
        elif 0 < self._first <= head.number and self._digests.get(head.number) != head.digest:
            self._refuse(head.number, f"line {head.number} is another one than the head names")

    def _refuse_place(self, number: int) -> None:
        expected = self._last + 1
        if number > expected:
            missing = f"line {expected} is" if number == expected + 1 else f"lines {expected} to {number - 1} are"
            self._refuse(
                expected, f"{missing} missing or in another place: line {number} follows line {self._last}", number - 1
            )
        else:
            self._refuse(number, f"line {number} follows line {self._last}: it is in another place, or there twice")

    def _refuse(self, number: int, problem: str, goes_on_after: int | None = None) -> None:
        self._wrong, self._problem = number, problem
        self._goes_on_after = number if goes_on_after is None else goes_on_after
        if 0 < self._unsealed < number:  # the first line that is wrong is the one to look at
            self._refuse_seal()

    def _refuse_seal(self) -> None:
        self._wrong, self._problem = self._unsealed, f"line {self._unsealed} {FOREIGN}"


# Fields that every line has, and those that are whole numbers.
_TEXTS: Final = ("at", "kind", "who", "how", "from", "what", "object", "previous")
_NUMBERS: Final = ("number", "asked", "status", "times", "through")
# Numbers are below that for which SQLite has room; a line has objects in a list, and names in these.
_MOST_NUMBER: Final = 2**63
_DEEPEST: Final = 4


def _fields(text: str) -> Mapping[str, Any] | None:
    """The fields of a line, None: it is none, or has what no line has."""
    try:
        found = json.loads(text)
        return found if isinstance(found, dict) and _is_line(found) else None
    except (ValueError, RecursionError):
        return None


def _is_line(told: Mapping[str, Any]) -> bool:
    """Raises ValueError where its time is none."""
    return (
        _has_texts(told, _TEXTS)
        and all(_is_number(told.get(name, 0)) for name in _NUMBERS)
        and "number" in told
        and datetime.fromisoformat(told["at"]).tzinfo is not None
        and isinstance(told.get("why", ""), str)
        and isinstance(told.get("did", []), list)
        and all(isinstance(did, dict) and _has_texts(did, ("what", "which")) for did in told.get("did", ()))
        and _is_shallow(told, _DEEPEST)
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -_MOST_NUMBER <= value < _MOST_NUMBER


def _has_texts(document: Mapping[str, Any], names: Sequence[str]) -> bool:
    return all(isinstance(document.get(name), str) for name in names)


def _is_shallow(value: Mapping[str, Any] | Sequence[Any], levels: int) -> bool:
    within = value.values() if isinstance(value, dict) else value
    return levels > 0 and all(_is_shallow(each, levels - 1) for each in within if isinstance(each, (dict, list)))


def _pieces(did: Did) -> list[Did]:
    return [Did(did.what, did.which, each) for each in _fitting(did.names)]


def _names(names: Sequence[str]) -> dict[str, list[str]]:
    told = _fitting(names)[0]
    return {"names": told} if told else {}


def shortened(text: str) -> str:
    """A name that somebody typed, of which there may be no such thing: its beginning, its length and its digest where it is long."""
    if len(text) <= MOST_TYPED:
        return text
    return f"{text[:SHOWN_OF_TYPED]}… ({len(text)} letters, {digest_of(text)[:DIGITS_OF_TYPED]})"


def fits(names: Sequence[str]) -> bool:
    """Whether one line has room for all names of a thing."""
    return len(_fitting(names)) == 1


def _fitting(names: Sequence[str]) -> list[list[str]]:
    """Names, each once, in as many lists as it takes that none has more than MOST_NAMES octets; at least one list."""
    pieces, used = [list[str]()], 0
    for each in dict.fromkeys(_bounded(each) for each in names if each):
        size = _octets(each) + len(", ")
        if used + size > MOST_NAMES:
            pieces.append([])
            used = 0
        pieces[-1].append(each)
        used += size
    return pieces


def _bounded(text: str) -> str:
    # Half of a character is no text that can be stored.
    text = text if text.isascii() else text.encode(errors="replace").decode()
    if len(text) > MOST_LETTERS:
        text = f"{text[: MOST_LETTERS - 1]}…"
    if _octets(text) <= MOST_TEXT:
        return text
    text = text.removesuffix("…")
    fits = bisect_right(range(len(text)), MOST_TEXT - len("\\u2026"), key=lambda letters: _octets(text[:letters]))
    return f"{text[: fits - 1]}…"
