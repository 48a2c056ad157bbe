"""What stands against a document that is to take the place of a machine's present one.  Pure."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from shlex import quote

from tinkbox.model.documents.hardware import ID_ANNOTATION, kept_id
from tinkbox.model.documents.kubernetes import identity
from tinkbox.model.hardware import Hardware, called, names_of, namespace_of


def claims(hardware: Hardware) -> set[tuple[str, str]]:
    """What a machine is recognised by: its MACs and addresses."""
    return {
        *((each.mac, str(each.address or "")) for each in hardware.interfaces),
        *(("", str(each.address)) for each in hardware.without_mac if each.address),
    }


def known_by(hardware: Hardware) -> set[tuple[str, str]]:
    """What workflows that are not over know a machine by: what it is recognised by, and its agent id."""
    return claims(hardware) | ({("agent", hardware.agent_id)} if hardware.agent_id else set())


def workflow_in_the_way(stored: Hardware, wanted: Hardware, needing: Callable[[str], Sequence[str]]) -> str:
    """The unfinished workflow that knows a machine by what would change (`known_by`); empty: there is none.

    `needing` has the ids of the unfinished workflows that need a machine, by its id.
    """
    return next(iter(needing(stored.id)), "") if known_by(stored) != known_by(wanted) else ""


def needed(stored: Hardware, workflow: str, typed: Callable[[Hardware], str]) -> str:
    """That an unfinished workflow is in the way of a document, and the ways out; `typed` words a machine for a command."""
    return (
        f"workflow {workflow[:8]} is not over and knows machine {called(stored)} by its MACs, addresses and agent id: wait for it, "
        f"cancel it, or change them with `tinkbox hardware edit {typed(stored)} --force`"
    )


def name_in_the_way(
    stored: Hardware, wanted: Hardware, typed: Callable[[Hardware], str], named: Callable[[str], Iterable[str]]
) -> str:
    """Why a document of no id, whose name makes that of a machine, is not of that machine, and the way out; empty: it is.

    Namespace and name in a `kind: Hardware` that keeps no id (`kept_id`) make its id, also once the machine has others: such
    a document is meant for a new machine, and would replace that one.  `named` has the ids of the machines of a name or hostname.
    """
    if not wanted.name or kept_id(wanted.document):
        return ""
    names, now = [stored.name] if stored.name else names_of(stored), called(stored)
    if wanted.name in names:
        before, space = namespace_of(wanted), namespace_of(stored)
        if not stored.name or before == space:
            return ""
        return (
            f"machine {now} of namespace {space} was of namespace {before} before, and a document of that namespace would replace "
            f"it: choose another name, or give the document of the same machine its id, {_with_id(stored.id)}"
        )
    if any(each != stored.id for each in named(wanted.name)):  # and keeps it
        way_out = f"give the document of the same machine its id, {_with_id(stored.id)}"
    else:
        way_out = f"give it back with `tinkbox hardware edit {typed(stored)} --name {quote(wanted.name)}`"
    return (
        f"machine {now} was called {wanted.name} before, and a document of that name would replace it: choose another name, or "
        f"{way_out}"
    )


def id_in_the_way(stored: Hardware, wanted: Hardware) -> str:
    """Why a document that says the id of a machine is of another machine all the same, and the ways out; empty: it is not.

    An id that was made of a name is the same on every appliance: a machine that was renamed on another one has there the id of
    the machine that has the name here.  Two documents of 2020 have ids that people chose.
    """
    if not (stored.name or wanted.name) or (wanted.name and not kept_id(wanted.document)):
        return ""
    known, told = _marks(stored), _marks(wanted)
    if not known or not told or known & told or _is_called_so(stored, wanted):
        return ""
    name = "name" if called(stored) != called(wanted) else "namespace"
    agent = ", nor this agent id" if wanted.agent_id else ""
    apart = "give the document another id, which is any new UUID"
    if wanted.name and identity(namespace_of(wanted), wanted.name) != stored.id:
        apart += f", or leave the annotation {ID_ANNOTATION} out"
    return (
        f"the id {stored.id} is that of machine {called(stored)} here, which has neither this {name} nor any of these MACs{agent}, "
        f"so the document is of another machine: {apart}. If it is the same machine, change its {name} first, and its MACs in a "
        "second step"
    )


def agent_in_the_way(wanted: Hardware, reserved: Collection[str]) -> str:
    """Why a machine cannot have its agent id, of those that mean the appliance itself; empty: it can."""
    if not wanted.agent_id or wanted.agent_id not in reserved:
        return ""
    return f"agent id {wanted.agent_id} is what templates call the appliance itself: choose another one"


def namesakes(
    machines: Iterable[Hardware], stored: Mapping[str, Hardware], others: Iterable[Hardware]
) -> Iterator[tuple[Hardware, Hardware]]:
    """Of machines of today's format that are to be stored: those that get the name of another in its namespace, and that one.

    `stored` are the same machines as they are, by id, and `others` are those beside them.  What has its name already keeps it.
    """
    wanted = [each for each in machines if each.name]
    new = [each for each in wanted if _is_newly_named(each, stored.get(each.id))]
    keeping = {each.id for each in wanted} - {each.id for each in new}
    holders = {_place(each): each for each in (*others, *(each for each in wanted if each.id in keeping)) if each.name}
    for each in new:
        holder = holders.setdefault(_place(each), each)
        if holder.id != each.id:
            yield each, holder


def new_names(machines: Iterable[Hardware], stored: Mapping[str, Hardware]) -> set[str]:
    """The names that machines of today's format do not have yet, in any namespace or in that of their documents."""
    return {each.name for each in machines if _is_newly_named(each, stored.get(each.id))}


def name_taken(holder: Hardware) -> str:
    """That another machine has the namespace and name of a document, and the ways out."""
    return (
        f"the machine with the id {holder.id} is called {holder.name} in namespace {namespace_of(holder)}: choose another name, "
        f"or give the document of the same machine its id, {_with_id(holder.id)}"
    )


def _is_newly_named(wanted: Hardware, stored: Hardware | None) -> bool:
    return bool(wanted.name) and (stored is None or not stored.name or _place(stored) != _place(wanted))


def _with_id(hardware_id: str) -> str:
    return f"under metadata: `annotations: {{{ID_ANNOTATION}: {hardware_id}}}`"


def _place(hardware: Hardware) -> tuple[str, str]:
    """What a `kind: Hardware` is known by among documents."""
    return namespace_of(hardware), hardware.name


def _marks(hardware: Hardware) -> set[tuple[str, str]]:
    """What no other machine in the world has: its MACs and its agent id."""
    macs = {("mac", str(each.mac)) for each in hardware.interfaces}
    return macs | ({("agent", hardware.agent_id)} if hardware.agent_id else set())


def _is_called_so(one: Hardware, other: Hardware) -> bool:
    if one.name and other.name:
        return _place(one) == _place(other)
    return not set(names_of(one)).isdisjoint(names_of(other))
