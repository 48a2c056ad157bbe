"""A system image's documents, as `model.system_image` has them: configuration, block map and manifest, written and read.

They come from whoever may push to the registry, so reading is strict and bounded, and names everything that is wrong.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, TypeVar

from tinkbox.model.documents.json_text import read_json
from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.images.references import SHA256, TAG
from tinkbox.model.images.system_image import (
    ARTIFACT_TYPE,
    BLOCK_MAP_TYPE,
    CONFIG_TYPE,
    DISK_TYPE,
    FRAME,
    ID,
    MAX_DISK,
    MAX_ID,
    MAX_WORDS,
    SOURCE_DIGEST,
    USER,
    USER_FORM,
    About,
    Architecture,
    BlockMap,
    Compression,
    Config,
    DataSource,
    Firmware,
    Format,
    Frame,
    Growth,
    RawDisk,
    Source,
    Verified,
)

SCHEMA: Final = 1
MAX_CONFIG: Final = 64 << 10
MAX_FRAMES: Final = MAX_DISK // FRAME
MAX_BLOCK_MAP: Final = MAX_FRAMES * 128
# zstd makes what it cannot compress longer by less than this part of it, and a few bytes.
MAX_FRAME_LENGTH: Final = FRAME + (FRAME >> 8) + 64
OCI_MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
OCI_INDEX: Final = "application/vnd.oci.image.index.v1+json"
REF_NAME: Final = "org.opencontainers.image.ref.name"

_HEX: Final = re.compile(r"[0-9a-f]{64}\Z")
_MOST_PROBLEMS: Final = 20
_LARGEST: Final = 1 << 53
_E = TypeVar("_E", bound=StrEnum)


def encode_config(config: Config) -> bytes:
    about, raw, source = config.about, config.raw, config.about.source
    return _json(
        {
            "schema": SCHEMA,
            "id": about.id,
            "title": about.title,
            "version": about.version,
            "architecture": about.architecture,
            "firmware": list(about.firmware),
            "data_source": about.data_source,
            "growth": about.growth,
            "default_user": about.default_user,
            "licence": about.licence,
            "least_disk": about.least_disk,
            "raw": {"size": raw.size, "digest": raw.digest, "frame_size": raw.frame_size},
            "source": {
                **({"url": source.url} if source.url else {"file": source.file}),
                "digest": source.digest,
                "size": source.size,
                "format": source.format,
                "compression": source.compression,
                "verified": source.verified,
                "signer": source.signer,
            },
        }
    )


def decode_config(content: bytes, *, kept: bool = False) -> Config:
    """Raises Invalid with all problems of a configuration that is none.  Keys that are not known are left alone.

    Of one that is `kept` already, since a release that took any text as a default user, such a text is read as none.
    """
    what = "the system image's configuration"
    fields = _Fields(_object(content, MAX_CONFIG, what))
    if fields.number("schema") != SCHEMA:
        raise Invalid(f"{what} is not of schema {SCHEMA}: a newer tinkbox made it; use that one")
    raw, source = fields.inside("raw"), fields.inside("source")
    config = Config(
        about=About(
            id=fields.matching("id", ID, MAX_ID),
            title=fields.text("title"),
            version=fields.matching("version", TAG),
            architecture=fields.member("architecture", Architecture, Architecture.X86_64),
            firmware=fields.members("firmware", Firmware),
            data_source=fields.member("data_source", DataSource, DataSource.NONE),
            growth=fields.member("growth", Growth, Growth.NONE),
            default_user=fields.user("default_user", kept=kept),
            licence=fields.text("licence"),
            least_disk=fields.number("least_disk"),
            source=Source(
                url=source.text("url"),
                file=source.text("file"),
                digest=source.matching("digest", SOURCE_DIGEST),
                size=source.number("size"),
                format=source.member("format", Format, Format.RAW),
                compression=source.member("compression", Compression, Compression.NONE),
                verified=source.member("verified", Verified, Verified.NONE),
                signer=source.text("signer"),
            ),
        ),
        raw=_raw_disk(raw),
    )
    fields.refuse(what)
    return config


def encode_block_map(block_map: BlockMap) -> bytes:
    raw = block_map.raw
    frames = [[each.index, each.offset, each.length, each.digest] for each in block_map.frames]
    return _json({"size": raw.size, "frame_size": raw.frame_size, "digest": raw.digest, "frames": frames})


def decode_block_map(content: bytes) -> BlockMap:
    """Raises Invalid for a map that does not say where frames lie that make such a disk."""
    what = "the system image's block map"
    # A frame has four values, and little else does: what would take long to read is not read.
    if content.count(b"[") > MAX_FRAMES + 1 or content.count(b",") > 5 * MAX_FRAMES + 8 or content.count(b"{") > 1:
        raise Invalid(f"{what} has more than {MAX_FRAMES} frames")
    entry = _object(content, MAX_BLOCK_MAP, what)
    fields = _Fields(entry)
    raw = _raw_disk(fields)
    fields.refuse(what)
    listed = entry.get("frames")
    if not isinstance(listed, list):
        raise Invalid(f"{what}: frames is no list")
    frames: list[Frame] = []
    count, index, end = -(-raw.size // raw.frame_size), -1, 0
    for each in listed:
        frame = _frame(each, what)
        if not index < frame.index < count or frame.offset < end:
            raise Invalid(f"{what}: frame {frame.index} is out of order, or beyond the disk's end")
        index, end = frame.index, frame.offset + frame.length
        frames.append(frame)
    return BlockMap(raw=raw, frames=tuple(frames))


def manifest_text(config: bytes, disk: tuple[str, int], block_map: bytes, annotations: Mapping[str, str]) -> bytes:
    """The OCI manifest of a configuration, a disk's blob (digest, size) and a block map."""
    return _json(
        {
            "schemaVersion": 2,
            "mediaType": OCI_MANIFEST,
            "artifactType": ARTIFACT_TYPE,
            "config": descriptor(CONFIG_TYPE, digest_of(config), len(config)),
            "layers": [
                descriptor(DISK_TYPE, *disk),
                descriptor(BLOCK_MAP_TYPE, digest_of(block_map), len(block_map)),
            ],
            "annotations": dict(annotations),
        }
    )


def index_text(manifest: bytes, names: tuple[str, ...]) -> bytes:
    """The `index.json` of an OCI layout in which one manifest has several names."""
    described = descriptor(OCI_MANIFEST, digest_of(manifest), len(manifest))
    entries = [{**described, "artifactType": ARTIFACT_TYPE, "annotations": {REF_NAME: name}} for name in names]
    return _json({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": entries})


def descriptor(media_type: str, digest: str, size: int) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": digest, "size": size}


def digest_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _raw_disk(fields: "_Fields") -> RawDisk:
    raw = RawDisk(
        size=fields.number("size", 1, MAX_DISK),
        digest=fields.matching("digest", SHA256),
        frame_size=fields.number("frame_size"),
    )
    if raw.frame_size != FRAME:
        fields.wrong("frame_size", f"is not {FRAME}")
    return raw


def _frame(entry: Any, what: str) -> Frame:
    if isinstance(entry, list) and len(entry) == 4:
        index, offset, length, digest = entry
        whole = all(type(each) is int and 0 <= each < _LARGEST for each in (index, offset, length))
        if whole and 0 < length <= MAX_FRAME_LENGTH and isinstance(digest, str) and _HEX.match(digest):
            return Frame(index, offset, length, digest)
    raise Invalid(f"{what}: a frame is [number, offset, length, sha256 in hex], not {str(entry)[:100]}")


def _object(content: bytes, limit: int, what: str) -> Mapping[str, Any]:
    if len(content) > limit:
        raise Invalid(f"{what} has more than {limit} bytes")
    try:
        entry = read_json(content)
    except (ValueError, RecursionError):
        raise Invalid(f"{what} is no JSON") from None
    if not isinstance(entry, dict):
        raise Invalid(f"{what} is no JSON object")
    return entry


def _json(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode(errors="replace")


class _Fields:
    """The fields of an object; what is wrong with them is gathered, and told once by `refuse`."""

    def __init__(self, entry: Mapping[str, Any], place: str = "", problems: list[Problem] | None = None) -> None:
        self._entry = entry
        self._place = place
        self._problems: list[Problem] = [] if problems is None else problems

    def refuse(self, what: str) -> None:
        if self._problems:
            raise Invalid(f"{what} is wrong", self._problems)

    def wrong(self, name: str, text: str) -> None:
        if len(self._problems) < _MOST_PROBLEMS:
            self._problems.append(Problem(key=f"{self._place}{name}", text=text))

    def inside(self, name: str) -> "_Fields":
        entry = self._entry.get(name)
        if not isinstance(entry, dict):
            self.wrong(name, "is missing or is no object")
            entry = {}
        return _Fields(entry, f"{self._place}{name}.", self._problems)

    def text(self, name: str) -> str:
        """A text in one line, empty when it is not there."""
        value = self._entry.get(name, "")
        if isinstance(value, str) and len(value) <= MAX_WORDS and (value.isprintable() or not value):
            return value
        self.wrong(name, f"is no text in one line of at most {MAX_WORDS} characters")
        return ""

    def user(self, name: str, *, kept: bool) -> str:
        value = self._entry.get(name, "")
        if isinstance(value, str) and (not value or USER.match(value)):
            return value
        if not kept:
            told = f"{str(value)[:60]!r} is no name of a user, which has {USER_FORM}"
            self.wrong(name, f"{told}: fetch the image anew, or import it with another --default-user")
        return ""

    def matching(self, name: str, pattern: re.Pattern[str], limit: int = MAX_WORDS) -> str:
        value = self._entry.get(name)
        if isinstance(value, str) and len(value) <= limit and pattern.match(value):
            return value
        self.wrong(name, "is missing or not of the form that it must have")
        return ""

    def number(self, name: str, least: int = 0, most: int = _LARGEST) -> int:
        value = self._entry.get(name)
        if type(value) is int and least <= value <= most:
            return value
        self.wrong(name, f"is no whole number from {least} to {most}")
        return least

    def member(self, name: str, kind: type[_E], fallback: _E) -> _E:
        value = self._entry.get(name)
        if isinstance(value, str) and value in kind._value2member_map_:
            return kind(value)
        self.wrong(name, f"is none of {', '.join(kind)}")
        return fallback

    def members(self, name: str, kind: type[_E]) -> tuple[_E, ...]:
        values = self._entry.get(name)
        if isinstance(values, list) and len(values) <= len(kind) and all(str(each) in list(kind) for each in values):
            return tuple(kind(str(each)) for each in values)
        self.wrong(name, f"is no list of {', '.join(kind)}")
        return ()
