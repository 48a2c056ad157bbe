"""`.references` of templates: the Secrets and ConfigMaps that `spec.references` of a document names.

Each is there as Kubernetes has it (docs/technical/REFERENCES.md of Tinkerbell).  A Secret has its keys, of which `secret_marks` makes
marks when the template is filled, a ConfigMap its values.  What is named and not there is left out: a template that asks for it is
refused.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tinkbox.engine.templates.secret_marks import KIND, REFERENCES
from tinkbox.model.documents.kept_documents import KeptDocument, KeptKind
from tinkbox.model.documents.kubernetes import CORE_GROUP, CORE_VERSION, DEFAULT_NAMESPACE
from tinkbox.model.documents.loose_values import mapping_of
from tinkbox.model.secret import SecretEntry
from tinkbox.store.database import Store, Tables

CONFIG_MAP: Final = "ConfigMap"
_KINDS: Final[Mapping[str, str]] = {"secrets": KIND, "configmaps": CONFIG_MAP}
ReferentKey = tuple[str, str]  # namespace and name


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What there is of what was asked for: ConfigMaps of all namespaces, and the keys of Secrets by the names of these."""

    config_maps: Sequence[KeptDocument] = ()
    keys: Mapping[str, Sequence[str]] = field(default_factory=dict)


# What there is of the ConfigMaps of these names, and of the Secrets of those.
Referents = Callable[[Collection[str], Collection[str]], Awaitable[Found]]


async def no_referents(_: Collection[str], __: Collection[str]) -> Found:
    """Where there are none."""
    return Found()


def referents_in(
    store: Store,
    declared: Iterable[KeptDocument] = (),
    leaving: Iterable[KeptDocument] = (),
    entries: Iterable[SecretEntry] = (),
) -> Referents:
    """What is kept, with those `declared` in place of theirs and without those that are `leaving`, and with these `entries` of Secrets."""
    beside = {each.key: each for each in declared if each.kind is KeptKind.CONFIG_MAP}
    without = {each.key for each in leaving}
    coming = [*entries]

    async def found(config_maps: Collection[str], secrets: Collection[str]) -> Found:
        def question(tables: Tables) -> tuple[Sequence[KeptDocument], Mapping[str, Sequence[str]]]:
            return (
                tables.kept_documents.named(KeptKind.CONFIG_MAP, config_maps),
                tables.secrets.keys_of(secrets) if secrets else {},
            )

        kept, keys = await store.read(question)
        there = {each.key: each for each in kept if each.key not in without} | beside
        more = {name: [each.key for each in coming if each.document.name == name] for name in secrets}
        return Found(
            config_maps=[each for each in there.values() if each.name in config_maps],
            keys={name: sorted({*keys.get(name, ()), *more[name]}) for name in secrets},
        )

    return found


def references_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """`.references` of a machine by its `.hardware`, or of a Workflow or Task: what `spec.references` names, still empty (`with_referents`).

    The namespace of a Secret means nothing.
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


async def with_referents(several: Sequence[Mapping[str, Any]], find: Referents) -> list[Mapping[str, Any]]:
    """The same data of templates, in whose references stands what they name."""
    config_maps = {name for data in several for _, name in _wanted(data, CONFIG_MAP).values()}
    secrets = {name for data in several for _, name in _wanted(data, KIND).values()}
    if not config_maps and not secrets:
        return list(several)
    there = await find(config_maps, secrets)
    by_key = {(each.namespace, each.name): each for each in there.config_maps}

    def config_map(key: ReferentKey) -> Mapping[str, Any] | None:
        """The one of its namespace, or else the only one of its name."""
        others = [each for each in there.config_maps if each.name == key[1]]
        found = by_key.get(key) or (others[0] if len(others) == 1 else None)
        return _as_in_cluster(found) if found else None

    def filled(data: Mapping[str, Any]) -> Mapping[str, Any]:
        references = mapping_of(data.get(REFERENCES))
        found: dict[str, Mapping[str, Any]] = {}
        for called, key in _wanted(data, CONFIG_MAP).items():
            if (document := config_map(key)) is not None:
                found[called] = document
        for called, (_, name) in _wanted(data, KIND).items():
            if keys := there.keys.get(name):
                found[called] = {**references[called], "data": dict.fromkeys(keys, "")}
        return {**data, REFERENCES: found}

    return [filled(data) if data.get(REFERENCES) else data for data in several]


def _wanted(data: Mapping[str, Any], kind: str) -> dict[str, ReferentKey]:
    """Namespace and name of what of a kind the references in the data of a template name, by what it calls them."""
    return {
        called: (each["metadata"]["namespace"], each["metadata"]["name"])
        for called, each in mapping_of(data.get(REFERENCES)).items()
        if each.get("kind") == kind
    }


def _as_in_cluster(document: KeptDocument) -> Mapping[str, Any]:
    """Its manifest, with the namespace that it may leave out."""
    manifest = document.manifest
    about = {**mapping_of(manifest.get("metadata")), "namespace": document.namespace}
    return {**manifest, "metadata": about, "data": mapping_of(manifest.get("data"))}
