"""Where the appliance fetches images of another registry that it lacks, and what keeps it from that."""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto


@dataclass(frozen=True, slots=True, kw_only=True)
class Mirror:
    """The registry that is asked for what a host has.

    `url` has no slash at its end; a path in it is the beginning of the names of repositories there.  The password is the first
    line of a file, empty for none.
    """

    url: str
    username: str = ""
    password_file: str = ""


class MirrorFault(Enum):
    """What keeps all of a mirror from coming.

    Its name has no address, its port is shut, there is no way to it, its certificate is not taken, nothing is heard of it, our login
    is not taken, we ask too often, or it answers as no registry does.
    """

    NAME = auto()
    REFUSED = auto()
    UNREACHABLE = auto()
    CERTIFICATE = auto()
    SILENT = auto()
    LOGIN = auto()
    LIMIT = auto()
    ANSWER = auto()


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
