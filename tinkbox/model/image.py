"""Names of container images, by the grammar of the distribution project (`reference` package)."""

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from tinkbox.model.errors import Invalid

_HOST = re.compile(
    r"(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*(?::\d{1,5})?\Z"
)
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
REPOSITORY = re.compile(rf"{_PART}(?:/{_PART})*\Z")
TAG = re.compile(r"\w[\w.-]{0,127}\Z", re.ASCII)
DIGEST = re.compile(r"sha256:[0-9a-f]{64}\Z")


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

    def at(self, host: str) -> str:
        """The full name when pulled from `host`."""
        name = f"{host}/{self.repository}"
        return f"{name}@{self.digest}" if self.digest else f"{name}:{self.tag or 'latest'}"

    def __str__(self) -> str:
        name = f"{self.host}/{self.repository}" if self.host else self.repository
        name = f"{name}:{self.tag}" if self.tag else name
        return f"{name}@{self.digest}" if self.digest else name


def parse_reference(text: str) -> Reference:
    """Take an image name apart; raises Invalid when it is none.

    As in Docker, the first part is a registry host when it contains a dot or a colon or is
    `localhost`; otherwise the name has no host and comes from the appliance's own registry.
    """
    name, _, digest = text.partition("@")
    host = ""
    first, slash, rest = name.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        host, name = first, rest
    repository, _, tag = name.partition(":")
    if (
        not REPOSITORY.match(repository)
        or len(repository) > 255
        or (host and not _HOST.match(host))
        or (":" in name and not TAG.match(tag))
        or ("@" in text and not DIGEST.match(digest))
    ):
        raise Invalid(f"invalid image name {text[:200]!r}: expected [HOST/]repository[:tag][@sha256:…], lower case")
    return Reference(host=host, repository=repository, tag=tag, digest=digest)


@lru_cache(maxsize=1024)
def pinned(image: str, digest: str) -> str:
    """The image's name with the digest of its bytes, `debian:12@sha256:…`; without a digest the name as it is."""
    return str(replace(parse_reference(image), digest=digest)) if digest else image
