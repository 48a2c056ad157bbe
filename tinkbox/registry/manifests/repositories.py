"""Which manifests a repository has and what its tags point to, as small files.  What changes them blocks.

The files are read at the start, and known from then on: a question costs no look at the disk.

A repository's own folders begin with an underscore, which no part of a name can.  A file or folder that is none of
these is passed over, and so is every link: none is followed.  What a damaged file of a manifest said can be told without it; a damaged tag is lost until it is
pushed again, and is told by `damaged_tags`.

A file beside the folder of repositories has their names, so that those are missed that something else took away: a disk that is
not mounted, an administrator, a check of the file system.

Of what is below a folder that could not be listed nothing is known: whatever is asked of it raises Unavailable, and looks
again, until it can be.
"""

import errno
import json
import logging
import math
import os
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from sys import intern

from tinkbox.model.errors import Invalid, NotFound, Refusal, Unavailable
from tinkbox.model.images.references import DIGEST, REPOSITORY, TAG, as_typed
from tinkbox.registry.blobs.blobs import writing
from tinkbox.registry.blobs.folders import UNREADABLE, Folders

MAX_NAME = 255
# For which nothing is freed by itself after images were put back.
SETTLING_SECONDS = 3600.0
File = tuple[Path, bytes]
Key = tuple[str, str]  # a repository, and the digest of a manifest in it
_MANIFESTS, _TAGS = "_manifests", "_tags"
_ANY = "*"  # is missing where an earlier release kept no names; no repository has it as its name
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

    One thread at a time changes them; any may ask meanwhile.  `ways` tells of folders that cannot be used, `has_blobs` whether
    there is anything that images could need.

    Every method but `linked_at` and `has` raises Unavailable where a folder that it needs could not be listed so far.
    """

    def __init__(
        self,
        root: Path,
        write: Callable[[Path, bytes], None],
        ways: Folders | None = None,
        has_blobs: Callable[[], bool] = lambda: False,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = root / "repositories"
        self._names = root / "known-repositories"
        self._write = write
        self._ways = ways or Folders(root)
        self._has_blobs = has_blobs
        self._held: dict[str, _Held] = {}
        self._missing: Collection[str] = ()
        self._steady = steady
        # Of what was put back while we run: what was there at the last look, and until when more of it may come.
        self._seen: Collection[Path] = ()
        self._settled_at = -math.inf
        self._noted: frozenset[str] | None = None  # of a registry of an earlier release nothing is known
        with suppress(OSError, UnicodeDecodeError):
            self._noted = frozenset(self._names.read_text().split())
        self._reading = threading.Lock()
        self._unread: Collection[Path] = ()
        self._unread = self._read_below(self._folder)
        self._look_for_missing()

    def link(self, repository: str, link: Link) -> None:
        """Let the repository have a manifest; raises Unavailable where something else is in the way.

        One that it has already stays as old as it is, and an image by itself if it is one.
        """
        path = self._manifest(repository, link.digest)
        with self._changing(repository, path):
            if (kept := self._to_write(path, repository, link)) is None:
                return
            ages = {path: self.linked_at(repository, link.digest)}
            self._write(path, _text(kept))
            _keep_ages(ages)
            self._held.setdefault(repository, _Held()).links[intern(link.digest)] = kept
            self._note_names()

    def tag(self, repository: str, tag: str, link: Link) -> None:
        """Let a tag point to it; raises Unavailable where something else is in the way."""
        path, link = self._tag(repository, tag), replace(link, alone_from="")
        with self._changing(repository, path):
            self._write(path, _text(link))
        held = self._held.setdefault(repository, _Held())
        held.damaged.discard(tag)
        held.tags[tag] = link
        self._note_names()

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
        with self._changing(repository, path, *(self._tag(repository, tag) for tag in tags)):
            kept = self._to_write(path, repository, link)
        known = self.links(repository) if listed else {}
        parts = [known[each] for each in listed if each in known and known[each].alone_from > link.pushed_at]
        changed = [*([] if kept is None else [kept]), *(replace(each, alone_from="") for each in parts)]
        files = [(self._manifest(repository, each.digest), _text(each)) for each in changed]
        files += [(self._tag(repository, tag), _text(tagged)) for tag in tags]
        with self._changing(repository, path, *(place for place, _ in files)):
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
        self._note_names()

    def resolve(self, repository: str, selector: str) -> Link:
        """The manifest that a tag or digest picks; raises NotFound, and Unavailable for a tag whose file is damaged."""
        by_digest = ":" in selector
        self._refuse_none(repository, selector)
        self.refuse_unread(repository)
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
        """Whether there is such a tag or digest, a damaged tag, and one of which nothing is known yet, included."""
        try:
            self.resolve(repository, selector)
        except NotFound:
            return False
        except Unavailable:
            return True
        return True

    def unlink(self, repository: str, digest: str) -> None:
        """Let the repository forget a manifest."""
        self._remove(repository, self._manifest(repository, digest))
        if (held := self._held.get(repository)) is not None:
            held.links.pop(digest, None)
            self._forget_empty(repository, held)

    def untag(self, repository: str, tag: str) -> None:
        """Take a tag away."""
        self._remove(repository, self._tag(repository, tag))
        if (held := self._held.get(repository)) is not None:
            held.tags.pop(tag, None)
            held.damaged.discard(tag)
            self._forget_empty(repository, held)

    def names(self) -> list[str]:
        """All repositories that hold something, in order."""
        self.refuse_unread()
        return sorted(name for name, held in list(self._held.items()) if held.links)

    def tags(self, repository: str) -> dict[str, Link]:
        """What the repository's tags point to, in order, but for those that are damaged."""
        self.refuse_unread(repository)
        held = self._held.get(repository)
        return dict(sorted(dict(held.tags).items())) if held is not None else {}

    def damaged_tags(self, repository: str) -> list[str]:
        """The tags whose files say nothing or cannot be read, in order."""
        self.refuse_unread(repository)
        held = self._held.get(repository)
        return sorted(held.damaged) if held is not None else []

    def links(self, repository: str) -> dict[str, Link]:
        """The repository's manifests by digest."""
        self.refuse_unread(repository)
        held = self._held.get(repository)
        return dict(held.links) if held is not None else {}

    def linked_at(self, repository: str, digest: str) -> float:
        """When the repository was last given a manifest, by the clock of the disk, in seconds since 1970.

        Of one that is not there, for ever ago; of one that the disk cannot tell, at any time up to the end of time.
        Raises Unavailable where its folder cannot be reached.
        """
        path = self._manifest(repository, digest)
        try:
            with self._ways.entered(path.parent):
                return path.stat().st_mtime
        except FileNotFoundError:
            return 0.0
        except OSError as error:
            if error.errno not in UNREADABLE:
                raise
            return math.inf

    def refuse_unread(self, repository: str | None = None) -> None:
        """Raise Unavailable where a folder could not be listed so far, and cannot now: of one repository, or of any."""
        if not self._unread:
            return
        home = self._folder if repository is None else self._folder / repository
        with self._reading:
            while concerned := sorted(each for each in self._unread if _on_one_way(each, home)):
                self._entries(concerned[0])
                start = concerned[0].parent if concerned[0].name in (_MANIFESTS, _TAGS) else concerned[0]
                found = self._read_below(start)
                self._unread = {each for each in self._unread if not each.is_relative_to(start)} | found
            self._look_for_missing()

    def refuse_missing(self, *, meant: bool = False) -> None:
        """Raise Unavailable where repositories are gone that tinkbox did not delete: nothing says what their images need.

        `meant`: a person says that they are to be gone.  It is raised then where one of them is on the disk again.
        """
        if self._missing and not meant:
            raise Unavailable(self._told_missing())
        for name in sorted(self._missing):
            if self._is_back(name):
                place = self._folder if name == _ANY else self._home(name)
                raise Unavailable(
                    f"nothing is freed: {place} has images again that were missing: tinkbox reads them within half a minute; "
                    "look at them first"
                )

    def refuse_settling(self) -> None:
        """Raise Unavailable where images were put back lately: of what is still to come nothing says what it needs."""
        if self._steady() < self._settled_at:
            raise Unavailable("nothing is freed: images that were missing were put back lately, and more may come")

    @property
    def awaits(self) -> bool:
        """Whether something may be put back: `take_back` finds it."""
        return bool(self._missing) or self._steady() < self._settled_at

    def take_back(self) -> None:
        """Read what was missing and is there again, once it was the same at two looks; nothing else may change anything meanwhile.

        More of it is read for as long as nothing is freed because of it.
        """
        with self._reading:
            if not self.awaits:
                return
            with suppress(Unavailable):
                self._take_back()

    def _take_back(self) -> None:
        back = [each for each in self._missing if self._is_back(each)]
        before, self._seen = self._seen, tuple(self._files_below(self._folder))
        changed = self._seen != before
        # What is being copied is half there at first.
        ready = bool(back) and not changed if self._missing else changed
        if not ready or self._read_below(self._folder):
            return
        self._settled_at = self._steady() + SETTLING_SECONDS
        self._missing = [each for each in self._missing if each not in self._held and not (each == _ANY and back)]
        if back:
            said = "all images" if _ANY in back else f"the images of {', '.join(map(as_typed, sorted(back)[:_TOLD]))}"
            _log.warning("%s were put back", said, extra={"action": "registry.put-back"})
        self._note_names()

    def _files_below(self, folder: Path) -> Iterator[Path]:
        entries: list[os.DirEntry[str]] = []
        with suppress(Unavailable):  # of `lost+found`, which is root's alone
            entries = self._entries(folder)
        for entry in entries:
            if _is_folder(entry):
                yield from self._files_below(folder / entry.name)
            else:
                yield folder / entry.name

    def forget_missing(self) -> None:
        """What is missing is meant to be gone."""
        self._missing = ()
        self._note_names()

    def refuse_unlisted(self) -> None:
        """Raise Unavailable where any folder of repositories, manifests or tags cannot be listed now, though it was before."""
        self.refuse_unread()
        self._refuse_emptied()
        for name in [*self._held]:
            home = self._home(name)
            for entry in self._entries(home):
                if entry.name in (_MANIFESTS, _TAGS) and _is_folder(entry):
                    self._entries(home / entry.name)

    def _refuse_emptied(self) -> None:
        """Raise Unavailable where nothing is left of what was there, as if a disk is not mounted any more."""
        if not self._entries(self._folder) and self._held:
            raise Unavailable(
                f"the registry's folder {self._folder} is empty, and had images before: put them back, or restart tinkbox "
                "to begin without them"
            )

    def _read_below(self, start: Path) -> set[Path]:
        """Read the repositories in and below a folder; returns the folders that cannot be listed."""
        unread: set[Path] = set()
        pending = [start]
        while pending:
            folder = pending.pop()
            try:
                entries = self._entries(folder)
            except Unavailable:
                unread.add(folder)
                continue
            for link in (each for each in entries if each.is_symlink()):
                _passed_over(Path(link.path))
            below = [each.name for each in entries if _is_folder(each)]
            name = str(folder.relative_to(self._folder))
            if is_repository(name) and (_MANIFESTS in below or _TAGS in below):
                unread |= self._take_in(name, below)
            found = (folder / each for each in below if not each.startswith("_"))
            # What can be no repository, and leads to none, is not looked into: `lost+found` is root's alone.
            pending += [each for each in found if is_repository(str(each.relative_to(self._folder)))]
        return unread

    def _take_in(self, repository: str, below: Collection[str]) -> set[Path]:
        """Read a repository, which has these folders; returns those that cannot be listed, and then nothing is taken in."""
        names: dict[str, list[str]] = {_MANIFESTS: [], _TAGS: []}
        unread: set[Path] = set()
        for kind in (each for each in names if each in below):
            try:
                names[kind] = self._files(repository, kind)
            except Unavailable:
                unread.add(self._home(repository) / kind)
        if not unread and not (held := self._read(repository, names)).is_empty:
            self._held[repository] = held
        return unread

    def _read(self, repository: str, names: Mapping[str, Collection[str]]) -> _Held:
        """What the files of a repository say.  A tag stands for its manifest's file where that is lost."""
        held = _Held()
        for digest in _digests(names[_MANIFESTS]):
            link = None
            with suppress(OSError):
                link = _parsed(self._manifest(repository, digest).read_bytes())
            if link is None or link.digest != digest:
                changed_at = self.linked_at(repository, digest)
                told_at = datetime.fromtimestamp(changed_at if math.isfinite(changed_at) else 0, UTC).isoformat()
                link = Link(digest=digest, media_type="", pushed_at=told_at)
            held.links[intern(digest)] = link
        for tag in (name for name in names[_TAGS] if TAG.match(name)):
            link = None
            with suppress(OSError):
                link = _parsed(self._tag(repository, tag).read_bytes())
            if link is None:
                held.damaged.add(tag)
                continue
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
            self._note_names(repository)

    def _note_names(self, *deleted: str) -> None:
        """Keep the names over restarts; what a disk does not take is kept with the next change."""
        unread = (self._noted or ()) if self._unread else ()
        names = frozenset((*self._held, *self._missing, *unread)).difference(deleted)
        if names == self._noted:
            return
        with suppress(OSError, Refusal):
            self._write(self._names, "\n".join(sorted(names)).encode())
            self._noted = names

    def _look_for_missing(self) -> None:
        """Once all folders were read: which repositories there were before, and the log says it."""
        if self._unread:
            return
        if self._has_blobs():
            noted = self._noted if self._noted is not None else frozenset() if self._held else frozenset((_ANY,))
            # What is here and was not noted was put back.
            settled = (_ANY,) if self._held.keys() - noted else ()
            self._missing = noted.difference(self._held, settled)
        if self._missing:
            _log.warning("%s", self._told_missing(), extra={"action": "registry.missing"})
        self._note_names()

    def _told_missing(self) -> str:
        names = sorted(self._missing)[:_TOLD]
        more = f" and {len(self._missing) - _TOLD} more" if len(self._missing) > _TOLD else ""
        which = f"the images of {', '.join(map(as_typed, names))}{more} are" if names != [_ANY] else "all images are"
        return (
            f"nothing is freed: {which} gone from {self._folder}, and tinkbox did not delete them. Put back what was there, such "
            "as from a backup, from lost+found or by mounting its disk: tinkbox then reads it by itself. If they are meant to be gone, "
            "`tinkbox image gc --now` frees their blobs"
        )

    def _is_back(self, name: str) -> bool:
        """Whether there are files of a repository that was missing, or of any, and tinkbox did not make them."""
        if name == _ANY:
            own = {each.partition("/")[0] for each in self._held}
            return any(_is_folder(each) and each.name not in own for each in self._entries(self._folder))
        place = self._home(name) / _MANIFESTS
        return name not in self._held and place.is_dir() and bool(self._entries(place))

    def _files(self, repository: str, kind: str) -> list[str]:
        found = []
        for entry in self._entries(self._home(repository) / kind):
            if entry.is_symlink():
                _passed_over(Path(entry.path))
            elif entry.is_file():
                found.append(entry.name)
        return found

    def _entries(self, folder: Path) -> list[os.DirEntry[str]]:
        """What is in a folder, in order; raises Unavailable where it cannot be listed, or its files not be reached."""
        with self._ways.listed(folder), os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
            if not os.access(folder, os.X_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
        return entries

    def _to_write(self, path: Path, repository: str, link: Link) -> Link | None:
        """What the file of a manifest is to say; None where it is there and says it, but for the time."""
        known = self._held[repository].links.get(link.digest) if repository in self._held else None
        if known is None:
            return link
        alone_from = min((each for each in (known.alone_from, link.alone_from) if each), default="")
        if known.media_type != link.media_type or not _says(path, known):
            return replace(link, alone_from=alone_from)
        return replace(known, alone_from=alone_from) if known.alone_from != alone_from else None

    @contextmanager
    def _changing(self, repository: str, *paths: Path) -> Iterator[None]:
        """Raise Unavailable where files of a repository cannot be written or taken away, or are reached by a link."""
        self.refuse_unread(repository)
        self._refuse_emptied()
        with ExitStack() as told:
            told.enter_context(writing(self._folder))
            told.enter_context(self._ways.changed(*dict.fromkeys(each.parent for each in paths)))
            told.enter_context(_nothing_in_the_way(paths[0]))
            for each in paths:
                self._refuse_link_to(each)
            yield

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

    def _remove(self, repository: str, path: Path) -> None:
        self.refuse_unread(repository)
        with writing(self._folder), self._ways.changed(path.parent):
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
        if age and math.isfinite(age):
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


def _on_one_way(folder: Path, other: Path) -> bool:
    """Whether one of two folders is the other, or in it."""
    return folder.is_relative_to(other) or other.is_relative_to(folder)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether it is one, and no link; what the disk cannot tell is taken for one."""
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return True


def _digests(names: Collection[str]) -> Iterator[str]:
    found = (f"{_ALGORITHMS.get(len(name), '')}:{name}" for name in names)
    return (digest for digest in found if DIGEST.match(digest))


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
