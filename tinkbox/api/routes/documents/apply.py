"""`/v1/apply` and `/v1/export`: documents of all kinds, applied and written back."""

import asyncio
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final, NotRequired, Required, TypedDict

from aiohttp import web

from tinkbox.api.access import may_look, may_read_secrets, needing, needing_either, require, require_for
from tinkbox.api.answers import Json
from tinkbox.api.auditing import note_rehearsal
from tinkbox.api.changes import log_change
from tinkbox.api.json_values import Document, NamedIdentity, ProblemFields, Time, time
from tinkbox.api.listing import Query
from tinkbox.api.long_answers import encoded, in_turn, json_object, unless_gone
from tinkbox.api.requests import declared_only, large_object_of, made_at, takes, text_field
from tinkbox.door.answers.answers import OneAnswer
from tinkbox.door.requests.bodies import body_of
from tinkbox.engine.applying.applying import Applying, Wish
from tinkbox.engine.applying.comparison import Outcome
from tinkbox.engine.applying.exporting import AnyKind, Asked, Exported, Exporting, Kind, parse_asked
from tinkbox.engine.applying.manifests import Manifest
from tinkbox.engine.applying.reading import SourceFile
from tinkbox.engine.applying.results import SECRET, Applied, Result
from tinkbox.engine.machines.known_machines import KnownMachines
from tinkbox.engine.turns import in_slices
from tinkbox.model.access import Right
from tinkbox.model.applying import MAX_APPLIED, MAX_FILES
from tinkbox.model.declaration import RETIRED_KEY
from tinkbox.model.documents.kept_documents import KeptKind
from tinkbox.model.documents.secret_fields import masked
from tinkbox.model.errors import Invalid, Problem, TooLarge
from tinkbox.model.labels import parse_selector
from tinkbox.model.text import counted
from tinkbox.wire.messages.json_fields import flag, mapping, texts

# A body is the files in JSON, which doubles a quotation mark and the end of a line.
MAX_BODY: Final = 2 * MAX_APPLIED
# Of that JSON: a name and a text for each file, and a time for each id that may be deleted.
MAX_VALUES: Final = 100_000
_LESS: Final = (
    "export one kind at a time (`tinkbox export hardware`), or what has a label (`tinkbox export hardware -l rack=r1`)"
)


class FileWish(TypedDict):
    name: str
    text: str


class ApplyWish(TypedDict, total=False):
    """`prune` selects by labels; `agreed` has the `created_at` of what may be pruned, by its id."""

    files: Required[list[FileWish]]
    dry_run: bool
    diff: bool
    prune: str | None
    agreed: dict[str, str] | list[str]
    confirm_wipe: bool
    require_images: bool
    strict: bool


class ResultDocument(NamedIdentity):
    """`old` and `new` are there with `diff`, but of secrets, and as far as there is room for them in one answer.

    `namespace` is empty for hardware of 2020, which has none.
    """

    kind: str
    namespace: str
    key: str
    outcome: Outcome
    why: str
    created_at: NotRequired[Time | None]
    old: NotRequired[Manifest | None]
    new: NotRequired[Manifest | None]


class AppliedDocument(TypedDict):
    dry_run: bool
    results: list[ResultDocument]
    notes: list[ProblemFields]


class ExportedDocument(TypedDict):
    kind: AnyKind
    name: str
    manifest: Manifest


class LeftOut(ExportedDocument):
    key: str


class ExportDocument(TypedDict):
    items: list[ExportedDocument]
    left_out: list[LeftOut]
    absent: list[str]
    notes: list[ProblemFields]


def routes(
    applying: Applying,
    exporting: Exporting,
    known: KnownMachines,
    osie: Callable[[], Sequence[Mapping[str, Any]]],
) -> list[web.RouteDef]:
    @takes(body=ApplyWish)
    async def apply(request: web.Request) -> Json[AppliedDocument]:
        """Have machines, templates and workflows become what `files` declare; with `dry_run` only what would change."""
        # Nothing refers to the body once it is read: it may be as large as all that is read of it.
        document = await asyncio.to_thread(large_object_of, await body_of(request, MAX_BODY), MAX_VALUES)
        prune, rehearsal, whole = document.get("prune"), flag(document, "dry_run"), flag(document, "diff")
        who = require_for(request, changes=not rehearsal)
        note_rehearsal(request, rehearsal)
        if whole:
            # It shows what is stored, secrets of templates and user-data among it.
            require(request, Right.LOOK)
        declared_only(request, document)
        wish = Wish(
            rehearsal=rehearsal,
            prune=parse_selector(text_field(document, "prune")) if prune is not None else None,
            agreed=_agreed(document),
            confirm_wipe=flag(document, "confirm_wipe"),
            require_images=flag(document, "require_images"),
            strict=flag(document, "strict"),
            apart=Right.OPERATE not in who.rights,
            reasons=not rehearsal or may_look(request),
            looks=may_look(request),
            secrets=not rehearsal or may_read_secrets(request),
            sets_secrets=may_read_secrets(request),
            osie={str(each["architecture"]) for each in osie()},
        )
        async with unless_gone(request, changes=not rehearsal):
            applied = await applying.apply(files_of(document), wish, who.name)
        if not rehearsal:
            for each in applied.results:
                if each.outcome not in (Outcome.CREATED, Outcome.CONFIGURED, Outcome.PRUNED):
                    continue
                if each.kind == SECRET:
                    log_change(request, "secret set", each.name)
                else:
                    log_change(request, f"{each.kind} {each.outcome}", f"{each.id}, {each.name}")
        return await _told(
            applied, known, OneAnswer(request) if whole else None, rehearsal=rehearsal, hide=_hiding(request)
        )

    @takes(several=("what", "label"))
    async def export(request: web.Request) -> Json[ExportDocument]:
        """Machines, templates and kept documents as files for `apply`; `what` names kinds, or single ones."""
        query = Query(request)
        asked = [parse_asked(each) for each in request.query.getall("what", ())]
        selector = query.selector()
        wanted = asked or [Asked(Kind.HARDWARE), Asked(Kind.TEMPLATE), *map(Asked, KeptKind)]
        found = await exporting.export(wanted, selector if selector.requirements else None)
        answer, hide = OneAnswer(request, _LESS), _hiding(request)
        listed = {
            "items": await encoded(found.documents, lambda each: _document(each, hide(each.manifest)), answer),
            "left_out": await encoded(
                found.left_out, lambda each: _document(each, hide(_head_of(each.manifest))) | {"key": each.key}, answer
            ),
            "notes": await encoded(found.notes, asdict, answer),
        }
        return json_object({"absent": [f"{each.kind}/{each.key}" for each in found.absent]}, listed)

    return [
        *needing_either(web.post("/v1/apply", apply)),
        *needing(Right.LOOK, *in_turn(web.get("/v1/export", export))),
    ]


def _hiding(request: web.Request) -> Callable[[Any], Any]:
    """What becomes of documents that are shown to who asks."""
    return (lambda each: each) if may_read_secrets(request) else masked


def _document(exported: Exported, manifest: Manifest) -> ExportedDocument:
    return {"kind": exported.kind, "name": exported.name, "manifest": manifest}


def _head_of(manifest: Manifest) -> Manifest:
    """What of a document tells which machine it is about, and that this is out of service."""
    names = ("kind", "metadata") if manifest.get("kind") == "Hardware" else ("id", RETIRED_KEY)
    return {name: manifest[name] for name in names}


def files_of(document: Document) -> list[SourceFile]:
    """`files`: a list of {name, text}; raises Invalid and TooLarge."""
    listed = document.get("files")
    if not isinstance(listed, list) or not listed:
        raise Invalid('files is a list such as [{"name": "node7.yaml", "text": "…"}]')
    if len(listed) > MAX_FILES:
        raise TooLarge(f"{len(listed)} files: at most {MAX_FILES} are taken at once")
    files = [_file(each) for each in listed]
    if sum(len(each.text) for each in files) > MAX_APPLIED:
        raise TooLarge(f"more than {MAX_APPLIED >> 20} MiB of documents: apply them in parts")
    if len({each.name for each in files}) < len(files):
        raise Invalid("two files have the same name")
    return files


def _agreed(document: Document) -> Mapping[str, datetime | None] | None:
    """`agreed`: the `created_at` of what may be pruned by its id, as a rehearsal tells both; raises Invalid.

    Earlier commands send a list of the ids.
    """
    if "agreed" not in document:
        return None
    if isinstance(document["agreed"], dict):
        return {known: made_at(made) for known, made in mapping(document, "agreed").items()}
    return dict.fromkeys(texts(document, "agreed"))


def _file(entry: Any) -> SourceFile:
    if not isinstance(entry, dict):
        raise Invalid("files: each is an object with a name and a text")
    text = entry.get("text")
    if not isinstance(text, str):
        raise Invalid("files: the text of each is text")
    return SourceFile(name=text_field(entry, "name"), text=text)


async def _told(
    applied: Applied,
    known: KnownMachines,
    differences: OneAnswer | None,
    *,
    rehearsal: bool,
    hide: Callable[[Any], Any],
) -> Json[AppliedDocument]:
    """With `differences` it tells also what each was and is, and how many of these it has no room for."""
    notes, left_out = list(applied.notes), list[str]()

    def told(each: Result) -> bytes:
        result = _result(each, applied.shared, known, rehearsal=rehearsal)
        if differences is not None and each.kind != SECRET:
            whole = json.dumps({**result, "old": hide(each.old), "new": hide(each.new)}).encode()
            if differences.has_room(whole):
                return whole
            left_out.append(each.name)
        return json.dumps(result).encode()

    results = await in_slices(told, applied.results)
    if differences is not None and left_out:
        text = (
            f"what changes of {counted(len(left_out), 'document')} is left out, for one answer may have {differences.most}: compare "
            "fewer files at once"
        )
        notes.append(Problem(text=text))
    return json_object({"dry_run": rehearsal}, {"results": results, "notes": await encoded(notes, asdict)})


def _result(
    result: Result, shared: Collection[tuple[str, str]], known: KnownMachines, *, rehearsal: bool
) -> ResultDocument:
    """`key` is what commands of its kind take for it and for no other, as far as it is there; `shared` as in `Applied`.

    What is pruned has its `created_at` too, for `agreed`.
    """
    # What is new in a rehearsal gets another one.
    identity = "" if rehearsal and result.outcome is Outcome.CREATED else result.id
    key = result.name
    if result.kind == Kind.HARDWARE and known.has(result.id):
        key = known.key(known.find(result.id).hardware)
    elif (result.kind, result.name) in shared or (result.kind == Kind.WORKFLOW and known.means_any(result.name)):
        key = identity or result.name
    if result.kind in tuple(KeptKind):
        key = f"{result.kind}/{key}"
    told: ResultDocument = {
        "kind": result.kind,
        "name": result.name,
        "namespace": result.namespace,
        "id": identity,
        "key": key,
        "outcome": result.outcome,
        "why": result.why,
    }
    if result.created_at is not None:
        told["created_at"] = time(result.created_at)
    return told
