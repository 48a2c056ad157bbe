"""System images: the disk of an operating system, kept in the registry as an OCI artifact.

The raw disk is cut into frames of FRAME bytes, each compressed by itself.  A block map says which frame lies where in the
blob, so that a machine writes only what is not all zeros, and checks each frame by its digest.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

FRAME: Final = 4 << 20
LATEST: Final = "latest"
# What a raw disk may have; more is refused on the way in, and by whoever reads a block map.
MAX_DISK: Final = 1 << 40
USUAL_MAX_DISK: Final = 64 << 30
MAX_ID: Final = 128
MAX_WORDS: Final = 2048

ARTIFACT_TYPE: Final = "application/vnd.tinkbox.system-image.v1"
CONFIG_TYPE: Final = "application/vnd.tinkbox.system-image.config.v1+json"
DISK_TYPE: Final = "application/vnd.tinkbox.disk.v1.raw+zstd"
BLOCK_MAP_TYPE: Final = "application/vnd.tinkbox.block-map.v1+json"

# A repository of one part: with a slash, what is before it could be taken for a registry's host.
ID: Final = re.compile(r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*\Z")
# A user as useradd(8) takes one: people copy it into `ssh USER@ADDRESS`.
USER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,31}\Z")
USER_FORM: Final = "up to 32 letters, digits, _, . and -, the first a letter or _"
# Of a file, as its publisher tells it.
SOURCE_DIGEST: Final = re.compile(r"(?:sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})\Z")


class Architecture(StrEnum):
    X86_64 = "x86_64"
    AARCH64 = "aarch64"


class Firmware(StrEnum):
    BIOS = "bios"
    UEFI = "uefi"


class DataSource(StrEnum):
    """Where the installed system looks for what it is to be."""

    NOCLOUD = "nocloud"
    EC2 = "ec2"
    IGNITION = "ignition"
    TALOS = "talos"
    NONE = "none"


class Growth(StrEnum):
    """What makes the root file system as large as the disk."""

    CLOUD_INIT = "cloud-init"
    NONE = "none"


class Verified(StrEnum):
    """How far the source file is known to be its publisher's."""

    SIGNED = "signed"
    SUMS = "sums"
    TYPED = "typed"
    NONE = "none"


class Format(StrEnum):
    RAW = "raw"
    QCOW2 = "qcow2"
    TAR = "tar"  # of a root file system, of which a disk is made


class Compression(StrEnum):
    NONE = "none"
    GZIP = "gzip"
    XZ = "xz"
    BZIP2 = "bzip2"
    ZSTD = "zstd"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The file that an image was made of: from a `url`, or a local `file` by its name.

    Packing fills in `digest` and `size` where they are not known, and always `format` and `compression`.  A digest or a size
    that is given is checked.  When it was fetched is not said: the same file, proven in the same way, is the same image.
    """

    url: str = ""
    file: str = ""
    digest: str = ""
    size: int = 0
    format: Format = Format.RAW
    compression: Compression = Compression.NONE
    verified: Verified = Verified.NONE
    signer: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What is known of an image before it is packed.

    Where `firmware` is empty, it is told by the partition table; where `least_disk` is 0, it is the size of the raw disk.
    """

    id: str
    version: str
    source: Source
    title: str = ""
    architecture: Architecture = Architecture.X86_64
    firmware: Sequence[Firmware] = ()
    data_source: DataSource = DataSource.NOCLOUD
    growth: Growth = Growth.CLOUD_INIT
    default_user: str = ""
    licence: str = ""
    least_disk: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RawDisk:
    """The disk itself, as it was before anything was compressed."""

    size: int
    digest: str
    frame_size: int = FRAME


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What the artifact says of itself: `about` with everything filled in, and the raw disk."""

    about: About
    raw: RawDisk


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame that is not all zeros: its number, where it lies in the blob, and the SHA-256 of its raw bytes, in hex."""

    index: int
    offset: int
    length: int
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockMap:
    """Which frame is where; a number that is not listed is all zeros."""

    raw: RawDisk
    frames: Sequence[Frame] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemImage:
    """An image as it was packed: `digest` is its manifest's, `stored` how many bytes its blobs have together.

    `warnings` are sentences for the person who packed it.
    """

    config: Config
    digest: str
    stored: int
    written: int = field(default=0)  # raw bytes of the frames that are not all zeros
    warnings: Sequence[str] = ()

    @property
    def reference(self) -> str:
        return f"{self.config.about.id}:{self.config.about.version}"


class Stage(StrEnum):
    """What packing is at."""

    CHECKING = "checking"
    UNPACKING = "unpacking"
    PACKING = "packing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far packing is, in bytes of the file (checking, unpacking) or of the disk; `total` is 0 while it is not known."""

    stage: Stage
    done: int
    total: int
