"""Of which kinds the images of each repository are: system images or container images, never both.  All of this blocks."""

from collections.abc import Collection, Mapping

from tinkbox.model.images.references import as_typed
from tinkbox.registry.manifests.kinds import Kind, kind_of, kind_of_damaged, refuse_mixed
from tinkbox.registry.manifests.manifests import Manifest
from tinkbox.registry.manifests.parsed_manifests import ParsedManifests
from tinkbox.registry.manifests.repositories import Link, Repositories


class RepositoryKinds:
    """What a repository has is looked for once, unless it is unknown.  Whoever changes what refers to what is the only one meanwhile."""

    def __init__(self, repositories: Repositories, parsed: ParsedManifests) -> None:
        self._repositories = repositories
        self._parsed = parsed
        self._kinds: dict[str, set[Kind]] = {}

    def refuse_mixed(self, repository: str, digest: str, manifest: Manifest) -> None:
        """Raise Conflict where a repository would have system images and container images, or may have.

        What it has already it may be given again: that heals it.
        """
        if self._repositories.has(repository, digest):
            return
        kinds = {*self._of(repository), kind_of(manifest)}
        if Kind.UNKNOWN in kinds or {Kind.SYSTEM, Kind.CONTAINER} <= kinds:
            refuse_mixed(as_typed(repository), kind_of(manifest), self.one_of_each(repository))

    def one_of_each(self, repository: str) -> Mapping[Kind, str]:
        """The name of the first image of each kind: by a tag where it has one."""
        names = {link.digest: f":{tag}" for tag, link in self._repositories.tags(repository).items()}
        found: dict[Kind, str] = {}
        for digest, kind in self.by_digest(repository).items():
            found.setdefault(kind, as_typed(repository) + names.get(digest, f"@{digest}"))
        return found

    def kind(self, repository: str, link: Link) -> Kind:
        """The kind of an image, a damaged one included."""
        known = self._parsed.of(repository, link)
        return kind_of(known.manifest) if known is not None else kind_of_damaged(repository, self._of(repository))

    def by_digest(self, repository: str) -> Mapping[str, Kind]:
        """The kinds of all its images, the damaged ones included."""
        links = self._repositories.links(repository)
        manifests = self._parsed.all_of(repository, links)
        known = {digest: kind_of(each) for digest, each in manifests.items()}
        damaged = kind_of_damaged(repository, {*known.values(), *self._kinds.get(repository, ())})
        return {digest: known.get(digest, damaged) for digest in links}

    def _of(self, repository: str) -> Collection[Kind]:
        if (kinds := self._kinds.get(repository)) is not None:
            return kinds
        found = {*self.by_digest(repository).values()}
        if Kind.UNKNOWN not in found:
            self._kinds[repository] = found
        return found

    def note(self, repository: str, manifest: Manifest) -> None:
        """A manifest is kept from now on."""
        if (kinds := self._kinds.get(repository)) is not None:
            kinds.add(kind_of(manifest))

    def forget(self, repository: str) -> None:
        """A manifest is not kept any more."""
        self._kinds.pop(repository, None)
