"""`/v1/documents`: documents of Tinkerbell that are kept as they were given, such as rule sets."""

from collections import Counter

from aiohttp import web

from tinkbox.api.access import needing
from tinkbox.api.answers import Json, answered
from tinkbox.api.changes import log_change
from tinkbox.api.json_values import NamedIdentity, Time, time
from tinkbox.api.listing import listed
from tinkbox.api.long_answers import in_turn
from tinkbox.api.parameters import LIMIT, sort_by
from tinkbox.api.requests import key_of, takes
from tinkbox.engine.applying.kept_documents import KeptDocuments
from tinkbox.model.access import Right
from tinkbox.model.documents.kept_documents import KeptDocument, KeptKind


class ForgottenDocument(NamedIdentity):
    kind: KeptKind


class KeptDocumentLine(ForgottenDocument):
    key: str
    namespace: str
    labels: dict[str, str]
    created_at: Time | None


def routes(kept: KeptDocuments) -> list[web.RouteDef]:
    @takes(LIMIT, sort_by(("kind", "name", "namespace", "created_at")), several=("label",))
    async def show_list(request: web.Request) -> Json[list[KeptDocumentLine]]:
        """The documents that are kept as they were given, without their content, which `/v1/export` has."""
        documents = await kept.all()
        named = Counter((each.kind, each.name) for each in documents)
        lines = (_listed(each, is_alone=named[each.kind, each.name] == 1) for each in documents)
        return await listed(request, lines, filters={}, labels=True)

    @takes("namespace")
    async def delete(request: web.Request) -> Json[ForgottenDocument]:
        """Forget one by its kind, and its name or id."""
        kind, namespace = request.match_info["kind"], request.query.get("namespace", "")
        document = await kept.delete(kind, key_of(request), namespace)
        log_change(request, f"{document.kind} deleted", f"{document.id}, {document.name}")
        return answered({"id": document.id, "kind": document.kind, "name": document.name})

    return [
        *needing(Right.LOOK, *in_turn(web.get("/v1/documents", show_list))),
        *needing(Right.OPERATE, web.delete("/v1/documents/{kind}/{key}", delete)),
    ]


def _listed(document: KeptDocument, *, is_alone: bool) -> KeptDocumentLine:
    """`key` is what means it and no other: where its name `is_alone` that, else its id."""
    return {
        "id": document.id,
        "key": f"{document.kind}/{document.name if is_alone else document.id}",
        "kind": document.kind,
        "namespace": document.namespace,
        "name": document.name,
        "labels": dict(document.labels),
        "created_at": time(document.created_at),
    }
