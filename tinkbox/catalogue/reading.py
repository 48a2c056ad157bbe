"""The catalogue's YAML, read into entries; everything that is wrong with a file is told at once."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Final, TypeVar

from yaml.nodes import MappingNode, Node

from tinkbox.catalogue.entries import WORD, Entry, Fixed, Listing, Resolver, Signature, Signed, Stream, Sums, filled
from tinkbox.model.errors import Invalid
from tinkbox.model.images.references import TAG
from tinkbox.model.images.system_image import (
    ID,
    MAX_ID,
    MAX_WORDS,
    SOURCE_DIGEST,
    USER,
    Architecture,
    Compression,
    DataSource,
    Firmware,
    Format,
    Growth,
)
from tinkbox.model.sizes import parse_size
from tinkbox.model.spelling import meant
from tinkbox.model.text import counted
from tinkbox.yaml_nodes import NodeReader, compose, path

MAX_FILE: Final = 1 << 20
MAX_SERIAL: Final = 2**31 - 1
_FILE_KEYS: Final = ("serial", "images")
ENTRY_KEYS: Final = (
    "title",
    "architectures",
    "resolver",
    "signature",
    "format",
    "compression",
    "firmware",
    "least_disk",
    "data_source",
    "growth",
    "default_user",
    "licence",
    "note",
    "end_of_life",
    "checked",
)
# For each kind of resolver its keys; those in the second list may be missing.
RESOLVERS: Final[Mapping[str, tuple[Sequence[str], Sequence[str]]]] = {
    "sums": (("sums", "file"), ("version",)),
    "listing": (("page", "newest", "file"), ("version", "sums")),
    "stream": (("page", "version", "file", "digest"), ()),
    "fixed": (("file", "version"), ("digest",)),
}
_FINGERPRINT: Final = re.compile(r"[0-9A-F]{40}(?:[0-9A-F]{24})?\Z")
_URL: Final = re.compile(r"https?://[^\s/]+/\S*\Z")
_E = TypeVar("_E", bound=StrEnum)


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueFile:
    """One file: a `serial` that grows with each issue of a catalogue (0 when there is none), and its entries by id."""

    serial: int
    entries: Mapping[str, Entry]


def read_catalogue(text: str, layer: str) -> CatalogueFile:
    """Raises Invalid with every problem; `layer` names the file to people."""
    if len(text) > MAX_FILE:
        raise Invalid(f"the catalogue {layer} has more than {MAX_FILE >> 20} MiB")
    try:
        documents = compose(text)
    except Invalid as error:
        raise Invalid(f"the catalogue {layer} is not valid YAML", error.problems) from None
    reader = _CatalogueReader(layer)
    if len(documents) != 1:
        raise Invalid(f"the catalogue {layer} has {counted(len(documents), 'document')}: write one, with `images:`")
    file = reader.file(documents[0])
    if reader.problems:
        raise Invalid(f"the catalogue {layer} has {counted(len(reader.problems), 'problem')}", reader.problems)
    return file


class _CatalogueReader(NodeReader):
    def __init__(self, layer: str) -> None:
        super().__init__()
        self._layer = layer

    def file(self, node: Node) -> CatalogueFile:
        found = self.fields(node, "", _FILE_KEYS)
        serial = (
            self.number(found["serial"], "serial", "the catalogue's serial", MAX_SERIAL) if "serial" in found else 0
        )
        entries: dict[str, Entry] = {}
        images = found.get("images")
        if not isinstance(images, MappingNode):
            self.refuse(images or node, "images", "expected the ids of images, each with its entry")
            return CatalogueFile(serial=serial, entries={})
        for name, value in self.pairs(images, "images"):
            key = path("images", name.value)
            if not ID.match(name.value) or len(name.value) > MAX_ID - 16:
                self.refuse(name, key, "an id has small letters, digits, and dots or hyphens between them")
            for entry in self.entry(value, key, name.value):
                if entry.id in entries:
                    self.refuse(name, key, f"{entry.id} is another entry's image of another architecture")
                entries[entry.id] = entry
        return CatalogueFile(serial=serial, entries=entries)

    def entry(self, node: Node, key: str, name: str) -> Iterator[Entry]:
        """An entry for each of its architectures."""
        found = self.fields(node, key, ENTRY_KEYS)
        if not isinstance(node, MappingNode):
            return
        for needed in ("title", "architectures", "resolver", "least_disk"):
            if needed not in found:
                self.refuse(node, key, f"{needed} is missing")
        # What holds for all architectures is read once, so that its problems are told once.
        title = self.words(found, "title", key)
        container = self.member(found, "format", key, Format, Format.RAW)
        compression = self.member(found, "compression", key, Compression, Compression.NONE)
        firmware = self.members(found, "firmware", key, Firmware)
        least_disk = self.size(found, "least_disk", key)
        data_source = self.member(found, "data_source", key, DataSource, DataSource.NOCLOUD)
        growth = self.member(found, "growth", key, Growth, Growth.CLOUD_INIT)
        default_user = self.user(found, "default_user", key)
        licence = self.words(found, "licence", key)
        note = self.words(found, "note", key)
        end_of_life = self.day(found, "end_of_life", key)
        checked = self.flag(found["checked"], path(key, "checked")) if "checked" in found else False
        for architecture, words in self.architectures(found.get("architectures"), path(key, "architectures")).items():
            resolver = self.resolver(found.get("resolver"), path(key, "resolver"), words)
            signature = self.signature(found.get("signature"), path(key, "signature"), words, resolver)
            if resolver is None:
                return  # of other architectures there would be the same problems
            booted = [each for each in firmware if architecture is Architecture.X86_64 or each is not Firmware.BIOS]
            yield Entry(
                id=name if architecture is Architecture.X86_64 else f"{name}-{architecture}",
                title=title,
                architecture=architecture,
                resolver=resolver,
                signature=signature,
                format=container,
                compression=compression,
                firmware=tuple(booted),
                least_disk=least_disk,
                data_source=data_source,
                growth=growth,
                default_user=default_user,
                licence=licence,
                note=note,
                end_of_life=end_of_life,
                checked=checked,
                layer=self._layer,
            )

    def architectures(self, node: Node | None, key: str) -> Mapping[Architecture, Mapping[str, str]]:
        """The architectures with the words that stand for each in URLs and patterns."""
        if node is None:
            return {}
        found: dict[Architecture, Mapping[str, str]] = {}
        for name, value in self.fields(node, key, list(Architecture)).items():
            place = path(key, name)
            if not isinstance(value, MappingNode):
                self.refuse(value, place, "expected words such as {arch: amd64}, or {}")
                continue
            words = {word.value: self.scalar(text, path(place, word.value)) for word, text in self.pairs(value, place)}
            found[Architecture(name)] = words
        if not found and isinstance(node, MappingNode) and not node.value:
            self.refuse(node, key, f"expected one of {', '.join(Architecture)} at least")
        return found

    def resolver(self, node: Node | None, key: str, words: Mapping[str, str]) -> Resolver | None:
        if node is None:
            return None
        if not isinstance(node, MappingNode):
            self.refuse(node, key, f"expected `kind`, one of {', '.join(RESOLVERS)}, and its keys")
            return None
        kind = next((self.scalar(value, key) for name, value in node.value if name.value == "kind"), "")
        if kind not in RESOLVERS:
            self.refuse(node, path(key, "kind"), f"no kind of resolver {kind!r}; {meant(kind, list(RESOLVERS))}")
            return None
        needed, optional = RESOLVERS[kind]
        before = len(self.problems)
        found = self.fields(node, key, ("kind", *needed, *optional))
        for each in needed:
            if each not in found:
                self.refuse(node, key, f"{each} is missing")
        resolver = getattr(self, f"_{kind}")(found, key, words) if len(self.problems) == before else None
        return resolver if len(self.problems) == before else None

    def _sums(self, found: Mapping[str, Node], key: str, words: Mapping[str, str]) -> Sums:
        groups = self.pattern(found["file"], path(key, "file"), words)
        version = self.template(found, "version", key, words, groups, default="{version}")
        return Sums(
            sums=self.url(found["sums"], path(key, "sums"), words, ()),
            file=_pattern(self.scalar(found["file"], key), words),
            version=version if groups or "version" in found else "",
        )

    def _listing(self, found: Mapping[str, Node], key: str, words: Mapping[str, str]) -> Listing:
        groups = self.pattern(found["newest"], path(key, "newest"), words)
        if "version" not in groups and "version" not in found:
            self.refuse(found["newest"], path(key, "newest"), "the pattern has no group (?P<version>…)")
        known = (*groups, "file")
        return Listing(
            page=self.url(found["page"], path(key, "page"), words, ()),
            newest=_pattern(self.scalar(found["newest"], key), words),
            file=self.url(found["file"], path(key, "file"), words, groups),
            version=self.template(found, "version", key, words, groups, default="{version}"),
            sums=self.url(found["sums"], path(key, "sums"), words, known, made=True) if "sums" in found else "",
        )

    def _stream(self, found: Mapping[str, Node], key: str, words: Mapping[str, str]) -> Stream:
        def keys(name: str) -> tuple[str, ...]:
            read = self.items(found[name], path(key, name), self.scalar)
            if not read:
                self.refuse(found[name], path(key, name), "expected a list of the keys that lead to it")
            return tuple(filled(each, words) for each in read)

        page = self.url(found["page"], path(key, "page"), words, ())
        return Stream(page=page, version=keys("version"), file=keys("file"), digest=keys("digest"))

    def _fixed(self, found: Mapping[str, Node], key: str, words: Mapping[str, str]) -> Fixed:
        version, digest = self.text(found, "version", key), filled(self.text(found, "digest", key), words)
        if not TAG.match(version):
            self.refuse(found["version"], path(key, "version"), "a version has letters, digits, dots and hyphens")
        if digest and not SOURCE_DIGEST.match(digest):
            self.refuse(found["digest"], path(key, "digest"), "expected sha256: or sha512: and hexadecimal digits")
        file = self.url(found["file"], path(key, "file"), {**words, "version": version}, ())
        return Fixed(file=file, version=version, digest=digest)

    def signature(
        self, node: Node | None, key: str, words: Mapping[str, str], resolver: Resolver | None
    ) -> Signature | None:
        if node is None:
            return None
        found = self.fields(node, key, ("of", "url", "keys"))
        of = self.member(found, "of", key, Signed, Signed.SUMS)
        keys = tuple(each.replace(" ", "").upper() for each in self.items(found.get("keys"), key, self.scalar))
        if not keys or not all(_FINGERPRINT.match(each) for each in keys):
            self.refuse(node, path(key, "keys"), "expected the whole fingerprints of the keys that may sign")
        if (of is Signed.INSIDE_SUMS) == ("url" in found):
            self.refuse(node, path(key, "url"), f"a signature of {of} has {'no' if 'url' in found else 'a'} url")
        of_sums = isinstance(resolver, Sums) or (isinstance(resolver, Listing) and bool(resolver.sums))
        if of is not Signed.IMAGE and resolver is not None and not of_sums:
            self.refuse(node, path(key, "of"), "this resolver has no file of checksums that could be signed")
        known = ("file", "sums", "version", *re.findall(r"\(\?P<(\w+)>", getattr(resolver, "newest", "")))
        url = self.url(found["url"], path(key, "url"), words, known, made=True) if "url" in found else ""
        return Signature(of=of, keys=keys, url=url)

    def pattern(self, node: Node, key: str, words: Mapping[str, str]) -> tuple[str, ...]:
        """The names of a pattern's groups."""
        try:
            return tuple(re.compile(_pattern(self.scalar(node, key), words)).groupindex)
        except (re.error, RecursionError, OverflowError) as error:
            self.refuse(node, key, f"this is no regular expression: {error}")
            return ()

    def template(
        self,
        found: Mapping[str, Node],
        name: str,
        key: str,
        words: Mapping[str, str],
        known: Sequence[str],
        *,
        default: str,
    ) -> str:
        text = filled(self.text(found, name, key) or default, words)
        if name in found:
            self.known_words(found[name], path(key, name), text, known)
        return text

    def url(self, node: Node, key: str, words: Mapping[str, str], known: Sequence[str], *, made: bool = False) -> str:
        """A URL; `made` ones may begin with a word that stands for another URL."""
        text = filled(self.scalar(node, key), words)
        if not (_URL.match(text) or (made and WORD.match(text))):
            self.refuse(node, key, f"expected a URL that begins with https:// or http://, not {text[:60]!r}")
        self.known_words(node, key, text, known)
        return text

    def known_words(self, node: Node, key: str, text: str, known: Sequence[str]) -> None:
        for word in WORD.findall(text):
            if word not in known:
                self.refuse(node, key, f"{{{word}}} stands for nothing here; {meant(word, known)}")

    def user(self, found: Mapping[str, Node], name: str, key: str) -> str:
        text = self.words(found, name, key)
        if text and not USER.match(text):
            told = f"expected the name of a user, of up to 32 letters, digits, _, . and -, not {text[:60]!r}"
            self.refuse(found[name], path(key, name), told)
            return ""
        return text

    def member(self, found: Mapping[str, Node], name: str, key: str, kind: type[_E], absent: _E) -> _E:
        if name not in found:
            return absent
        return self._member(found[name], path(key, name), kind) or absent

    def members(self, found: Mapping[str, Node], name: str, key: str, kind: type[_E]) -> tuple[_E, ...]:
        place = path(key, name)
        read = self.items(found.get(name), place, lambda node, at: self._member(node, at, kind))
        if name in found and not read:
            self.refuse(found[name], place, f"expected a list of {', '.join(kind)}")
        return tuple(each for each in read if each is not None)

    def _member(self, node: Node, key: str, kind: type[_E]) -> _E | None:
        text = self.scalar(node, key)
        try:
            return kind(text)
        except ValueError:
            self.refuse(node, key, f"{text[:40]!r} is none of {', '.join(kind)}; {meant(text, list(kind))}")
            return None

    def words(self, found: Mapping[str, Node], name: str, key: str) -> str:
        text = self.text(found, name, key)
        if len(text) > MAX_WORDS or not (text.isprintable() or not text):
            self.refuse(found[name], path(key, name), f"expected one line of at most {MAX_WORDS} characters")
        return text

    def size(self, found: Mapping[str, Node], name: str, key: str) -> int:
        try:
            return parse_size(self.text(found, name, key)) if name in found else 0
        except Invalid as error:
            self.refuse(found[name], path(key, name), str(error))
            return 0

    def day(self, found: Mapping[str, Node], name: str, key: str) -> date | None:
        text = self.text(found, name, key)
        try:
            return date.fromisoformat(text) if text else None
        except ValueError:
            self.refuse(found[name], path(key, name), f"expected a day such as 2028-06-30, not {text[:40]!r}")
            return None


def _pattern(text: str, words: Mapping[str, str]) -> str:
    """A pattern with words in braces as literal text."""
    return filled(text, {word: re.escape(value) for word, value in words.items()})
