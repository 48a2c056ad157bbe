"""Use-cases of documents that are kept as they were given: what there is, that one is forgotten, and how many there may be."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from tinkbox.engine.lookup import MOST_TOLD, only
from tinkbox.engine.wakeups import CHANGES, Wakeups
from tinkbox.model.disk_usage import Stored
from tinkbox.model.documents.kept_documents import MAX_KEPT_BYTES, MAX_KEPT_NUMBER, ROW_BYTES, KeptDocument, json_bytes
from tinkbox.model.errors import Conflict, Problem
from tinkbox.store.database import Store, Tables

_WAY_OUT: Final = (
    "Delete some first: `tinkbox document list` shows them, and `tinkbox document delete KIND/NAME` deletes one"
)


class KeptDocuments:
    """Lists and deletes them; `apply` keeps them."""

    def __init__(self, store: Store, wakeups: Wakeups) -> None:
        self._store = store
        self._wakeups = wakeups

    async def all(self) -> list[KeptDocument]:
        """In the order of kind, namespace and name."""
        return await self._store.read(lambda tables: tables.kept_documents.all())

    async def delete(self, kind: str, key: str, namespace: str = "") -> KeptDocument:
        """Forget the one of this kind that has a name, or an id; with a `namespace` the one there.

        Raises NotFound, and Conflict where several have the name.
        """

        def use_case(tables: Tables) -> KeptDocument:
            found = [
                each
                for each in tables.kept_documents.all()
                if each.kind == kind.lower() and key in (each.name, each.id) and namespace in ("", each.namespace)
            ]
            if len(found) > 1:
                raise _in_several_namespaces(found)
            document = only(found, "document", f"{kind}/{key}")
            tables.kept_documents.delete(document.id)
            return document

        document = await self._store.write(use_case)
        self._wakeups.wake(CHANGES)
        return document


def _in_several_namespaces(found: Sequence[KeptDocument]) -> Conflict:
    first = found[0]
    there = ", ".join(f"{each.namespace} ({first.kind}/{each.id})" for each in found[:MOST_TOLD])
    more = f" and {len(found) - MOST_TOLD} more" if len(found) > MOST_TOLD else ""
    return Conflict(
        f"document {first.kind}/{first.name} is in {len(found)} namespaces: say which with --namespace, or give its id for the name: "
        f"{there}{more}"
    )


def beyond_room(
    tables: Tables, coming: Collection[Mapping[str, Any]], going: Collection[Mapping[str, Any]]
) -> Iterator[Problem]:
    """That there would be too many documents, or too large ones, once these come and those go.

    What makes them no more, or no larger, is always taken: a store of an earlier release may have more.
    """
    more = len(coming) - len(going)
    larger = sum(map(json_bytes, coming)) - sum(map(json_bytes, going)) + more * ROW_BYTES
    share = tables.room.shares()[Stored.DOCUMENTS]
    if more > 0 and share.number + more > MAX_KEPT_NUMBER:
        yield Problem(
            text=f"{share.number} rule sets, policies, tasks, ConfigMaps and BMC documents are kept, and {more} more would be too many: at most "
            f"{MAX_KEPT_NUMBER} are kept. {_WAY_OUT}"
        )
    if larger > 0 and share.octets + larger > MAX_KEPT_BYTES:
        yield Problem(
            text=f"rule sets, policies, tasks, ConfigMaps and BMC documents take {share.octets} bytes, and {larger} more would be too many: they "
            f"may take {MAX_KEPT_BYTES >> 20} MiB in all. {_WAY_OUT}"
        )
