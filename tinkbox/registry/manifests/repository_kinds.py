"""Of which kinds the images of each repository are: system images or container images, never both.  All of this blocks."""

from collections.abc import Mapping

from tinkbox.model.images.references import as_typed
from tinkbox.registry.manifests.kinds import Kind, kind_of, refuse_mixed
from tinkbox.registry.manifests.manifests import Manifest
from tinkbox.registry.manifests.parsed_manifests import ParsedManifests
from tinkbox.registry.manifests.repositories import Repositories


class RepositoryKinds:
    """What a repository has is looked for once.  Whoever changes what refers to what is the only one meanwhile."""

    def __init__(self, repositories: Repositories, parsed: ParsedManifests) -> None:
        self._repositories = repositories
        self._parsed = parsed
        self._kinds: dict[str, set[Kind]] = {}

    def refuse_mixed(self, repository: str, manifest: Manifest) -> None:
        """Raise Conflict where a repository would have system images and container images."""
        if repository not in self._kinds:
            links = self._repositories.links(repository)
            self._kinds[repository] = {kind_of(each) for each in self._parsed.all_of(repository, links).values()}
        if {Kind.SYSTEM, Kind.CONTAINER} <= {*self._kinds[repository], kind_of(manifest)}:
            refuse_mixed(as_typed(repository), manifest, self.one_of_each(repository).values())

    def one_of_each(self, repository: str) -> Mapping[Kind, tuple[str, Manifest]]:
        """The first image of each kind that can be read, with its name: by a tag where it has one."""
        names = {link.digest: f":{tag}" for tag, link in self._repositories.tags(repository).items()}
        manifests = self._parsed.all_readable(repository, self._repositories.links(repository))
        found: dict[Kind, tuple[str, Manifest]] = {}
        for digest, manifest in manifests.items():
            name = as_typed(repository) + names.get(digest, f"@{digest}")
            found.setdefault(kind_of(manifest), (name, manifest))
        return found

    def note(self, repository: str, manifest: Manifest) -> None:
        """A manifest is kept from now on."""
        if (kinds := self._kinds.get(repository)) is not None:
            kinds.add(kind_of(manifest))

    def forget(self, repository: str) -> None:
        """A manifest is not kept any more."""
        self._kinds.pop(repository, None)
