"""Documents of one machine, or of one name, that stand several times in what is given at once.  Pure."""

from collections.abc import Hashable, Sequence
from typing import Final, TypeVar

from tinkbox.model.hardware import Hardware, called, namespace_of

SUPERSEDED: Final = "{what} is declared again at {place}, which counts: this document is left out"
D = TypeVar("D")


def machine_key(hardware: Hardware) -> tuple[str, ...]:
    """What is the same of two documents of which the later takes the place of the other."""
    return hardware.id, called(hardware), namespace_of(hardware)


def name_field(hardware: Hardware) -> str:
    """The field of its document by which it is known."""
    return "metadata.name" if hardware.name else "id"


def superseded(documents: Sequence[tuple[Hashable, D]]) -> list[tuple[D, D]]:
    """Of documents in their order, each with its key, those whose key comes again, beside the last that has it: as with kubectl."""
    last = dict(documents)
    return [(each, last[key]) for key, each in documents if last[key] is not each]


def one_machine(first: Hardware, second: Hardware, place: str) -> str:
    """What to do with two documents of one machine that differ in its name or namespace; the first stands at that place."""
    what, which = ("moved", "namespace that it is in") if has_moved(first, second) else ("renamed", "name that it has")
    return (
        f"hardware {called(second)} has the id of {called(first)} at {place}: it is one machine that was {what}. Delete the "
        f"document of the {which} no more"
    )


def has_moved(first: Hardware, second: Hardware) -> bool:
    """Whether a machine keeps its name and is in another namespace; one without a name has none."""
    return bool(first.name) and first.name == second.name and namespace_of(first) != namespace_of(second)
