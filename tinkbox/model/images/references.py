"""Names of container images, by the grammar of the distribution project (`reference` package)."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from tinkbox.model.errors import Invalid

_HOST = re.compile(
    r"(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*(?::\d{1,5})?\Z"
)
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
REPOSITORY = re.compile(rf"{_PART}(?:/{_PART})*\Z")
MAX_REPOSITORY = 255
TAG = re.compile(r"\w[\w.-]{0,127}\Z", re.ASCII)
SHA256 = re.compile(r"sha256:[0-9a-f]{64}\Z")
# What OCI's image-spec registers ("Digests": "Registered algorithms").
ALGORITHMS = ("sha256", "sha512")
DIGEST = re.compile(r"(?:sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})\Z")
_DOCKER_HUB = ("docker.io", "index.docker.io", "registry-1.docker.io")  # the first is how it is spelled
# A host with its port as `Reference.kept_as` writes it.  Without a dot it looks like any part of a name, and stays one.
_KEPT_HOST = re.compile(r"([^_/:@]*\.[^_/:@]*|localhost)_(\d{1,5})\Z", re.ASCII)
# A host with its port, where no name follows it.
_REGISTRY = re.compile(r"(?:[^/:@]*\.[^/:@]*|localhost):\d{1,5}\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """An image name in its parts; `host` is empty when the name carries no registry."""

    repository: str
    host: str = ""
    tag: str = ""
    digest: str = ""

    @property
    def selector(self) -> str:
        """What picks the manifest within the repository: the digest, else the tag, else `latest`."""
        return self.digest or self.tag or "latest"

    @property
    def as_docker_means(self) -> "Reference":
        """What Docker takes the name for: `docker.io/library/alpine` for `alpine` and for `index.docker.io/alpine`.

        Docker looks for a name without a host at Docker Hub, and in `library` there when the name has one part alone.  A name
        with another host stays as it is.
        """
        if self.host and self.host.lower() not in _DOCKER_HUB:
            return self
        repository = self.repository if "/" in self.repository else f"library/{self.repository}"
        return replace(self, host=_DOCKER_HUB[0], repository=repository)

    @property
    def kept_as(self) -> str:
        """The repository of the appliance's own registry that it is kept in: `HOST/PATH`, or the path where it has no host.

        The repository may be too long for a registry.  A port stands behind `_`, which no host has and a repository may have
        (`lab.example_5000/tools/wipe`).  Docker Hub has one spelling: `docker.io/library/alpine` for `index.docker.io/alpine`.
        """
        if not self.host:
            return self.repository
        meant = self.as_docker_means
        return f"{meant.host.lower().replace(':', '_')}/{meant.repository}"

    @property
    def pulled(self) -> str:
        """The full name to pull it by from its host: with the digest alone where it has one."""
        name = f"{self.host}/{self.repository}"
        return f"{name}@{self.digest}" if self.digest else f"{name}:{self.tag or 'latest'}"

    def __str__(self) -> str:
        name = f"{self.host}/{self.repository}" if self.host else self.repository
        name = f"{name}:{self.tag}" if self.tag else name
        return f"{name}@{self.digest}" if self.digest else name


def parse_reference(text: str) -> Reference:
    """Take an image name apart; raises Invalid when it is none.

    As in Docker, the first part is a registry host when it contains a dot or a colon or is
    `localhost`; otherwise the name has no host and comes from the appliance's own registry.  A port may stand behind `_`, as
    a repository has it (`Reference.kept_as`).  Any other `_` makes the part one of the repository, as no host has one.
    """
    name, _, digest = text.partition("@")
    first, slash, rest = name.partition("/")
    host = _host_in(first) if slash else ""
    if host:
        name = rest
    repository, _, tag = name.partition(":")
    if (
        not REPOSITORY.match(repository)
        or len(repository) > MAX_REPOSITORY
        or (host and not _HOST.match(host))
        or (":" in name and not TAG.match(tag))
    ):
        raise Invalid(f"invalid image name {text[:200]!r}: expected [HOST/]repository[:tag][@sha256:…], lower case")
    if "@" in text and not DIGEST.match(digest):
        raise Invalid(
            f"invalid image name {text[:200]!r}: a digest is sha256: with all of its 64 hexadecimal digits, or sha512: with 128 "
            "(`tinkbox image list -o wide` shows them)"
        )
    return Reference(host=host, repository=repository, tag=tag, digest=digest)


def _host_in(first: str) -> str:
    """The host that the first of several parts of a name is; empty: none."""
    if kept := _KEPT_HOST.match(first):
        return f"{kept[1]}:{kept[2]}"
    return first if ":" in first or first == "localhost" or ("." in first and "_" not in first) else ""


def as_typed(repository: str) -> str:
    """What a person types for a repository of the appliance's own registry: `lab.example:5000/wipe` for `lab.example_5000/wipe`.

    It turns `Reference.kept_as` back.  Raises Invalid for what no repository is called.
    """
    return str(parse_reference(repository))


def official(repository: str) -> str:
    """Where the official image of Docker Hub is kept that a repository's name of one part means to Docker; empty: it means none.

    `docker.io/library/alpine` for `alpine`.  Docker alone publishes there.
    """
    kept = "" if "/" in repository else Reference(repository=repository).as_docker_means.kept_as
    return kept if len(kept) <= MAX_REPOSITORY else ""


def familiar(repository: str) -> str:
    """The name without a host that Docker writes for a repository of Docker Hub, as in what `docker save` makes; empty: of others.

    `alpine` for `docker.io/library/alpine`, `tools/wipe` for `docker.io/tools/wipe`.
    """
    host, _, path = repository.partition("/")
    if host != _DOCKER_HUB[0]:
        return ""
    short = path.removeprefix("library/")
    return path if "/" in short else short


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Where an image is asked for, in this order: each name with the registry that it is pulled from."""

    names: tuple[Reference, ...]

    @classmethod
    def of(cls, image: Reference, registry: str, *, appliance_only: bool) -> "Sources":
        """The appliance's `registry` first, then the host in the image's name unless it is asked for in the appliance only."""
        if image.host == registry:
            return cls(names=(image,))
        ours = replace(image, host=registry, repository=image.kept_as)
        if not image.host or appliance_only:
            return cls(names=(ours,))
        return cls(names=(ours, image) if len(ours.repository) <= MAX_REPOSITORY else (image,))

    def pinned(self, digest: str) -> "Sources":
        """The same for these bytes."""
        return Sources(names=tuple(replace(each, digest=digest) for each in self.names))


@dataclass(frozen=True, slots=True, kw_only=True)
class StandIns:
    """Images that run instead of those that templates name.

    A key of `images` is a name with its tag, a name for all its tags, or the beginning of names up to a slash, such as a
    registry; the longest that fits counts.  What stands for it has a tag or digest when it stands for one whole name, and
    otherwise gets that of the template.
    """

    images: Mapping[str, str] = field(default_factory=dict)

    def meant(self, image: str) -> str:
        """What runs where a template says `image`; raises Invalid when it or what stands for it is no image name."""
        if not self.images:
            return image
        said = parse_reference(image)
        known_as = list(_known_as(said))
        for known, rest in known_as:
            if not (rest or said.digest) and (whole := self.images.get(f"{known}:{said.selector}")):
                return whole
        for known, rest in known_as:
            if other := self.images.get(known):
                if _REGISTRY.match(other) and not rest:
                    raise Invalid(f"{image}: {other} is a registry: name the image in it that stands for {known}")
                if not _means_one(other):
                    return str(replace(parse_reference(f"{other}{rest}"), tag=said.tag, digest=said.digest))
                if rest:
                    raise Invalid(
                        f"{image}: {other} has a tag, so it stands for one image: name the whole of it, not {known}"
                    )
                return other
        return image


def _known_as(image: Reference) -> Iterator[tuple[str, str]]:
    """What a person may call the repository of an image, or its beginning up to a slash, the longest first; each with the rest.

    One of Docker Hub has several names to Docker: `docker.io/alpine` and `docker.io/library/alpine` are the same.
    """
    meant = image.as_docker_means if image.host else image
    hosts = _DOCKER_HUB if meant.host == _DOCKER_HUB[0] else (meant.host,)
    parts = meant.repository.split("/")
    short = familiar(meant.kept_as)
    paths = [(meant.repository, ""), *([(short, "")] if short not in ("", meant.repository) else [])]
    paths += [("/".join(parts[:count]), "/" + "/".join(parts[count:])) for count in range(len(parts) - 1, -1, -1)]
    for path, rest in paths:
        for host in hosts:
            if known := f"{host}/{path}".strip("/"):
                yield known, rest


def check_stand_in(name: str, image: str) -> None:
    """Raises Invalid for a key or a value that `StandIns` cannot have."""
    key = parse_reference(name)
    if key.digest:
        raise Invalid(f"a digest means these bytes and no others: leave it out of {name}")
    if str(key) != name:
        raise Invalid(f"write {key} instead of {name}")
    if not _means_one(image) and _means_one(name):
        raise Invalid(f"{name} is one image: name one with a tag instead, such as {image}:{key.tag}")


def _means_one(name: str) -> bool:
    """Whether it has a tag or digest; raises Invalid when it is no image name."""
    found = parse_reference(name)
    return not _REGISTRY.match(name) and bool(found.tag or found.digest)


def algorithm_of(digest: str) -> str:
    """What a digest was made by: `sha256` or `sha512`."""
    return digest.partition(":")[0]


def digest_of(content: bytes, algorithm: str = "sha256") -> str:
    """The digest of these bytes by one of ALGORITHMS."""
    return f"{algorithm}:{hashlib.new(algorithm, content).hexdigest()}"


@lru_cache(maxsize=1024)
def pinned(image: str, digest: str) -> str:
    """The image's name with the digest of its bytes, `debian:12@sha256:…`; without a digest the name as it is."""
    return str(replace(parse_reference(image), digest=digest)) if digest else image
