"""What an image's name means before anybody pulls it: which bytes, who gives them, and what is known to be wrong with them."""

from collections.abc import Callable

from tinkbox.model.errors import Invalid
from tinkbox.model.images.references import MAX_REPOSITORY, Reference, parse_reference
from tinkbox.model.images.standing import ImageStanding, Source, WantedImage
from tinkbox.registry.mirrors.upstreams import Upstreams
from tinkbox.registry.storage import ImageStore

_NOBODY = ImageStanding(source=Source.NOBODY)


class ImageLookup:
    """Looks names up as the registry answers them.  It waits for nothing but small files.

    `is_own` tells whether a host in an image's name is this registry; `offline`, that no other is asked.
    """

    def __init__(
        self, store: ImageStore, upstreams: Upstreams, is_own: Callable[[str], bool], *, offline: bool
    ) -> None:
        self._store = store
        self._upstreams = upstreams
        self._is_own = is_own
        self._offline = offline

    def digest(self, image: str) -> str | None:
        """The digest of an image by its name, empty when only our registry is asked, and has none; None: another tells."""
        reference = parse_reference(image)
        if reference.digest:
            return reference.digest
        place = self._place(reference)
        if self._is_ours(reference) and not self._upstreams.is_mirrored(place):
            return self._store.digest(place, reference.selector)
        found = self._upstreams.digest(place, reference.selector) if place else ""
        return found or ("" if self._offline else None)

    def standing(self, image: WantedImage) -> ImageStanding:
        """Where an image comes from."""
        return self._system(image.name) if image.system else self._container(parse_reference(image.name))

    def appliance_only(self, image: str) -> bool:
        """Whether nobody asks the host in an image's name: we do, or it is not to be asked."""
        reference = parse_reference(image)
        return not self._is_ours(reference) and (self._offline or self._upstreams.is_mirrored(reference.kept_as))

    def _container(self, reference: Reference) -> ImageStanding:
        place, selector = self._place(reference), reference.selector
        mirrored = self._upstreams.is_mirrored(place)
        if place and self._store.has(place, selector):
            # What is lost of it, its mirror has.
            damage = "" if mirrored else self._store.damage(place, selector)
            return ImageStanding(source=Source.APPLIANCE, damage=damage)
        if mirrored:
            return ImageStanding(source=Source.MIRROR, host=place.partition("/")[0])
        if not (self._is_ours(reference) or self._offline):
            return ImageStanding(source=Source.HOST, host=reference.host)
        same_as = self._store.named(reference.digest) if reference.digest else ""
        return ImageStanding(source=Source.NOBODY, same_as=same_as)

    def _system(self, name: str) -> ImageStanding:
        try:
            reference = parse_reference(name)
        except Invalid:
            return _NOBODY
        if reference.host or not self._store.is_system(reference.repository, reference.selector):
            return _NOBODY
        damage = self._store.damage(reference.repository, reference.selector)
        return ImageStanding(source=Source.APPLIANCE, damage=damage)

    def _is_ours(self, reference: Reference) -> bool:
        return not reference.host or self._is_own(reference.host)

    def _place(self, reference: Reference) -> str:
        """The repository whose image is given for a name; empty: none can be."""
        kept = reference.repository if self._is_ours(reference) else reference.kept_as
        return self._upstreams.answering(kept, reference.selector) if len(kept) <= MAX_REPOSITORY else ""
