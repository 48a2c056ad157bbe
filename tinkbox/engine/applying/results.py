"""What becomes of documents that are applied, as it is told."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from tinkbox.engine.applying.comparison import Decision, Decisions, Outcome
from tinkbox.engine.applying.manifests import Manifest
from tinkbox.engine.applying.reading import (
    DeclaredFlow,
    DeclaredKept,
    DeclaredMachine,
    DeclaredSecret,
    DeclaredTemplate,
    Documents,
    TemplateKey,
)
from tinkbox.engine.workflows.workflows import Prepared
from tinkbox.model.documents.kept_documents import KeptDocument, KeptKey, KeptKind
from tinkbox.model.documents.kubernetes import DEFAULT_NAMESPACE
from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.text import counted
from tinkbox.store.database import Tables

NOTHING: Final = "nothing was applied"
_PRUNING: Final = (Outcome.PRUNED, Outcome.KEPT)
SECRET: Final = "secret"  # noqa: S105  a kind of results
_KINDS: Final = ("hardware", "template", *KeptKind, SECRET, "workflow")


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of one thing; `old` and `new` are its manifests, None: it was not there, or is not any more.

    `created_at` is that of what is pruned.  Of a secret, which is its own id, neither manifest is told.
    """

    kind: str
    name: str
    id: str
    outcome: Outcome
    why: str = ""
    old: Manifest | None = None
    new: Manifest | None = None
    created_at: datetime | None = None

    @property
    def namespace(self) -> str:
        """That of its document, which is the default one where it says none; empty: hardware of 2020, which has none."""
        manifest = self.new or self.old or {}
        if "kind" not in manifest:
            return ""
        return str((manifest.get("metadata") or {}).get("namespace") or DEFAULT_NAMESPACE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What became of every document, machines first, then templates, workflows and what was pruned.

    `shared` are kind and name of those but machines whose name others of the kind have too.
    """

    results: Sequence[Result]
    shared: Collection[tuple[str, str]] = ()
    notes: Sequence[Problem] = ()


def refuse(problems: Sequence[Problem]) -> None:
    """Raise Invalid where there are problems."""
    if problems:
        raise Invalid(
            f"{NOTHING}, there {'is' if len(problems) == 1 else 'are'} {counted(len(problems), 'problem')}", problems
        )


def applied_of(
    tables: Tables, documents: Documents, results: Iterable[Result], notes: Sequence[Problem] = ()
) -> Applied:
    """The results in the order in which they are told, and the notes on documents before these `notes`."""
    ordered = sorted(results, key=lambda each: (each.outcome in _PRUNING, _KINDS.index(each.kind)))
    flows = tables.workflows.shared_names({each.name for each in documents.flows}) if documents.flows else ()
    names = dict.fromkeys(each.name for each in documents.templates)
    templates = [each for each in names if len(tables.templates.named(each)) > 1]
    shared = {
        *(("workflow", each) for each in flows),
        *(("template", each) for each in templates),
        *_shared_kept(tables, [each.document for each in documents.kept]),
    }
    return Applied(results=ordered, shared=shared, notes=[*documents.notes, *notes])


def _shared_kept(tables: Tables, declared: Sequence[KeptDocument]) -> list[tuple[str, str]]:
    """Kind and name of kept documents that are in several namespaces."""
    kinds = {each.kind for each in declared}
    there = {each.key for each in (*declared, *tables.kept_documents.all(kinds))} if kinds else ()
    several = Counter((kind, name) for kind, _, name in there)
    return [each for each, number in several.items() if number > 1]


def results_of(
    decisions: Decisions,
    ids: Mapping[TemplateKey | KeptKey, str] | None = None,
    prepared: Mapping[int, Prepared] | None = None,
) -> Iterator[Result]:
    """What becomes of each document; without the ids of what was made what is new has none."""
    for machine in decisions.machines:
        yield _result("hardware", machine.declared.name, machine, machine.declared.hardware.id)
    for template in decisions.templates:
        declared = template.declared
        yield _result("template", declared.name, template, (ids or {}).get(declared.key, template.id))
    for kept in decisions.kept:
        document = kept.declared.document
        yield _result(document.kind, document.name, kept, (ids or {}).get(document.key, kept.id))
    for secret in decisions.secrets:
        yield _result(SECRET, secret.declared.name, secret, secret.id)
    for place, flow in enumerate(decisions.flows):
        made = (prepared or {}).get(place) if flow.outcome is Outcome.CREATED else None
        yield _result("workflow", flow.declared.name, flow, made.id if made else flow.id)


def _result(
    kind: str,
    name: str,
    decision: Decision[DeclaredMachine]
    | Decision[DeclaredTemplate]
    | Decision[DeclaredFlow]
    | Decision[DeclaredKept]
    | Decision[DeclaredSecret],
    id_: str,
) -> Result:
    return Result(
        kind=kind,
        name=name,
        id=id_,
        outcome=decision.outcome,
        why=decision.why,
        old=decision.old,
        new=decision.new,
    )
