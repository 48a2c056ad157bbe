"""Where the appliance fetches images of another registry that it lacks, and what keeps it from that."""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto

from tinkbox.model.errors import Invalid
from tinkbox.model.images.references import official, parse_reference


@dataclass(frozen=True, slots=True, kw_only=True)
class Mirror:
    """The registry that is asked for what a host has.

    `url` has no slash at its end; a path in it is the beginning of the names of repositories there.  The password is the first
    line of a file, empty for none.
    """

    url: str
    username: str = ""
    password_file: str = ""


def host_asked(image: str) -> str:
    """The host whose mirror would be asked for an image, as repositories have it; empty for one that no mirror has."""
    try:
        kept = parse_reference(image).kept_as
    except Invalid:
        return ""
    host, slash, _ = (official(kept) or kept).partition("/")
    return host if slash else ""


class MirrorFault(Enum):
    """What keeps all of a mirror from coming.

    Its name has no address, its port is shut, there is no way to it, it speaks no TLS where it should, it agrees on none with us, its
    certificate is not taken, nothing is heard of it, our login is not taken, we ask too often, it answers with an error, or it is
    something else than a registry.
    """

    NAME = auto()
    REFUSED = auto()
    UNREACHABLE = auto()
    NO_TLS = auto()
    OTHER_TLS = auto()
    CERTIFICATE = auto()
    SILENT = auto()
    LOGIN = auto()
    LIMIT = auto()
    ANSWER = auto()
    NO_REGISTRY = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorTrouble:
    """The mirror of `host` at `url` gives nothing since `since`; `fault` and `why`, for people, are of the newest try, at `at`.

    `looked` tells that looks at the mirror itself fail, `pulled_at` when a pull failed last; None: none did lately.
    """

    host: str
    url: str
    fault: MirrorFault
    why: str
    since: datetime
    at: datetime
    looked: bool
    pulled_at: datetime | None = None
