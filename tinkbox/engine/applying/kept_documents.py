"""Use-cases of documents that are kept as they were given: what there is, and that one is forgotten."""

from tinkbox.engine.lookup import only
from tinkbox.engine.wakeups import CHANGES, Wakeups
from tinkbox.model.kept_documents import KeptDocument
from tinkbox.store.database import Store, Tables


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
            document = only(found, "document", f"{kind}/{key}")
            tables.kept_documents.delete(document.id)
            return document

        document = await self._store.write(use_case)
        self._wakeups.wake(CHANGES)
        return document
