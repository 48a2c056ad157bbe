"""Tinkerbell's Kubernetes documents, as they stand in the files of its users.

One file may have several documents, and lists of them; each command takes those of its own kind.  What is wrong is
refused with every problem at once, and what is not honoured is named.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice, repeat
from typing import Any, Final, TypeVar

from yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode, SequenceNode

from tinkbox.engine.documents.repeated_documents import SUPERSEDED, machine_key, name_field, one_machine, superseded
from tinkbox.model.applying import MAX_DOCUMENT
from tinkbox.model.declaration import KNOWN_ANNOTATIONS, RETIRED_KEY
from tinkbox.model.devices import ANNOTATION, Devices, annotated
from tinkbox.model.documents.hardware import ID_ANNOTATION, given_hardware
from tinkbox.model.documents.json_text import MAX_DEPTH, next_of_stream, read_stream
from tinkbox.model.documents.kubernetes import (
    ANNOTATED_DISABLED,
    CORE_GROUP,
    DEFAULT_NAMESPACE,
    DISABLED_ANNOTATION,
    FORMER_KINDS,
    GROUP,
    GROUPS,
    LAST_APPLIED_ANNOTATION,
    OWN_ANNOTATIONS,
    READ_AS,
    SHAPES,
    TEXT_ALONE,
    UNHEEDED,
    VERSION,
    WITHOUT_ANNOTATIONS,
    api_version,
    kinds_of,
    versions_of,
)
from tinkbox.model.errors import Invalid, Problem, Remarks, TooLarge
from tinkbox.model.hardware import Hardware, addressed_by, called
from tinkbox.model.labels import Labels, parse_labels
from tinkbox.model.names import check_name, check_namespace
from tinkbox.model.spelling import is_misspelt, meant, nearest
from tinkbox.model.text import counted, shortened
from tinkbox.yaml_nodes import NodeReader, Nodes, compose, compose_json, is_null, line_of, path

COMMANDS: Mapping[str, str] = {
    "Hardware": "tinkbox hardware push",
    "Hardware v1alpha2": "tinkbox hardware push",
    "Template": "tinkbox template create",
    "Workflow": "tinkbox workflow create",
}
HARDWARE_2020: Final = "Hardware of 2020"
# The keys of a hardware document of 2020 that mean something here; others are anybody's.
_KEYS_2020: Final = ("id", "network", "metadata", "labels", RETIRED_KEY)
_LONGEST_KEY: Final = 80  # of those that are told
_LONGEST_TITLE: Final = 120  # kind and name of a document
_MOST_COMPARED: Final = 100  # keys of a document of 2020 that are looked at for slips
MAX_NUMBER = 2**32 - 1
# What else YAML 1.1 and sigs.k8s.io/yaml take for true and false where it is not quoted (https://yaml.org/type/bool.html).
_TRUTH: Final = frozenset(("y", "Y", "yes", "Yes", "YES", "on", "On", "ON"))
_FALSEHOOD: Final = frozenset(("n", "N", "no", "No", "NO", "off", "Off", "OFF"))
_TASKS: Final = re.compile(r"^tasks:\s", re.MULTILINE)
_A_TEMPLATE: Final = (
    "a template by itself: `tinkbox template create --file FILE` takes it, or make it the spec.data of a kind: Template"
)
_UNKNOWN: Final = (
    "neither a Kubernetes document, which has apiVersion and kind, nor hardware of 2020, with id and network"
)
# What only hardware in the form before 2020's has; Tinkerbell 0.5 takes it, and reads no port of it.
_BEFORE_2020: Final = "network_ports"
_OLDER_FORM: Final = (
    "hardware in the form before 2020's is left out: network_ports and ip_addresses became network.interfaces. Register the "
    "machine with `tinkbox hardware add`, or write a kind: Hardware"
)
_LISTED: Final = "this is what a list prints, and no document: `tinkbox export` prints documents that can be applied"
_KINDS: Final = tuple(kind for each in GROUPS for kind in kinds_of(each))
_AT_ONCE: Final = "`tinkbox apply -f FILE` takes all kinds of documents at once"
CLAIM: Final = "{claim} is claimed by {other} too: leave it to one of them"
PART: Final = 64 * 1024  # letters of documents that are read at a time
MAX_NESTED: Final = 8  # lists of documents within each other
_LIST: Final = "List"  # how the kinds of lists end
_TEXT: Final = "tag:yaml.org,2002:str"
_TELLING: Final = ("kind", "id")  # one of them every document has
_MARK: Final = "---"  # it begins a document wherever a line begins with it
_DIRECTIVE: Final = "%"  # it stands before the mark of its document
_BREAKS: Final = ("\n", "\r", "\x85", "\u2028", "\u2029")
_BLANK: Final = re.compile(r"[ \t\r\n]*+")  # before JSON
# What stands before an object or a list of JSON in a file of YAML: blank, comments, and marks of documents.
_BEFORE_FLOW: Final = re.compile(r"\ufeff?(?:\s|#[^\n]*+(?:\n|\Z)|---(?=\s))*+")
_LONGEST_WORD: Final = 16  # in JSON beside texts: what a window's end may cut
_JSON: Final = json.JSONDecoder()
# What there is to say of a machine's document, beside what is told of its shape; raises Invalid.
D = TypeVar("D")
RemarksOn = Callable[[Hardware], Remarks]
_HEADS = re.compile(r"^\ufeff?apiVersion:\s", re.MULTILINE), re.compile(r"^\ufeff?kind:\s", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Object:
    """One document: its content as JSON would have it, and the line of each of its fields.

    Without a name it may have `generate_name`, what the name of each that is made of it begins with.  `wrong` are the fields of
    which a problem is told already.  `title` is what tells it from others that begin on its line; empty: none do.
    """

    name: str
    namespace: str
    content: Mapping[str, Any]
    lines: Mapping[str, int] = field(repr=False)
    kind: str = ""
    generate_name: str = ""
    wrong: frozenset[str] = frozenset()
    title: str = ""

    @property
    def spec(self) -> Mapping[str, Any]:
        spec = self.content.get("spec")
        return spec if isinstance(spec, dict) else {}

    @property
    def kubernetes_kind(self) -> str:
        """Its kind as documents have it, without a version or group."""
        return str(self.content.get("kind") or self.kind)

    @property
    def labels(self) -> Labels:
        """Raises Invalid with every problem of theirs."""
        metadata = self.content.get("metadata")
        return parse_labels(metadata.get("labels") if isinstance(metadata, dict) else None, "metadata.labels")

    @property
    def declared_labels(self) -> Labels | None:
        """The same; None when the document says nothing of labels, which then stay as they are."""
        metadata = self.content.get("metadata")
        return self.labels if isinstance(metadata, dict) and "labels" in metadata else None

    @property
    def other_devices(self) -> Devices:
        """What a Workflow has beside its `hardwareMap`; raises Invalid."""
        metadata = self.content.get("metadata")
        annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
        return annotated(annotations.get(ANNOTATION) if isinstance(annotations, dict) else None)

    @property
    def filled_fields(self) -> frozenset[str]:
        """Those whose texts have placeholders."""
        return frozenset(key for key, text in _texts(self.content, "") if "{{" in text)

    def with_places(self, keys: Collection[str]) -> "Object":
        """The same with the lines of no other fields than these."""
        return replace(self, lines={key: line for key, line in self.lines.items() if key in keys})

    def problem(self, key: str, text: str) -> Problem:
        """A problem with a field, or with the nearest that is there."""
        return _entitled(Problem(line=self.lines.get(self.nearest(key)), key=key, text=text), self.title)

    def nearest(self, key: str) -> str:
        """A field, or that around it, of which the line is known; empty: the document."""
        while key and key not in self.lines:
            key = key[: max(key.rfind("."), key.rfind("["), 0)]
        return key

    def problems_in_text(self, found: Sequence[Problem], lines_of: Callable[[], Sequence[str]]) -> list[Problem]:
        """What there is to say of a Template's text, with the line of the file where that is found, of which `lines_of` gives the lines."""
        if not found:
            return []
        lines, written = lines_of(), str(self.spec.get("data") or "").splitlines()
        begin = self.lines.get("spec.data", 0)

        def placed(problem: Problem) -> Problem:
            line = problem.line or 0
            at = begin + line
            if 0 < line <= len(written) and at <= len(lines) and lines[at - 1].strip() == written[line - 1].strip():
                return replace(problem, line=at)
            where = [*([f"line {line} of the text"] if line else []), *([problem.key] if problem.key else [])]
            return self.problem("spec.data", ": ".join([*where, problem.text]))

        return [placed(each) for each in found]


@dataclass(frozen=True, slots=True, kw_only=True)
class Everything:
    """Every document of a file that means something here, what is wrong in it, and what there is to say of the rest.

    A hardware document of 2020 is a HARDWARE_2020 without a name.  There are so many `values` in all.  Where it is not `whole`,
    there are documents among the problems of which it is not known what they declare.  Those that are `left_out` cannot be
    carried out: they are right and wait, or are what documents of others may declare, also such that stand in these.  Those have
    no content here but for the id of a machine; of each the `kubernetes_kind`, namespace and name are known.
    """

    objects: tuple[Object, ...] = ()
    left_out: tuple[Object, ...] = ()
    problems: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()
    whole: bool = True
    values: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Some documents of a text; `lines` are before them."""

    text: str
    lines: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What a command takes from a file, and what there is to say of the rest.

    `left_out` are documents that it could have been meant to take, `waiting` says why they are.
    """

    objects: tuple[Object, ...]
    notes: tuple[Problem, ...]
    left_out: tuple[Object, ...] = ()
    waiting: tuple[Problem, ...] = ()


def has_objects(text: str) -> bool:
    """Whether a text holds Kubernetes documents: they have `apiVersion` and `kind` at the outermost level."""
    at = _behind(_BEFORE_FLOW, text, 0)
    while text[at : at + 1] in ("{", "["):
        try:
            # NaN and the like pass here, as what is wrong with a further document: that is told where it is read.
            document, end = _JSON.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        for each in _with_items(document):
            if isinstance(each, dict) and "apiVersion" in each and "kind" in each:
                return True
        at = _behind(_BEFORE_FLOW, text, end)
    return _json_begin(text) is None and all(head.search(text) for head in _HEADS)


def is_one_object(text: str) -> bool:
    """Whether a text is one object of JSON by itself; also one that cannot be read, which is told where it is read, and none."""
    begin = _json_begin(text, "{")
    if begin is None:
        return not text.strip()
    try:
        _, end = _JSON.raw_decode(text, begin)
    except (ValueError, RecursionError):
        return True
    return not text[end:].strip()


def take(text: str, kind: str, *, strict: bool = False, may_wait: bool = False) -> Taken:
    """The documents of one kind in a file; raises Invalid with every problem of theirs, `strict` also for keys that are not known.

    That nothing is there but what is left out is a problem too, unless these `may_wait`.
    """
    taken, problems = _read(text, kind, strict=strict)
    if not taken.objects and not may_wait:
        problems += taken.waiting
    _refuse(kind, problems)
    return taken


def take_hardware(
    text: str, remarks_on: RemarksOn = lambda hardware: hardware.remarks, *, strict: bool = False
) -> tuple[list[Hardware], tuple[Problem, ...]]:
    """The machines in a file, in the format of 2020 or of Kubernetes, and what there is to say, also of each (`remarks_on`).

    Of two documents of one machine the last counts, unless they call it by different names or namespaces.  Raises Invalid with
    every problem of theirs, `strict` also with what would be ignored.
    """
    taken, problems = _read(text, "Hardware", strict=strict)
    read: list[tuple[Hardware, Object]] = []
    notes = list(taken.notes)
    for each in taken.objects:
        try:
            read.append((given_hardware(each.content), each))
            told = remarks_on(read[-1][0])
            ignored = [each.problem(found.key, found.text) for found in told.ignored]
            (problems if strict else notes).extend(ignored)
            notes += [each.problem(found.key, found.text) for found in told.notes]
        except Invalid as error:
            listed = error.problems or [Problem(text=str(error))]
            problems += [each.problem(found.key, found.text) for found in listed if each.content]
    repeated = superseded([(machine_key(each[0]), each) for each in read])
    for (machine, document), (_, later) in repeated:
        text = SUPERSEDED.format(what=f"hardware {called(machine)}", place=f"line {later.lines['']}")
        (problems if strict else notes).append(document.problem(name_field(machine), text))
    left_out = {id(document) for (_, document), _ in repeated}
    read = [each for each in read if id(each[1]) not in left_out]
    first: dict[str, tuple[Hardware, Object]] = {}
    for machine, document in read:
        other, before = first.setdefault(machine.id, (machine, document))
        if before is not document:
            text = one_machine(other, machine, f"line {before.lines['']}")
            problems.append(document.problem(name_field(machine), text))
    for (_, document), claim, (other, before) in claimed_twice((each[0], each) for each in read):
        where = f"hardware {called(other)} at line {before.lines['']}"
        problems.append(document.problem("", CLAIM.format(claim=claim, other=where)))
    _refuse("Hardware", problems)
    return [machine for machine, _ in read], tuple(notes)


def claimed_twice(machines: Iterable[tuple[Hardware, D]]) -> Iterator[tuple[D, str, D]]:
    """Of machines with their documents: those that want what an earlier one is `addressed_by`, that, and the earlier one's."""
    first: dict[str, tuple[Hardware, D]] = {}
    for hardware, document in machines:
        for claim in addressed_by(hardware):
            before, its_document = first.setdefault(claim, (hardware, document))
            if before.id != hardware.id:
                yield document, claim, its_document


def slips_of_2020(document: Mapping[str, Any]) -> list[Problem]:
    """The keys of a hardware document of 2020 that are nearly one of ours that it lacks: what they say goes unread."""
    lacking = [each for each in _KEYS_2020 if each not in document]
    others = islice((each for each in document if each not in _KEYS_2020), _MOST_COMPARED)
    near = {each: nearest(each, lacking) for each in others}
    return [Problem(key=each, text=f"unknown key {each}; did you mean {one}?") for each, one in near.items() if one]


def with_lines(text: str, notes: Sequence[Problem]) -> list[Problem]:
    """The same notes about a text that is one document of JSON, with the lines of what they are about."""
    try:
        (node,) = compose_json(text)
    except (Invalid, TooLarge, ValueError):  # with a byte order mark
        return list(notes)
    document = Object(name="", namespace="", content={}, lines=dict(_places(node)))
    return [document.problem(each.key, each.text) for each in notes]


def parts_of(text: str) -> Iterator[Part]:
    """The documents of a text in their order, some at a time: the memory that reading takes does not grow with the text."""
    if len(text) <= PART or text.startswith(_DIRECTIVE) or f"\n{_DIRECTIVE}" in text:
        yield Part(text=text)
        return
    if (json_begin := _json_begin(text)) is not None:
        yield from _json_parts(text, json_begin)
        return
    begin, lines, last = 0, 0, 0
    for mark in chain(_marks(text), (len(text),)):
        if mark - begin > PART and last > begin:
            yield Part(text=text[begin:last], lines=lines)
            # No regular expression: that takes a tenth of a second of everybody for some megabytes.
            lines += sum(text.count(each, begin, last) for each in _BREAKS) - text.count("\r\n", begin, last)
            begin = last
        last = mark
    yield Part(text=text[begin:], lines=lines)


def _json_begin(text: str, letters: str = "{[") -> int | None:
    """Where a text begins with one of these letters, behind what is blank; None: it is YAML."""
    begin = _behind(_BLANK, text, 0)
    return begin if text[begin : begin + 1] in tuple(letters) else None


def _behind(blank: re.Pattern[str], text: str, at: int) -> int:
    """Where what is `blank` from there on ends."""
    found = blank.match(text, at)
    return found.end() if found is not None else at


def _json_parts(text: str, begin: int) -> Iterator[Part]:
    """The documents of a stream of JSON, some at a time; behind one that is wrong, or too long, nothing is read."""
    lines, last = text.count("\n", 0, begin), begin
    for end in _json_ends(text, begin):
        if end - begin > PART and last > begin:
            yield Part(text=text[begin:last], lines=lines)
            lines += text.count("\n", begin, last)
            begin = last
        last = end
    yield Part(text=text[begin:last], lines=lines)


def _json_ends(text: str, begin: int) -> Iterator[int]:
    """Where the documents of a stream of JSON end; one that is wrong ends behind what is wrong, one that is too long with all.

    They are looked for in a window that is larger than a document may be, so that a long text is not read at once.
    """
    offset, window = begin, ""
    while begin < len(text):
        is_first = begin == offset
        if is_first:
            window = text[offset : offset + MAX_DOCUMENT + _LONGEST_WORD]
        is_last = offset + len(window) == len(text)
        try:
            _, end = next_of_stream(window, begin - offset)
            is_wrong, is_cut = False, not is_last and end == len(window)
        except json.JSONDecodeError as error:
            end, is_wrong = error.pos + _LONGEST_WORD, True
            is_cut = not is_last and (end >= len(window) or error.msg.startswith("Unterminated"))
        except RecursionError:
            end, is_wrong, is_cut = len(window), True, False
        if is_cut and not is_first:
            offset = begin
            continue
        yield len(text) if is_cut else min(offset + end, len(text))
        if is_cut or is_wrong:
            return
        begin = offset + end


def _marks(text: str) -> Iterator[int]:
    """Where documents begin with a mark."""
    if text.startswith(_MARK) and text[3:4].strip() == "":
        yield 0
    at = text.find(f"\n{_MARK}")
    while at >= 0:
        if text[at + 4 : at + 5].strip() == "":
            yield at + 1
        at = text.find(f"\n{_MARK}", at + 1)


def read_part(part: Part, *, strict: bool = False) -> Everything:
    """All documents of a part, as `read_all`, with the lines of the whole text."""
    found = read_all(part.text, strict=strict)
    if not part.lines:
        return found
    return replace(
        found,
        objects=tuple(_moved_object(each, part.lines) for each in found.objects),
        left_out=tuple(_moved_object(each, part.lines) for each in found.left_out),
        problems=tuple(_moved(each, part.lines) for each in found.problems),
        notes=tuple(_moved(each, part.lines) for each in found.notes),
    )


def _moved_object(each: Object, lines: int) -> Object:
    return replace(each, lines={key: line + lines for key, line in each.lines.items()})


def _moved(problem: Problem, lines: int) -> Problem:
    return problem if problem.line is None else replace(problem, line=problem.line + lines)


def read_all(text: str, *, strict: bool = False) -> Everything:
    """All documents of a file, of any kind; what is wrong is among its problems, `strict` also keys that are not known."""
    found = _Found()
    if (
        len(text) <= MAX_DOCUMENT and _TASKS.search(text) and not any(head.search(text) for head in _HEADS)
    ):  # its placeholders may be no YAML
        return Everything(problems=(Problem(text=_A_TEMPLATE),), whole=False)
    whole, values = True, 0
    try:
        composed, plain_ones = _nodes_of(text)
        values = composed.values
        listed = list(_documents(composed, plain_ones))
        beginning = Counter(line_of(node) for node, _ in listed)
        for node, plain in listed:
            before = found.sizes()
            whole &= _take_any(node, plain, found, strict=strict)
            if beginning[line_of(node)] > 1:
                found.entitle(before, _title(node))
    except (Invalid, TooLarge) as refusal:
        problems = refusal.problems if isinstance(refusal, Invalid) else ()
        found.problems += problems or [Problem(text=str(refusal))]
        whole = False
    return Everything(
        objects=tuple(found.objects),
        left_out=tuple(found.left_out),
        problems=tuple(found.problems),
        notes=tuple(found.notes),
        whole=whole,
        values=values,
    )


def _nodes_of(text: str) -> tuple[Nodes, Iterable[Any]]:
    """What stands in a text; and of each of its documents what JSON has there, None in YAML."""
    if len(text) > MAX_DOCUMENT:
        raise TooLarge(
            f"more than {MAX_DOCUMENT // 1024} KiB in one document, or in one list of JSON: make several of it"
        )
    if _json_begin(text) is None:
        return compose(text, as_go=True), repeat(None)
    try:
        documents = read_stream(text)
    except ValueError as error:
        raise Invalid("this is not valid JSON", [_json_problem(str(error))]) from None
    return compose_json(text), documents


def _with_items(document: Any, depth: int = 0) -> Iterator[Any]:
    """A document of JSON, and where it is a list of documents, as `_documents` has them, also these."""
    yield document
    if isinstance(document, dict) and str(document.get("kind", "")).endswith(_LIST):
        document = document.get("items")
    if isinstance(document, list) and depth <= MAX_NESTED:
        for each in document:
            yield from _with_items(each, depth + 1)


def _json_problem(told: str) -> Problem:
    where = re.match(r"line (\d{1,9}), ", told)
    if where is None:
        return Problem(text=f"invalid json: {told}")
    return Problem(line=int(where[1]), text=f"invalid json: {told[where.end() :]}")


@dataclass(slots=True)
class _Found:
    """What was read so far; `waiting` says why documents are left out that a command could have been meant to take."""

    objects: list[Object] = field(default_factory=list)
    left_out: list[Object] = field(default_factory=list)
    waiting: list[Problem] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    notes: list[Problem] = field(default_factory=list)

    def sizes(self) -> tuple[int, ...]:
        """How much there is of each list."""
        objects, told = (self.objects, self.left_out), (self.waiting, self.problems, self.notes)
        return (*map(len, objects), *map(len, told))

    def entitle(self, before: Sequence[int], title: str) -> None:
        """Have all that came since there were so many say which document it is of: others begin on its line."""
        for objects, begin in zip((self.objects, self.left_out), before[:2], strict=True):
            objects[begin:] = [replace(each, title=title) for each in objects[begin:]]
        for told, begin in zip((self.waiting, self.problems, self.notes), before[2:], strict=True):
            told[begin:] = [_entitled(each, title) for each in told[begin:]]

    def take(self, node: Node, head: Mapping[str, str], *, strict: bool) -> None:
        """Take a document of a kind that has a shape."""
        reader = _ObjectReader(_shape_of(head))
        read = reader.object(node, head)
        self.problems += reader.problems + (reader.ignored if strict else [])
        self.notes += reader.notes + ([] if strict else reader.ignored)
        if reader.waiting:
            self.left_out.append(read)
            self.waiting += reader.waiting
            what = f"{head['kind']} {read.name or read.generate_name}"
            self.notes += [replace(each, text=f"{what} is left out: {each.text}") for each in reader.waiting]
        else:
            self.objects.append(read)

    def take_foreign(self, node: Node, head: Mapping[str, str], told: str, *, strict: bool) -> None:
        """Leave out a document that has no shape, which is refused where it may be meant as one of ours and its reader is `strict`."""
        doubtful = _doubtful(head) if strict else ""
        (self.problems if doubtful else self.notes).append(Problem(line=line_of(node), key=doubtful, text=told))
        self.left_out += chain.from_iterable(map(_meant_by, (node, *_inside(node))))


def _take_any(node: Node, plain: Any, found: _Found, *, strict: bool) -> bool:
    """Take a document; returns whether it is known what it is."""
    head, entries = _head(node), _entries(node)
    if "kind" not in head and "apiVersion" not in head:
        return _take_headless(node, entries, plain, found, strict=strict)
    if _shape_of(head):
        found.take(node, head, strict=strict)
    elif told := _foreign(head):
        found.take_foreign(node, head, told, strict=strict)
    else:
        found.problems.append(_unknown(node, head))
        return False
    return True


def _take_headless(node: Node, entries: Mapping[str, Node], plain: Any, found: _Found, *, strict: bool) -> bool:
    """Take a document that does not say what it is; returns whether it is known."""
    if {"id", "network"} <= set(entries):
        reader = NodeReader()
        content = plain if plain is not None else reader.plain(node, "")
        found.problems += reader.problems
        of_2020 = Object(name="", namespace="", content=content, lines=dict(_places(node)), kind=HARDWARE_2020)
        found.objects.append(of_2020)
        slips = [of_2020.problem(each.key, each.text) for each in slips_of_2020(content)]
        (found.problems if strict else found.notes).extend(slips)
    elif {"id", _BEFORE_2020} <= set(entries):
        found.notes.append(Problem(line=line_of(node), text=_OLDER_FORM))
        found.left_out += _meant_by(node)
    else:
        text = _LISTED if {"id", "name"} <= set(entries) else _UNKNOWN
        found.problems.append(Problem(line=line_of(node), text=text))
        return False
    return True


def _unknown(node: Node, head: Mapping[str, str]) -> Problem:
    """That it is not known what a document is, which may be meant as one of ours."""
    what = f"kind: {head.get('kind', '(none)')} of {head.get('apiVersion', 'no apiVersion')}"
    return Problem(line=line_of(node), text=f"{what} is unknown here; {_known(head)}")


def _foreign(head: Mapping[str, str]) -> str:
    """Why a document that has no shape is left out: it is of others, or of another Tinkerbell; empty: it is neither.

    A kind that is misspelt is neither: what it was meant to declare would be missing.
    """
    if "apiVersion" not in head or "kind" not in head:
        return ""
    what = " ".join(head[name] for name in ("kind", "name") if name in head)
    group, kind = head["group"], head["kind"]
    if former := FORMER_KINDS.get((group, kind)):
        return f"{what} is left out: {group} calls this kind {former} since 2022, and has other fields in it"
    if group in GROUPS and any(is_misspelt(kind, each) for each in kinds_of(group)):
        return ""
    if group in GROUPS:
        return f"{what} of {head['apiVersion']} is left out, for this kind is unknown here; {_known(head)}"
    near = _nearest_group(head)
    slip = f"; did you mean {near}?" if near else ""
    return f"{what} of {head['apiVersion']} is not Tinkerbell's, and is left out{slip}"


def _doubtful(head: Mapping[str, str]) -> str:
    """The key by which a document that has no shape may be meant as one of ours after all; empty: none."""
    if head["group"] in GROUPS:
        return "" if (head["group"], head["kind"]) in FORMER_KINDS else "kind"
    return "apiVersion" if _nearest_group(head) else ""


def _nearest_group(head: Mapping[str, str]) -> str:
    """The group that a document of no group of ours may be of: one with its kind, and nearly its name; empty: none is."""
    if head["group"] in GROUPS:
        return ""
    return nearest(head["group"], [each for each in GROUPS if head["kind"] in kinds_of(each)])


def _known(head: Mapping[str, str]) -> str:
    """What there is where a document is none: kinds of its group."""
    group = head["group"]
    if "apiVersion" not in head:
        kind = head["kind"]
        such = [
            api_version(each, versions_of(each, kind)[0]) for each in (*GROUPS, CORE_GROUP) if kind in kinds_of(each)
        ]
        return f"it needs an apiVersion, such as {' or '.join(such) or f'{GROUP}/{VERSION}'}"
    return meant(head.get("kind", ""), kinds_of(group)) if group in GROUPS else "it needs a kind"


def _inside(node: Node) -> Iterator[Node]:
    """All that stands anywhere in a document and may be a document itself."""
    seen, waiting = {id(node)}, [node]
    while waiting:
        above = waiting.pop()
        below = above.value if isinstance(above, SequenceNode) else [value for _, value in above.value]
        for each in below:
            if isinstance(each, CollectionNode) and id(each) not in seen:
                seen.add(id(each))
                waiting.append(each)
                if isinstance(each, MappingNode) and any(name.value in _TELLING for name, _ in each.value):
                    yield each


def _meant_by(node: Node) -> Iterator[Object]:
    """What a document that is left out, or one that stands in it, may declare: one for each kind that it may be of.

    A kind of Tinkerbell's that is not known here may be the successor of any.
    """
    entries, lines = _entries(node), {"": line_of(node)}
    if "kind" not in entries:
        its_id = entries.get("id")
        if isinstance(its_id, ScalarNode) and {"network", _BEFORE_2020} & set(entries):
            content = {"id": its_id.value}
            yield Object(name="", namespace="", content=content, lines=lines, kind=HARDWARE_2020)
        return
    head, kept = _head(node), _kept_id(node)
    if "kind" not in head or not ("name" in head or kept):
        return
    group, kind = head["group"], head["kind"]
    kinds = [FORMER_KINDS.get((group, kind), kind)]
    if group not in GROUPS:
        kinds += [each for each in _KINDS if is_misspelt(kind, each)]
    elif kinds == [kind] and kind not in kinds_of(group):
        kinds += kinds_of(group)
    for each in dict.fromkeys(kinds):
        yield Object(
            name=head.get("name", ""),
            namespace=head.get("namespace") or DEFAULT_NAMESPACE,
            content={"metadata": {"annotations": kept}} if kept and each == "Hardware" else {},
            lines=lines,
            kind=each,
        )


def _texts(value: Any, key: str) -> Iterator[tuple[str, str]]:
    """The texts of a value, each with its field."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _texts(inner, path(key, str(name)))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _texts(item, f"{key}[{index}]")


def _places(node: Node, key: str = "", depth: int = 0) -> Iterator[tuple[str, int]]:
    """The line of each field of a document."""
    yield key, line_of(node)
    if depth > MAX_DEPTH:
        return
    if isinstance(node, MappingNode):
        for name, value in node.value:
            if isinstance(name, ScalarNode):
                yield from _places(value, path(key, str(name.value)), depth + 1)
    elif isinstance(node, SequenceNode):
        for index, item in enumerate(node.value):
            yield from _places(item, f"{key}[{index}]", depth + 1)


def _read(text: str, kind: str, *, strict: bool = False) -> tuple[Taken, list[Problem]]:
    found = _Found()
    if len(text) > MAX_DOCUMENT:
        raise TooLarge(f"more than {MAX_DOCUMENT // 1024} KiB of documents: split them over several files")
    listed = list(_documents(*_nodes_of(text)))
    is_left = False
    beginning = Counter(line_of(node) for node, _ in listed)
    for node, plain in listed:
        head, entries, before = _head(node), _entries(node), found.sizes()
        if kind == "Hardware" and "kind" not in head and "apiVersion" not in head:
            _take_headless(node, entries, plain, found, strict=strict)
        elif head.get("kind") == kind and head["group"] == GROUP and _shape_of(head) in COMMANDS:
            found.take(node, head, strict=strict)
        elif _shape_of(head) or not {"kind", "apiVersion"} & set(head):
            found.notes.append(_left(node, head))
            is_left |= _command(node, head) in COMMANDS.values()
        elif told := _foreign(head):
            found.take_foreign(node, head, told, strict=strict)
        else:
            found.problems.append(_unknown(node, head))
        if beginning[line_of(node)] > 1:
            found.entitle(before, _title(node))
    if is_left:
        found.notes.append(Problem(text=_AT_ONCE))
    if not found.objects and not found.problems and not found.waiting:
        raise Invalid(f"there is no kind: {kind} in it", found.notes)
    left_out = tuple(each for each in found.left_out if each.kind == kind and each.content)
    taken = Taken(
        objects=tuple(found.objects), notes=tuple(found.notes), left_out=left_out, waiting=tuple(found.waiting)
    )
    return taken, found.problems


def _refuse(kind: str, problems: list[Problem]) -> None:
    if problems:
        ordered = sorted(problems, key=lambda problem: problem.line or 0)
        raise Invalid(f"invalid {kind}: {counted(len(ordered), 'problem')}", ordered)


def _documents(nodes: Iterable[Node], plain_ones: Iterable[Any]) -> Iterator[tuple[Node, Any]]:
    """Every document with what JSON has there, those in lists one by one; empty ones are left out.

    Raises Invalid for lists that nothing here reads (`_items`).
    """
    seen: set[int] = set()
    for node, plain in zip(nodes, plain_ones, strict=False):
        if not is_null(node):
            yield from _each_of(node, plain, seen, 0)


def _each_of(node: Node, plain: Any, seen: set[int], depth: int) -> Iterator[tuple[Node, Any]]:
    """The documents of a list, also of those that stand in it, or a document that is none; `seen` are the lists so far."""
    items = _items(node)
    if items is None:
        yield node, plain
        return
    # Lists that aliases repeat at each depth would be a million documents of one kilobyte.
    if id(node) in seen:
        text = "an alias repeats a list of documents: write them where they belong"
        raise Invalid("a list is given twice", [Problem(line=line_of(node), text=text)])
    if depth == MAX_NESTED:
        text = f"more than {MAX_NESTED} lists of documents within each other: let the documents stand beside each other"
        raise Invalid("too many lists within each other", [Problem(line=line_of(node), text=text)])
    seen.add(id(node))
    inside = plain["items"] if isinstance(plain, dict) else plain
    for item, its_plain in zip(items, repeat(None) if inside is None else inside, strict=False):
        yield from _each_of(_of_list(item, node), its_plain, seen, depth + 1)


def _of_list(item: Node, listed: Node) -> Node:
    """An item of a list, which says what it is where the item does not: so does the answer of Kubernetes' API (`UnstructuredList`)."""
    if not isinstance(item, MappingNode):
        return item
    head, entries = _head(listed), _entries(item)
    kind = head.get("kind", "").removesuffix(_LIST)
    says_nothing = "metadata" in entries and not {"kind", "apiVersion", "id"} & set(entries)
    if not kind or not says_nothing or "apiVersion" not in head:
        return item
    told = {"apiVersion": head["apiVersion"], "kind": kind}
    marks = item.start_mark, item.end_mark
    named = [(ScalarNode(_TEXT, name, *marks), ScalarNode(_TEXT, value, *marks)) for name, value in told.items()]
    return MappingNode(item.tag, [*named, *item.value], *marks, flow_style=item.flow_style)


def _items(node: Node) -> list[Node] | None:
    """What stands in a list of documents; None: it is none.

    Raises Invalid for a list of Kubernetes or of Tinkerbell that holds something else: what it declares would be missing.
    """
    if isinstance(node, SequenceNode):
        return node.value or None
    head, items = _head(node), _entries(node).get("items")
    if items is None or is_null(items) or not head.get("kind", "").endswith(_LIST):
        return None
    if isinstance(items, SequenceNode):
        return list(items.value)
    if head["group"] not in ("", *GROUPS):
        return None
    text = "expected a list of documents"
    raise Invalid("a list without documents", [Problem(line=line_of(items), key="items", text=text)])


def _title(node: Node) -> str:
    """What people call a document: its kind and name, or of hardware of 2020 its id; empty: it has none of these."""
    head, entries = _head(node), _entries(node)
    if "kind" in head:
        return " ".join(head[name] for name in ("kind", "name") if name in head)
    identity = entries.get("id")
    return f"hardware {identity.value}" if isinstance(identity, ScalarNode) else ""


def _entitled(problem: Problem, title: str) -> Problem:
    """The same with the title of its document, unless it begins with that."""
    if not title or problem.text.startswith(title):
        return problem
    return replace(problem, text=f"{shortened(title, _LONGEST_TITLE)}: {problem.text}")


def _entries(node: Node) -> dict[str, Node]:
    if not isinstance(node, MappingNode):
        return {}
    return {str(name.value): value for name, value in node.value if isinstance(name, ScalarNode)}


def _head(node: Node) -> dict[str, str]:
    """What a document says it is: kind, group, version, name, namespace."""
    entries = _entries(node)
    metadata = _entries(entries["metadata"]) if "metadata" in entries else {}
    found = {"kind": entries.get("kind"), "apiVersion": entries.get("apiVersion")}
    found |= {name: metadata.get(name) for name in ("name", "namespace", "generateName")}
    told = {name: node for name, node in found.items() if isinstance(node, ScalarNode) and not is_null(node)}
    head = {
        name: str(node.value) for name, node in told.items() if node.value
    }  # a template of other tools leaves "" behind
    group, _, version = head.get("apiVersion", "").rpartition("/")
    return {**head, "group": group, "version": version}


def _kept_id(node: Node) -> dict[str, str]:
    """The annotation by which a machine that was renamed keeps its id, if a document has it."""
    below = node
    for name in ("metadata", "annotations"):
        if name not in (entries := _entries(below)):
            return {}
        below = entries[name]
    found = _entries(below).get(ID_ANNOTATION)
    return {ID_ANNOTATION: found.value} if isinstance(found, ScalarNode) else {}


def _shape_of(head: Mapping[str, str]) -> str:
    """The name of the shape by which a document is read; of a version that is not known that of the first; empty: there is none."""
    group, kind = head["group"], head.get("kind", "")
    if "apiVersion" not in head:
        return ""
    for version in (head["version"], *versions_of(group, kind)):
        if shape := READ_AS.get((group, version, kind)):
            return shape
    return ""


def _command(node: Node, head: Mapping[str, str]) -> str:
    """The command that takes a document; empty: none does."""
    is_of_2020 = not {"kind", "apiVersion"} & set(head) and {"id", "network"} <= set(_entries(node))
    shape = "Hardware" if is_of_2020 else _shape_of(head)
    return COMMANDS.get(shape, "tinkbox apply" if shape else "")


def _left(node: Node, head: Mapping[str, str]) -> Problem:
    what, command = _title(node) or "what stands here", _command(node, head)
    left = f"{what} is left for `{command}`" if command else f"{what} means nothing here, and is left out"
    return Problem(line=line_of(node), text=left)


class _ObjectReader(NodeReader):
    """Reads one document after its kind's shape."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self._kind = kind
        self._lines: dict[str, int] = {}
        self.notes: list[Problem] = []
        self.waiting: list[Problem] = []  # why it is left out

    def object(self, node: Node, head: Mapping[str, str]) -> Object:
        group, kind = head["group"], head["kind"]
        if (group, head["version"], kind) not in READ_AS:
            known = " or ".join(api_version(group, each) for each in versions_of(group, kind))
            text = f"{head['apiVersion']} of {kind} is not read: write it as {known}"
            self.refuse(_entries(node)["apiVersion"], "apiVersion", text)
            content: dict[str, Any] = {}
            self._lines[""] = line_of(node)
        else:
            content = self._value(node, SHAPES[self._kind], "", "") or {}
        name, namespace = head.get("name", ""), head.get("namespace") or DEFAULT_NAMESPACE
        metadata = _entries(_entries(node).get("metadata", node))
        generated = head.get("generateName", "") if not name and self._kind == "Workflow" else ""
        if generated:
            self._check(metadata["generateName"], "metadata.generateName", lambda: check_name(generated, self._kind))
        elif not name and kind != "Hardware":  # whose own rules ask for it
            self.refuse(metadata.get("name", node), "metadata.name", "a name is required")
        if name and self._kind != "Template":  # which have rules of their own
            self._check(metadata["name"], "metadata.name", lambda: check_name(name, kind))
        if "namespace" in head:
            self._check(metadata["namespace"], "metadata.namespace", lambda: check_namespace(namespace))
        read = Object(
            name=name,
            namespace=namespace,
            content=content,
            lines=self._lines,
            kind=self._kind,
            generate_name=generated,
            wrong=frozenset(each.key for each in self.problems if each.key),
        )
        if self._kind == "Template" and content and not read.spec.get("data"):
            self.waiting.append(read.problem("spec.data", "the text is required"))
        return read

    def flag(self, node: Node, key: str, *, absent: bool = False) -> bool:
        """True or false, also in the words of YAML 1.1: `yes`, `off`."""
        if isinstance(node, ScalarNode) and node.style is None and node.value in _TRUTH | _FALSEHOOD:
            return node.value in _TRUTH
        return super().flag(node, key, absent=absent)

    def unknown(self, node: ScalarNode, key: str, known: Sequence[str]) -> None:
        """Ignore it: the API server of Kubernetes leaves it out with a warning."""
        self.unknown_is_ignored(node, key, known)

    def given_again(self, node: ScalarNode, key: str) -> bool:
        """Take the last, as kubectl does (sigs.k8s.io/yaml)."""
        name = shortened(str(node.value), _LONGEST_KEY)
        self.ignore(node, path(key, name), f"key {name} is given twice: the last one counts")
        return True

    def _check(self, node: Node, key: str, check: Callable[[], None]) -> None:
        try:
            check()
        except Invalid as refusal:
            self.refuse(node, key, str(refusal))

    def _value(self, node: Node, shape: Any, key: str, field: str) -> Any:
        """`key` is where it stands, `field` which of the shape's paths that is."""
        self._lines[key] = line_of(node)
        value = None if is_null(node) else self._shaped(node, shape, key, field)
        unheeded = UNHEEDED[self._kind].get(field)
        if unheeded is not None and value and unheeded.leaves_out:
            self.waiting.append(Problem(line=line_of(node), key=key, text=unheeded.text))
        elif unheeded is not None and value:
            self.notes.append(Problem(line=line_of(node), key=key, text=f"not honoured: {unheeded.text}"))
        return value

    def _shaped(self, node: Node, shape: Any, key: str, field: str) -> Any:
        match shape:
            case None:
                return self.plain(node, key)
            case list():
                return list(self.items(node, key, lambda item, at: self._value(item, shape[0], at, f"{field}[]")))
            case tuple():
                found = {
                    name: self.plain(value, path(key, name)) for name, value in self.fields(node, key, shape).items()
                }
                annotations = _entries(node).get("annotations")
                self._refuse_no_texts(annotations or node, found.get("annotations"))
                self._look_at_annotations(annotations)
                return found
            case dict():
                return self._mapping(node, shape, key, field)
            case bool():
                return self.flag(node, key)
            case int():
                return self.number(node, key, "", MAX_NUMBER)
            case _:
                if shape == TEXT_ALONE and self._is_no_text(node):
                    # It may be a secret, so it is not told.
                    self.refuse(
                        node, key, "expected text, and without quotes this is a number, true or false: put it in quotes"
                    )
                return self.scalar(node, key)

    def _is_no_text(self, node: Node) -> bool:
        if not isinstance(node, ScalarNode) or node.tag.endswith(":binary"):
            return False
        is_plain = node.style is None and node.value in _TRUTH | _FALSEHOOD
        return is_plain or not isinstance(NodeReader().plain(node, ""), str | None)

    def _refuse_no_texts(self, node: Node, annotations: Any) -> None:
        """Refuse annotations that are no texts, as labels are, and as the API server of Kubernetes does."""
        if annotations is None:
            return
        if not isinstance(annotations, dict):
            self.refuse(node, "metadata.annotations", "expected keys with values")
            return
        places = _entries(node)
        for name, value in annotations.items():
            if not isinstance(value, str):
                told = f"the value of {shortened(str(name), _LONGEST_KEY)} is no text: put it in quotes"
                self.refuse(places.get(str(name), node), "metadata.annotations", told)

    def _look_at_annotations(self, node: Node | None) -> None:
        """Refuse those with our own prefix that nothing here reads; Tinkerbell's own says of a workflow that it waits.

        Of a kind that is stored without annotations, the others are told.
        """
        known = KNOWN_ANNOTATIONS.get(self._kind.partition(" ")[0], ())
        waits = "spec.disabled" in UNHEEDED[self._kind]
        names = [name for name, _ in node.value] if isinstance(node, MappingNode) else []
        others: list[ScalarNode] = []
        for name in (each for each in names if isinstance(each, ScalarNode)):
            if waits and name.value == DISABLED_ANNOTATION:
                text = f"{name.value}: {ANNOTATED_DISABLED}"
                self.waiting.append(Problem(line=line_of(name), key="metadata.annotations", text=text))
            elif not name.value.startswith(OWN_ANNOTATIONS):
                others += [name] if name.value != LAST_APPLIED_ANNOTATION else ()
            elif name.value not in known:
                super().unknown(name, "metadata.annotations", known)
        if others and (what := WITHOUT_ANNOTATIONS.get(self._kind)):
            first, more = shortened(str(others[0].value), _LONGEST_KEY), len(others) - 1
            told = f"annotations {first} and {more} more are" if more else f"annotation {first} is"
            text = f"{told} not kept: {what} is stored without annotations"
            self.notes.append(Problem(line=line_of(others[0]), key="metadata.annotations", text=text))

    def _mapping(self, node: Node, shape: Mapping[str, Any], key: str, field: str) -> dict[str, Any]:
        if "*" in shape and isinstance(node, MappingNode):
            pairs = {name.value: value for name, value in self.pairs(node, key)}
            inside = path(field, "*")
            return {name: self._value(value, shape["*"], path(key, name), inside) for name, value in pairs.items()}
        if "*" in shape:
            self.refuse(node, key, "expected keys with values")
            return {}
        fields = self.fields(node, key, tuple(shape))
        values = {
            name: self._value(value, shape[name], path(key, name), path(field, name)) for name, value in fields.items()
        }
        return {name: value for name, value in values.items() if value is not None}
