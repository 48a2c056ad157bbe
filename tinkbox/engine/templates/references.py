"""`.references` of templates: the Secrets and ConfigMaps that `spec.references` of a document names.

Each is there as Kubernetes has it (docs/technical/REFERENCES.md of Tinkerbell).  The values of a Secret are marks
(`secret_marks`), those of a ConfigMap its own.  What is named and not there is left out: a template that asks for it is refused.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from tinkbox.engine.templates.secret_marks import KIND, REFERENCES
from tinkbox.model.documents.kept_documents import KeptDocument, KeptKind
from tinkbox.model.documents.kubernetes import CORE_GROUP, CORE_VERSION, DEFAULT_NAMESPACE
from tinkbox.model.documents.loose_values import mapping_of
from tinkbox.store.database import Store

CONFIG_MAP: Final = "ConfigMap"
_KINDS: Final[Mapping[str, str]] = {"secrets": KIND, "configmaps": CONFIG_MAP}
ConfigMapKey = tuple[str, str]  # namespace and name
# The ConfigMaps of these names, of all namespaces.
ConfigMaps = Callable[[Collection[str]], Awaitable[Sequence[KeptDocument]]]


async def no_config_maps(_: Collection[str]) -> Sequence[KeptDocument]:
    """Where there are none."""
    return ()


def config_maps_in(
    store: Store, declared: Iterable[KeptDocument] = (), leaving: Iterable[KeptDocument] = ()
) -> ConfigMaps:
    """Those that are kept, with those `declared` in place of theirs, and without those that are `leaving`."""
    beside = {each.key: each for each in declared if each.kind is KeptKind.CONFIG_MAP}
    without = {each.key for each in leaving}

    async def found(names: Collection[str]) -> Sequence[KeptDocument]:
        kept = await store.read(lambda tables: tables.kept_documents.named(KeptKind.CONFIG_MAP, names))
        there = {each.key: each for each in kept if each.key not in without} | beside
        return [each for each in there.values() if each.name in names]

    return found


def references_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """`.references` of a machine by its `.hardware`, or of a Workflow or Task: what `spec.references` names, still empty (`with_config_maps`).

    The entry KEY of the Secret NAME is the secret `NAME.KEY`, whatever the namespace.
    """
    named = mapping_of(mapping_of(document.get("spec")).get(REFERENCES))
    found = {}
    for called, each in named.items():
        reference = mapping_of(each)
        name, resource, group = (str(reference.get(field) or "") for field in ("name", "resource", "group"))
        kind = _KINDS.get(resource.lower(), "")
        if name and kind and group == CORE_GROUP:
            about = {"name": name, "namespace": str(reference.get("namespace") or DEFAULT_NAMESPACE)}
            found[str(called)] = {"apiVersion": CORE_VERSION, "kind": kind, "metadata": about, "data": {}}
    return found


async def with_config_maps(several: Sequence[Mapping[str, Any]], find: ConfigMaps) -> list[Mapping[str, Any]]:
    """The same data of templates, in whose references the ConfigMaps stand that they name."""
    names = {key[1] for data in several for key in _wanted(data.get(REFERENCES)).values()}
    if not names:
        return list(several)
    there = await find(names)
    by_key = {(each.namespace, each.name): each for each in there}

    def meant(key: ConfigMapKey) -> KeptDocument | None:
        """The one of its namespace, or else the only one of its name."""
        others = [each for each in there if each.name == key[1]]
        return by_key.get(key) or (others[0] if len(others) == 1 else None)

    def filled(data: Mapping[str, Any]) -> Mapping[str, Any]:
        wanted = _wanted(data.get(REFERENCES))
        found = {called: document for called, key in wanted.items() if (document := meant(key)) is not None}
        others = {called: each for called, each in mapping_of(data.get(REFERENCES)).items() if called not in wanted}
        return {**data, REFERENCES: others | {called: _as_in_cluster(each) for called, each in found.items()}}

    return [filled(data) if _wanted(data.get(REFERENCES)) else data for data in several]


def _wanted(references: Any) -> dict[str, ConfigMapKey]:
    """Namespace and name of the ConfigMaps among references, by what templates call them."""
    return {
        called: (each["metadata"]["namespace"], each["metadata"]["name"])
        for called, each in mapping_of(references).items()
        if each.get("kind") == CONFIG_MAP
    }


def _as_in_cluster(document: KeptDocument) -> Mapping[str, Any]:
    """Its manifest, with the namespace that it may leave out."""
    manifest = document.manifest
    about = {**mapping_of(manifest.get("metadata")), "namespace": document.namespace}
    return {**manifest, "metadata": about, "data": mapping_of(manifest.get("data"))}
