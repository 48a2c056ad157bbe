"""Use-cases of templates."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeVar

from tinkbox.engine.documents.definitions import refuse_ignored
from tinkbox.engine.lookup import MOST_TOLD, only
from tinkbox.engine.templates.binding import Names
from tinkbox.engine.templates.built_in import BuiltIn, catalogue
from tinkbox.engine.templates.references import referents_in
from tinkbox.engine.templates.rendering import check
from tinkbox.engine.templates.validation import Verdicts, validate
from tinkbox.engine.turns import Rehearsals, Turns, seldom_collected
from tinkbox.engine.wakeups import CHANGES, Wakeups
from tinkbox.model.access import OPERATOR
from tinkbox.model.devices import Devices
from tinkbox.model.documents.hardware import parse_uuid
from tinkbox.model.documents.kept_documents import KeptDocument, KeptKind
from tinkbox.model.documents.kubernetes import DEFAULT_NAMESPACE
from tinkbox.model.documents.rule_sets import template_wanted
from tinkbox.model.errors import Conflict, Invalid, NotFound, Problem, Remarks
from tinkbox.model.hardware import Hardware
from tinkbox.model.keys import beginning, exactly
from tinkbox.model.labels import NO_LABELS, LabelChange, LabelKind, Labels
from tinkbox.model.listing import OfTemplate, WorkflowListing
from tinkbox.model.secret import no_secret
from tinkbox.model.text import counted, quoted
from tinkbox.store.database import Store, Tables
from tinkbox.store.templates import ListedTemplate, Template
from tinkbox.thread_turns import in_thread

T = TypeVar("T")
Placing = Callable[[Sequence[Problem]], Sequence[Problem]]
# None that a command line takes for a flag, or a path for a folder; earlier releases took these, and they may be stored.
_OWN_NAME = re.compile(
    r"""^\ufeff?name:[ \t]+(?P<quote>["']?)(?P<name>[^"'\s#]+)(?P=quote)[ \t]*(?:#.*)?\r?$""", re.MULTILINE
)
_NAME = re.compile(r"(?!-|\.{1,2}\Z)[a-zA-Z0-9_.-]{1,199}\Z")


def as_it_is(told: Sequence[Problem]) -> Sequence[Problem]:
    """The `Placing` of a text that is a file by itself."""
    return told


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTemplate:
    """A template that is to be stored; `namespace` is that of its document, empty: it is made by hand.

    `placed` makes of what is told of the text what is told of the file that it stands in.
    """

    name: str
    data: str
    namespace: str = ""
    labels: Labels = field(default_factory=lambda: NO_LABELS)
    placed: Placing = as_it_is


@dataclass(frozen=True, slots=True)
class StoredTemplate:
    """A template that was to be stored, and whether it is new; one that was there has its own labels.

    Of a text that was given `ignored` is what is not taken as it stands in it (`Definition`), whether or not it is new.  `notes` are
    what else there is to say.
    """

    id: str
    name: str
    labels: Labels
    is_new: bool
    ignored: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class DeletedTemplate:
    """A template that was deleted, and what there is to say of that."""

    id: str
    notes: tuple[Problem, ...] = ()


class Templates:
    """Create, show, change and delete templates.

    Wherever a `key` is asked, it is an id, a name, or a unique beginning of an id.  `who` is the person whose place in the
    queue of renderings it takes; beyond theirs TooMany is raised.
    """

    def __init__(
        self,
        store: Store,
        wakeups: Wakeups,
        clock: Callable[[], datetime],
        new_id: Callable[[], str],
        renderings: Turns,
        rehearsals: Rehearsals,
        names: Names,
    ) -> None:
        self._store = store
        self._wakeups = wakeups
        self._renderings = renderings
        self._clock = clock
        self._new_id = new_id
        self._names = names
        self._rehearsals = rehearsals

    async def create(self, name: str, data: str, who: str = OPERATOR) -> str:
        """Store a checked template; returns its id.

        One of the name with the same text is it.  Raises Invalid with every problem of name and text, Conflict where one of the
        name has another text.
        """
        (stored,) = await self.create_all([NewTemplate(name=name, data=data)], who)
        return stored.id

    async def create_all(
        self,
        given: Sequence[NewTemplate],
        who: str = OPERATOR,
        *,
        strict: bool = False,
    ) -> list[StoredTemplate]:
        """The same with several, all or none; labels count of those that are new.

        `strict` refuses what would be ignored.
        """
        ignored: list[tuple[Problem, ...]] = []
        refused: list[tuple[str, Invalid]] = []
        for title, one in zip(titles([(each.namespace, each.name) for each in given]), given, strict=True):
            try:
                check_template_name(one.name)
                ignored.append(await self._check(one.data, who, one.placed, strict=strict))
            except Invalid as refusal:
                refused.append((title, refusal))
        refuse_each(refused)
        new = [self._new(each.namespace, each.name, each.data) for each in given]

        def use_case(tables: Tables) -> list[StoredTemplate]:
            return [self._put_new(tables, each, one.labels) for each, one in zip(new, given, strict=True)]

        stored = await self._store.write(use_case)
        told = zip(stored, ignored, strict=True)
        return [replace(each, ignored=found) for each, found in told]

    def _new(self, namespace: str, name: str, data: str) -> Template:
        now = self._clock()
        identity = parse_uuid(self._new_id())
        return Template(id=identity, namespace=namespace, name=name, data=data, created_at=now, updated_at=now)

    def _put_new(self, tables: Tables, template: Template, labels: Labels) -> StoredTemplate:
        """Store one, unless it is there with the same text; raises Conflict where another one has the name."""
        sharing = _sharing_name(tables, template)
        for there in sharing:
            if there.data == template.data:
                return StoredTemplate(there.id, there.name, there.labels, is_new=False)
        _refuse_taken(template, sharing)
        tables.templates.put(template)
        tables.labels.replace(LabelKind.TEMPLATE, template.id, labels)
        return StoredTemplate(template.id, template.name, labels, is_new=True)

    def take_in(self, tables: Tables, template_id: str, namespace: str, name: str, data: str) -> Template:
        """Store the checked text of a document, in place of the template of this id; empty: it is new."""
        (stored,) = tables.templates.having(template_id) or [self._new(namespace, name, data)]
        template = self._changed(stored, replace(stored, namespace=namespace, data=data))
        tables.templates.put(template)
        return template

    def _changed(self, old: Template, new: Template) -> Template:
        """The new one as updated now; the same once more is no change."""
        return replace(new, updated_at=self._clock()) if new != old else old

    async def label(self, key: str, change: LabelChange) -> str:
        """Change a stored template's labels; returns its id.  Raises Invalid for too many."""

        def use_case(tables: Tables) -> str:
            template_id = _stored(tables, key).id
            tables.labels.change(LabelKind.TEMPLATE, template_id, change)
            return template_id

        return await self._store.write(use_case)

    async def get(self, key: str) -> Template | BuiltIn:
        """A stored template, else that of the program; raises NotFound, or Conflict when the key fits several."""
        return await self._store.read(lambda tables: find_template(tables, key))

    async def catalogue(self) -> list[tuple[BuiltIn, str]]:
        """The templates of the program, each with the id of the stored one that is used in its place; empty: none."""
        stored = {each.name: each.id for each in await self.all()}
        return [(each, stored.get(name, "")) for name, each in catalogue().items()]

    async def all(self) -> list[ListedTemplate]:
        """Every template as lists have it, oldest first."""
        return await self._store.read(lambda tables: tables.templates.all())

    async def with_workflows(self, key: str, within: Sequence[str] | None = None) -> OfTemplate:
        """Whose workflows a key selects (`find_listed_template`)."""
        return await self._store.read(lambda tables: find_listed_template(tables, key, within))

    async def update(
        self,
        key: str,
        name: str | None = None,
        data: str | None = None,
        who: str = OPERATOR,
        placed: Placing = as_it_is,
        *,
        strict: bool = False,
    ) -> StoredTemplate:
        """Change name, text or both; existing workflows stay as they are.  `strict` refuses what would be ignored.

        `placed` is as in `NewTemplate`.
        Raises Conflict for a new name where a document could not tell it from one of that name.
        """
        if name is not None:
            check_template_name(name)
        ignored = await self._check(data, who, placed, strict=strict) if data is not None else ()

        def use_case(tables: Tables) -> StoredTemplate:
            old = _stored(tables, key)
            wanted = replace(old, name=old.name if name is None else name, data=old.data if data is None else data)
            new = self._changed(old, wanted)
            if new.name != old.name:
                _refuse_taken(new, _sharing_document(tables, new))
            needing = _rule_sets_with(tables, old)
            tables.templates.put(new)
            notes = tuple(_told_of_rule_sets(tables, old, needing))
            return StoredTemplate(new.id, new.name, new.labels, is_new=False, ignored=ignored, notes=notes)

        stored = await self._store.write(use_case)
        self._wakeups.wake(CHANGES)
        return stored

    async def validate(self, text: str, machines: Sequence[Hardware], devices: Devices | None, who: str) -> Verdicts:
        """What `validation.validate` says of a text, in this person's turn, as `Rehearsals` has it; secrets that there are not are notes."""
        with self._renderings.place(who) as turn:
            async with self._rehearsals.turn(who):
                with seldom_collected:
                    verdicts = await validate(text, machines, self._names, devices, turn, referents_in(self._store))
        asked = {secret.name: secret for each in verdicts for secret in each.secrets}
        if asked:
            missing = await self._store.read(lambda tables: tables.secrets.missing(sorted(asked)))
            verdicts.remarks += Remarks(notes=tuple(no_secret(asked[each]) for each in missing))
        return verdicts

    async def read(self, text: str, read: Callable[[str], T], who: str) -> T:
        """What a document says, read in this person's turn: that takes as long as a rendering."""
        with self._renderings.place(who) as turn:
            return await in_thread(turn, read, text)

    async def delete(self, key: str) -> DeletedTemplate:
        """Existing workflows stay as they are.  The rule sets that need it are told; raises NotFound or Conflict."""

        def use_case(tables: Tables) -> DeletedTemplate:
            template = _stored(tables, key)
            needing = _rule_sets_with(tables, template)
            tables.templates.delete(template.id)
            return DeletedTemplate(template.id, tuple(_told_of_rule_sets(tables, template, needing)))

        deleted = await self._store.write(use_case)
        self._wakeups.wake(CHANGES)
        return deleted

    async def _check(self, data: str, who: str, placed: Placing, *, strict: bool) -> tuple[Problem, ...]:
        try:
            with self._renderings.place(who) as turn:
                ignored = await check(data, turn)
            if strict:
                refuse_ignored(ignored)
        except Invalid as refusal:
            raise placed_refusal(refusal, placed) from None
        return tuple(placed(ignored))


def find_template(tables: Tables, key: str, namespace: str | None = None) -> Template | BuiltIn:
    """The one template that `key` means, a stored one before that of the program; raises NotFound or Conflict.

    In a document of a `namespace` it means the one of that namespace, else one of no namespace, else the only one of that name.
    """
    found = exactly(tables.templates, key)
    nearest = found if namespace is None else in_namespace(found, namespace)
    if not nearest and key in catalogue():
        return catalogue()[key]
    return _only(nearest or found or beginning(tables.templates, key), key)


def in_namespace(templates: Sequence[Template], namespace: str) -> list[Template]:
    """Those of templates of one name that a document of this namespace means; empty: there are only others' at best."""
    own = [each for each in templates if each.namespace == namespace]
    return own or [each for each in templates if not each.namespace]


def _only(found: Sequence[Template], key: str) -> Template:
    """As `only`; templates of several namespaces are told with these, where they are few."""
    if 1 < len(found) <= MOST_TOLD and len({each.name for each in found}) == 1:
        told = ", ".join(f"{each.id} ({told_namespace(each.namespace)})" for each in found)
        raise Conflict(f"template {quoted(key)} is ambiguous: it fits {len(found)}, name one by its id: {told}")
    return only(found, "template", key)


def told_namespace(namespace: str) -> str:
    """What people are told of where a template is."""
    return f"namespace {namespace}" if namespace else "no namespace"


def _rule_sets_with(tables: Tables, template: Template) -> list[KeptDocument]:
    """The rule sets that mean a stored template."""
    return [
        each
        for each in tables.kept_documents.all((KeptKind.RULE_SET,))
        if (found := _wanted_by(tables, each)) is not None and found.id == template.id
    ]


def _wanted_by(tables: Tables, document: KeptDocument) -> Template | BuiltIn | None:
    """The template that a rule set means; None: it means none, or one that is not there or not clear."""
    namespace, reference = template_wanted(document)
    try:
        return find_template(tables, reference, namespace) if reference else None
    except (NotFound, Conflict):
        return None


def _told_of_rule_sets(tables: Tables, template: Template, needing: Iterable[KeptDocument]) -> Iterator[Problem]:
    """What there is to say of rule sets that meant a template before it was changed."""
    for each in needing:
        found = _wanted_by(tables, each)
        if found is None:
            _, reference = template_wanted(each)
            yield Problem(
                text=f"rule set {each.name} needs template {reference}, which is gone: machines for which one of its rules holds "
                "wait until it is there"
            )
        elif found.id != template.id:
            where = told_namespace(found.namespace) if isinstance(found, Template) else "the program"
            yield Problem(text=f"rule set {each.name} means template {found.name} of {where} from now on")


def find_listed_template(tables: Tables, key: str, within: Sequence[str] | None = None) -> OfTemplate:
    """Whose workflows and rollouts a key selects: also a template's that is gone, by the name that these show, or by its id.

    With the ids of machines `within` one that is gone is known by workflows that have work for these alone.  Raises NotFound,
    or Conflict when the key fits several.
    """
    kept = tables.listed_templates
    if key in catalogue():  # a template of the program has its name for an id
        return next(iter(kept.named(key)), OfTemplate(called=key))

    def is_known(each: OfTemplate) -> bool:
        if within is None or tables.templates.listed(each.id):
            return True
        return bool(tables.workflows.listed_ids(WorkflowListing(template=each, within=within, limit=1))[0])

    exact = tuple(filter(is_known, exactly(kept, key)))
    begin = (each for each in beginning(kept, key) if each.id not in catalogue() and is_known(each))
    return only(exact or tuple(begin), "template", key)


def _stored(tables: Tables, key: str) -> Template:
    """The one stored template that `key` means; raises NotFound or Conflict."""
    found = exactly(tables.templates, key)
    if not found and key in catalogue():
        raise Conflict(
            f"template {key} is built in and stays as it is: store your own of that name with `tinkbox template create -n "
            f"{key}`, and it is used instead"
        )
    return _only(found or beginning(tables.templates, key), key)


def titles(keys: Sequence[tuple[str, str]]) -> list[str]:
    """What templates of these namespaces and names are called beside each other; one alone needs no title."""
    often = Counter(name for _, name in keys)
    named = [f"{name} of namespace {namespace}" if often[name] > 1 else name for namespace, name in keys]
    return named if len(named) > 1 else [""] * len(named)


def of_template(title: str, problem: Problem) -> Problem:
    """What there is to say of a template's text, with its title where there are several."""
    return Problem(text=f"template {title}, {problem}") if title else problem


def placed_refusal(refusal: Invalid, placed: Placing) -> Invalid:
    """The refusal of a text as that of the file that it stands in."""
    return Invalid(str(refusal), placed(refusal.problems), refusal.more, placed(refusal.ignored))


def refuse_each(refused: Sequence[tuple[str, Invalid]]) -> None:
    """Raise Invalid where templates, of these titles, were refused, with what is wrong with each of them."""
    if not refused:
        return
    if not refused[0][0]:  # there is one alone
        raise refused[0][1]
    problems = [
        of_template(title, each)
        for title, refusal in refused
        for each in refusal.problems or (Problem(text=str(refusal)),)
    ]
    raise Invalid(counted(len(refused), "invalid template"), problems)


def own_name(text: str) -> str:
    """The `name:` of a template in 2020's form, by which `tink` stored it from 2021 on; raises Invalid where none can be one.

    It is looked for as text, for what is to be filled in yet may be no YAML.
    """
    found = _OWN_NAME.search(text)
    if found is None or not _NAME.match(found["name"]):
        raise Invalid("a template needs a name: give it with -n, for its text has none at `name:` that can be one")
    return found["name"]


def check_template_name(name: str) -> None:
    """Raise Invalid for what is no name of a template."""
    if not _NAME.match(name):
        raise Invalid(
            f"invalid template name {name[:80]!r}: letters, digits, dot, dash and underscore, at most 199, no dash at "
            "its beginning, and neither . nor .. alone"
        )


def _sharing_name(tables: Tables, template: Template) -> list[Template]:
    """Those that cannot be beside one of its name: of the same namespace, and where one of both has none, of any."""
    return [
        each
        for each in tables.templates.named(template.name)
        if template.namespace in ("", each.namespace) or not each.namespace
    ]


def _sharing_document(tables: Tables, template: Template) -> list[Template]:
    """Those that a document cannot tell from it: of its name and namespace, of which none is the default one."""
    namespace = template.namespace or DEFAULT_NAMESPACE
    return [
        each for each in tables.templates.named(template.name) if (each.namespace or DEFAULT_NAMESPACE) == namespace
    ]


def _refuse_taken(template: Template, sharing: Sequence[Template]) -> None:
    """Raise Conflict where there are others beside which it cannot be."""
    for each in sharing:
        raise Conflict(
            f"there is a template named {template.name} already, {each.id} ({told_namespace(each.namespace)}): `tinkbox "
            f"template update {each.id} --file FILE` changes it, or choose another name"
        )
