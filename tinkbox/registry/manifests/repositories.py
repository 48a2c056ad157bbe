"""Which manifests a repository has and what its tags point to, as small files.  What changes them blocks.

The files are read at the start, and known from then on: a question costs no look at the disk.

A repository's own folders begin with an underscore, which no part of a name can.  A file or folder that is none of
these is passed over, and so is every link: none is followed.  What a damaged file of a manifest said can be told without it; a damaged tag is lost until it is
pushed again, and is told by `damaged_tags`.
"""

import errno
import json
import logging
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from sys import intern

from tinkbox.model.errors import Invalid, NotFound, Unavailable
from tinkbox.model.images.references import DIGEST, REPOSITORY, TAG, as_typed

MAX_NAME = 255
File = tuple[Path, bytes]
Key = tuple[str, str]  # a repository, and the digest of a manifest in it
_MANIFESTS, _TAGS = "_manifests", "_tags"
_TOLD = 8  # tags, where another is not there
_log = logging.getLogger(__name__)
_ALGORITHMS = {64: "sha256", 128: "sha512"}  # by the length of what follows in a digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A repository has a manifest of this digest and media type since `pushed_at` (ISO 8601).

    `media_type` is empty where the file that said it is damaged: the manifest says it too.  `fetched`: it came from a mirror;
    else a person pushed or loaded it.  `alone_from` (ISO 8601) is said of a manifest that came by its digest: from then on it
    is an image by itself, also when an index lists it.  An index that comes before has it as a part, and it is said no more.
    """

    digest: str
    media_type: str
    pushed_at: str
    fetched: bool = False
    alone_from: str = ""


@dataclass(slots=True)
class _Held:
    """What one repository holds."""

    links: dict[str, Link] = field(default_factory=dict)
    tags: dict[str, Link] = field(default_factory=dict)
    damaged: set[str] = field(default_factory=set)

    @property
    def is_empty(self) -> bool:
        return not (self.links or self.tags or self.damaged)


class Repositories:
    """The repositories below one folder; `write` makes a small file appear at once and for good.

    One thread at a time changes them; any may ask meanwhile.
    """

    def __init__(self, root: Path, write: Callable[[Path, bytes], None]) -> None:
        self._folder = root / "repositories"
        self._write = write
        self._held: dict[str, _Held] = {}
        for name in self._found():
            held = self._read(name)
            if not held.is_empty:
                self._held[name] = held

    def link(self, repository: str, link: Link) -> None:
        """Let the repository have a manifest; raises Unavailable where something else is in the way.

        One that it has already stays as old as it is, and an image by itself if it is one.
        """
        path = self._manifest(repository, link.digest)
        if (kept := self._to_write(path, repository, link)) is not None:
            ages = {path: self.linked_at(repository, link.digest)}
            self._keep(path, kept)
            _keep_ages(ages)
            self._held.setdefault(repository, _Held()).links[intern(link.digest)] = kept

    def tag(self, repository: str, tag: str, link: Link) -> None:
        """Let a tag point to it; raises Unavailable where something else is in the way."""
        link = replace(link, alone_from="")
        self._keep(self._tag(repository, tag), link)
        held = self._held.setdefault(repository, _Held())
        held.damaged.discard(tag)
        held.tags[tag] = link

    def put(
        self,
        repository: str,
        link: Link,
        tags: Sequence[str],
        keep: Callable[[Sequence[File]], object],
        listed: Collection[str] = (),
    ) -> None:
        """The same of a manifest and its tags at once: `keep` writes the files, after the manifest itself.

        A manifest that is there already stays as old as it is.  `listed` are the digests of an index's members: those that are no
        images by themselves yet are parts of it.
        """
        path, tagged = self._manifest(repository, link.digest), replace(link, alone_from="")
        kept = self._to_write(path, repository, link)
        known = self.links(repository) if listed else {}
        parts = [known[each] for each in listed if each in known and known[each].alone_from > link.pushed_at]
        changed = [*([] if kept is None else [kept]), *(replace(each, alone_from="") for each in parts)]
        files = [(self._manifest(repository, each.digest), _text(each)) for each in changed]
        files += [(self._tag(repository, tag), _text(tagged)) for tag in tags]
        for place, _ in files:
            self._refuse_link_to(place)
        with _nothing_in_the_way(path):
            ages = {
                self._manifest(repository, each.digest): self.linked_at(repository, each.digest) for each in changed
            }
            keep(files)
        _keep_ages(ages)
        held = self._held.setdefault(repository, _Held())
        for each in changed:
            held.links[intern(each.digest)] = each
        for tag in tags:
            held.damaged.discard(tag)
            held.tags[tag] = tagged

    def resolve(self, repository: str, selector: str) -> Link:
        """The manifest that a tag or digest picks; raises NotFound, and Unavailable for a tag whose file is damaged."""
        by_digest = ":" in selector
        self._refuse_none(repository, selector)
        held = self._held.get(repository, _Held())
        if not by_digest and selector in held.damaged:
            named = f"{as_typed(repository)}:{selector}"
            raise Unavailable(
                f"the tag {named} is damaged on the disk: push or load its image again, or forget it with "
                f"`tinkbox image delete {named}`"
            )
        link = (held.links if by_digest else held.tags).get(selector)
        if link is None:
            more = "" if by_digest else _told_tags([*held.tags])
            raise NotFound(f"no image {as_typed(repository)}{'@' if by_digest else ':'}{selector} here{more}")
        return link

    def has(self, repository: str, selector: str) -> bool:
        """Whether there is such a tag or digest, a damaged tag included."""
        try:
            self.resolve(repository, selector)
        except NotFound:
            return False
        except Unavailable:
            return True
        return True

    def unlink(self, repository: str, digest: str) -> None:
        """Let the repository forget a manifest."""
        self._remove(self._manifest(repository, digest))
        if (held := self._held.get(repository)) is not None:
            held.links.pop(digest, None)
            self._forget_empty(repository, held)

    def untag(self, repository: str, tag: str) -> None:
        """Take a tag away."""
        self._remove(self._tag(repository, tag))
        if (held := self._held.get(repository)) is not None:
            held.tags.pop(tag, None)
            held.damaged.discard(tag)
            self._forget_empty(repository, held)

    def names(self) -> list[str]:
        """All repositories that hold something, in order."""
        return sorted(name for name, held in list(self._held.items()) if held.links)

    def tags(self, repository: str) -> dict[str, Link]:
        """What the repository's tags point to, in order, but for those that are damaged."""
        held = self._held.get(repository)
        return dict(sorted(dict(held.tags).items())) if held is not None else {}

    def damaged_tags(self, repository: str) -> list[str]:
        """The tags whose files say nothing, in order."""
        held = self._held.get(repository)
        return sorted(held.damaged) if held is not None else []

    def links(self, repository: str) -> dict[str, Link]:
        """The repository's manifests by digest."""
        held = self._held.get(repository)
        return dict(held.links) if held is not None else {}

    def linked_at(self, repository: str, digest: str) -> float:
        """When the repository was last given a manifest, by the clock of the disk; of one that is not there, for ever ago."""
        with suppress(FileNotFoundError):
            return self._manifest(repository, digest).stat().st_mtime
        return 0.0

    def _found(self) -> Iterator[str]:
        """The names of all folders of repositories."""
        for folder, below, files in os.walk(self._folder):
            links = {each for each in (*below, *files) if (Path(folder) / each).is_symlink()}
            for each in sorted(links):
                _passed_over(Path(folder) / each)
            below[:] = [each for each in below if each not in links]
            if _MANIFESTS in below or _TAGS in below:
                name = str(Path(folder).relative_to(self._folder))
                if is_repository(name):
                    yield name
            below[:] = [each for each in below if not each.startswith("_")]

    def _read(self, repository: str) -> _Held:
        """What the files of a repository say.  A tag stands for its manifest's file where that is lost."""
        held = _Held()
        for digest in self._digests(repository):
            path, link = self._manifest(repository, digest), None
            with suppress(OSError):
                link = _parsed(_read(path))
            with suppress(FileNotFoundError):
                if link is None or link.digest != digest:
                    changed_at = datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat()
                    link = Link(digest=digest, media_type="", pushed_at=changed_at)
                held.links[intern(digest)] = link
        for tag in self._tags(repository):
            with suppress(OSError):
                link = _parsed(_read(self._tag(repository, tag)))
                if link is None:
                    held.damaged.add(tag)
                else:
                    held.tags[tag] = link
                    if link.digest not in held.links or not held.links[link.digest].media_type:
                        held.links[intern(link.digest)] = link
        return held

    def _refuse_none(self, repository: str, selector: str) -> None:
        """Raise Invalid for names that nothing can have."""
        if ":" in selector:
            self._manifest(repository, selector)
        else:
            self._tag(repository, selector)

    def _forget_empty(self, repository: str, held: _Held) -> None:
        if held.is_empty:
            self._held.pop(repository, None)

    def _tags(self, repository: str) -> Iterator[str]:
        return (name for name in self._files(repository, _TAGS) if TAG.match(name))

    def _digests(self, repository: str) -> Iterator[str]:
        names = self._files(repository, _MANIFESTS)
        found = (f"{_ALGORITHMS.get(len(name), '')}:{name}" for name in names)
        return (digest for digest in found if DIGEST.match(digest))

    def _files(self, repository: str, kind: str) -> Iterator[str]:
        folder = self._home(repository) / kind
        if folder.is_symlink():
            return
        entries: list[os.DirEntry[str]] = []
        with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
        for entry in entries:
            if entry.is_symlink():
                _passed_over(Path(entry.path))
            elif entry.is_file():
                yield entry.name

    def _to_write(self, path: Path, repository: str, link: Link) -> Link | None:
        """What the file of a manifest is to say; None where it is there and says it, but for the time."""
        known = self._held[repository].links.get(link.digest) if repository in self._held else None
        if known is None:
            return link
        alone_from = min((each for each in (known.alone_from, link.alone_from) if each), default="")
        if known.media_type != link.media_type or not _says(path, known):
            return replace(link, alone_from=alone_from)
        return replace(known, alone_from=alone_from) if known.alone_from != alone_from else None

    def _keep(self, path: Path, link: Link) -> None:
        self._refuse_link_to(path)
        with _nothing_in_the_way(path):
            self._write(path, _text(link))

    def _refuse_link_to(self, path: Path) -> None:
        """Raise Unavailable where the folder of a file would be reached by a link."""
        for folder in path.parents:
            if folder == self._folder:
                return
            if folder.is_symlink():
                raise _in_the_way(path, folder)

    def _home(self, repository: str) -> Path:
        if not is_repository(repository):
            raise Invalid(f"not a repository's name: {repository[:100]!r}")
        return self._folder / repository

    def _manifest(self, repository: str, digest: str) -> Path:
        if not DIGEST.match(digest):
            raise Invalid(f"not a sha256 or sha512 digest: {digest[:140]!r}")
        return self._home(repository) / _MANIFESTS / digest.partition(":")[2]

    def _tag(self, repository: str, tag: str) -> Path:
        if not TAG.match(tag):
            raise Invalid(f"not a tag: {tag[:150]!r}: up to 128 letters, digits, _ . and -, the first no . or -")
        return self._home(repository) / _TAGS / tag

    def _remove(self, path: Path) -> None:
        path.unlink(missing_ok=True)
        folder = path.parent
        with suppress(OSError):  # the first folder that is not empty ends it
            while folder != self._folder:
                folder.rmdir()
                folder = folder.parent


@contextmanager
def _nothing_in_the_way(path: Path) -> Iterator[None]:
    """Raise Unavailable where a file or folder is in the place of another."""
    try:
        yield
    except (FileExistsError, IsADirectoryError, NotADirectoryError) as error:
        raise _in_the_way(path, error.filename2 or error.filename) from None


def _in_the_way(path: Path, stray: Path | str) -> Unavailable:
    return Unavailable(f"the registry cannot write {path}: remove {stray}, which is in its way")


def _told_tags(tags: Sequence[str]) -> str:
    more = f" and {len(tags) - _TOLD} more" if len(tags) > _TOLD else ""
    return f": its tags are {', '.join(sorted(tags)[:_TOLD])}{more}" if tags else ""


def _passed_over(link: Path) -> None:
    _log.warning("link in the registry passed over: %s", link, extra={"action": "registry.passed_over"})


def _keep_ages(ages: Mapping[Path, float]) -> None:
    """Let files that were there before be as old as they were (`linked_at`)."""
    for file, age in ages.items():
        if age:
            os.utime(file, (age, age))


def _says(path: Path, link: Link) -> bool:
    """Whether a file is there and says this."""
    try:
        return _parsed(path.read_bytes()) == link
    except OSError:
        return False


def _text(link: Link) -> bytes:
    told = asdict(link)
    if not link.alone_from:  # a key that earlier releases do not know, and take for damage
        del told["alone_from"]
    return json.dumps(told).encode()


def is_repository(name: str) -> bool:
    """Whether a repository may be called so."""
    return bool(REPOSITORY.match(name)) and len(name) <= MAX_NAME


def _read(path: Path) -> bytes:
    """A small file's bytes; none where the disk cannot give them any more."""
    try:
        return path.read_bytes()
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        return b""


def _parsed(content: bytes) -> Link | None:
    """What the file of a tag or manifest says; None when it is damaged."""
    try:
        link = Link(**json.loads(content))
    except (ValueError, TypeError, RecursionError):
        return None
    told = (link.digest, link.media_type, link.pushed_at, link.alone_from)
    if not all(isinstance(each, str) for each in told) or not DIGEST.match(link.digest):
        return None
    # Many have the same media type, and each digest stands in several places.
    return replace(link, digest=intern(link.digest), media_type=intern(link.media_type), fetched=link.fetched is True)
