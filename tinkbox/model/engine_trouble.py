"""Why a container engine cannot be asked."""

from dataclasses import dataclass
from enum import Enum, auto


class EngineFault(Enum):
    """What stands in the way: the socket's path leads nowhere, or to no socket; its rights; nobody listens; no answer, or another one."""

    NO_SOCKET = auto()
    NOT_A_SOCKET = auto()
    NO_RIGHT = auto()
    REFUSED = auto()
    SILENT = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineTrouble:
    """`why` is what was seen, for people; `url` is as the setting `docker` has it.

    `others` are the URLs of sockets of engines that this host has, where the setting's is none.
    """

    fault: EngineFault
    why: str
    url: str
    others: tuple[str, ...] = ()
