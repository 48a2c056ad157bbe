"""What the `index.json` of an OCI layout says of its images: their names, and which of them refer to others.  Pure."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from tinkbox.model.errors import Invalid
from tinkbox.model.images.references import TAG, parse_reference
from tinkbox.registry.manifests.manifests import INDEXES, MANIFESTS, Descriptor, parse_manifest
from tinkbox.registry.manifests.referrers import as_tag, referring, subject_of_tag

REF_NAME: Final = "org.opencontainers.image.ref.name"
CONTAINERD_NAME: Final = "io.containerd.image.name"
# Ours, of an index: how many manifests came with it, itself included.  A sparse one has fewer than it lists.
MANIFESTS_NAME: Final = "vnd.tinkbox.manifests"
_TOLD: Final = 3
_MOST_DIGITS: Final = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What an `index.json` lists; `subjects` has by digest what each refers to that does (`referring`).

    `beside` are the digests of those that refer to others of them, `damaged` of those whose manifest is missing or none.
    """

    entries: Sequence[Descriptor]
    subjects: Mapping[str, str]
    beside: Collection[str]
    damaged: Collection[str]

    def is_image(self, entry: Descriptor) -> bool:
        """Whether an entry stands for itself: it refers to no other, or has a name of its own."""
        return entry.digest not in self.beside or bool(names_of(entry) and not subject_of_tag(tag_of(entry)))

    def of_unknown_image(self) -> Sequence[Descriptor]:
        """The damaged entries that do not tell any more of which image they are: one that is named is told when it is taken."""
        return [
            each
            for each in self.entries
            if each.digest in self.damaged and not names_of(each) and not subject_of_tag(tag_of(each))
        ]

    def referring(self, digests: Iterable[str]) -> Sequence[Descriptor]:
        """The entries that refer to one of these digests, or to what does."""
        found = {*referring(self.subjects, digests)}
        return [each for each in self.entries if each.digest in found]


def listing_of(entries: Sequence[Descriptor], read: Callable[[Descriptor], bytes]) -> Listing:
    """`read` gives the manifest of an entry, or nothing where it is not there; what is damaged is told when it is taken."""
    subjects: dict[str, str] = {}
    led_to: dict[str, set[str]] = {}
    damaged: set[str] = set()
    for entry in entries:
        if entry.digest not in led_to:
            led_to[entry.digest] = {entry.digest}
            try:
                manifest = parse_manifest(read(entry), entry.media_type)
            except Invalid:
                if entry.media_type in ("", *MANIFESTS, *INDEXES):
                    damaged.add(entry.digest)
            else:
                led_to[entry.digest] |= manifest.members
                if manifest.subject:
                    subjects[entry.digest] = manifest.subject
        if by_tag := subject_of_tag(tag_of(entry)):
            subjects.setdefault(entry.digest, by_tag)
    there = {form for digests in led_to.values() for digest in digests for form in (digest, as_tag(digest))}
    first = {each for digest, digests in led_to.items() if subjects.get(digest) not in there for each in digests}
    return Listing(entries=entries, subjects=subjects, beside={*referring(subjects, first)}, damaged=damaged)


def names_of(entry: Descriptor) -> Sequence[str]:
    """How an OCI layout names an image, if it does.

    `org.opencontainers.image.ref.name` (image-spec, "Pre-Defined Annotation Keys") is a whole name with some programs, and with
    others its tag alone, which names no image: with those that write another annotation as well, and with skopeo.
    """
    whole = entry.annotations.get(CONTAINERD_NAME, "")
    ref = entry.annotations.get(REF_NAME, "")
    chosen = ref if ":" in ref else whole or ("" if _only_tag(entry) else ref)
    return [chosen] if chosen else []


def named(name: str, entry: Descriptor) -> str:
    """The same name, with the tag that an OCI layout gives an image which has nothing else, where the name has none.

    Raises Invalid for what is no name.
    """
    reference, tag = parse_reference(name), _only_tag(entry)
    return name if reference.tag or reference.digest or not TAG.match(tag) else f"{name}:{tag}"


def only_tags(entries: Sequence[Descriptor]) -> str:
    """What is told besides of images without a name that have a tag."""
    tags = [tag for tag in map(_only_tag, entries) if tag]
    more = f" and {len(tags) - _TOLD} more" if len(tags) > _TOLD else ""
    return f", only the tag {', '.join(tags[:_TOLD])}{more}" if tags else ""


def written_with(entry: Descriptor) -> int:
    """How many manifests of an image its writer had, itself included; 0 where that is not told."""
    told = entry.annotations.get(MANIFESTS_NAME, "")
    return int(told) if told.isascii() and told.isdigit() and len(told) <= _MOST_DIGITS else 0


def counts_as_name(name: str) -> bool:
    """Whether a name is one that people gave: not that of a signature by its tag, which only says what it refers to."""
    try:
        return not subject_of_tag(parse_reference(name).tag)
    except Invalid:
        return True


def tag_of(entry: Descriptor) -> str:
    """The tag that an OCI layout gives an image, with its name or alone; empty: none."""
    for each in names_of(entry):
        with suppress(Invalid):
            return parse_reference(each).tag
    return _only_tag(entry)


def _only_tag(entry: Descriptor) -> str:
    ref = entry.annotations.get(REF_NAME, "")
    is_tag = not {":", "/", "@"} & {*ref} and CONTAINERD_NAME not in entry.annotations
    return ref if is_tag else ""


def hub_name(text: str) -> str:
    """A name as Docker and containerd complete it; raises Invalid for what is no name."""
    return tagged(str(parse_reference(text).as_docker_means))


def tagged(text: str) -> str:
    """The same name with its tag, `latest` where it has none; raises Invalid for what is no name."""
    reference = parse_reference(text)
    return str(reference if reference.tag or reference.digest else replace(reference, tag="latest"))


def blob_name(digest: str) -> str:
    """Where an OCI layout has a blob (image-spec, "Image Layout")."""
    return f"blobs/{digest.replace(':', '/')}"
