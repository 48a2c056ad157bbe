"""What a key means of the machines that are kept: the one rule of all who look machines up, in memory and in the store."""

import re
from collections.abc import Sequence
from shlex import quote
from typing import Final, Protocol

from tinkbox.model.hardware import Hardware, name_of
from tinkbox.model.keys import LEAST

_BEGINNING: Final = re.compile(
    rf"[0-9A-Fa-f-]{{{LEAST},36}}"
)  # for what begins no id, not all of them are looked through


class KeptMachines(Protocol):
    """Where machines are kept.  A Protocol because the store and the picture in memory are on different floors."""

    def has(self, hardware_id: str) -> bool: ...

    def at(self, address: str) -> str:
        """The id of the machine that has this MAC, however it is spelled, IPv4 address or agent id; empty: none has."""

    def named(self, name: str) -> Sequence[str]:
        """The ids of the machines that have this name, or an interface with this hostname."""

    def beginning(self, letters: str) -> Sequence[str]:
        """The ids that begin with these small letters."""


def meant(kept: KeptMachines, key: str) -> Sequence[str]:
    """The ids of the machines that a key means: its id, else all of its address or name, else all whose id begins so."""
    return exactly(kept, key) or beginning(kept, key)


def exactly(kept: KeptMachines, key: str) -> Sequence[str]:
    """The ids of the machines of which a key is the whole id, else an address or a name.

    What is the address of one machine and the name of another means both: neither may be taken for the other.
    """
    identity = key.lower()
    if kept.has(identity):
        return [identity]
    holder, named = kept.at(key), kept.named(key)
    return list(dict.fromkeys([holder, *named])) if holder else named


def key(kept: KeptMachines, hardware_id: str, name: str) -> str:
    """What means the machine of this id and no other: its name, or its id where that means others as well, or another."""
    return name if name and list(exactly(kept, name)) == [hardware_id] else hardware_id


def typed(kept: KeptMachines, hardware: Hardware) -> str:
    """What means this machine and no other in a command (`key`), quoted for a shell."""
    return quote(key(kept, hardware.id, name_of(hardware)))


def beginning(kept: KeptMachines, key: str) -> Sequence[str]:
    """The ids of the machines whose id begins so."""
    return kept.beginning(key.lower()) if _BEGINNING.fullmatch(key) else ()
