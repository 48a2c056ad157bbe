"""What the machines of a rollout are called now: since it was made they may have other names, and their names other machines."""

from collections.abc import Iterable
from dataclasses import replace

from tinkbox.engine.machines.known_machines import KnownMachines
from tinkbox.model.hardware import called, mac_of
from tinkbox.model.rollout import Member


def called_now(known: KnownMachines, members: Iterable[Member]) -> list[Member]:
    """The machines by their names of today.

    One that is not there any more keeps its name; where that means another machine by now, also one that was registered anew under
    it, it says that it was deleted.
    """
    return [replace(each, name=_name(known, each)) for each in members]


def _name(known: KnownMachines, member: Member) -> str:
    record = known.get(member.machine)
    if record is not None and record.created_at == member.registered:
        return called(record.hardware, mac_of(record.hardware))
    return f"{member.name} (deleted)" if known.means_any(member.name) else member.name
