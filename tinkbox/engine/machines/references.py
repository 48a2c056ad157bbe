"""Which machine a `kind: Workflow` refers to by name."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from tinkbox.engine.lookup import MOST_TOLD
from tinkbox.model.hardware import (
    Hardware,
    addressed_by,
    called,
    mac_of,
    names_of,
    namespace_of,
    spelled_address,
    told_namespace,
)


class References:
    """Machines by their names and addresses, as documents name them; of two machines with the same id the later counts."""

    def __init__(self, machines: Iterable[Hardware]) -> None:
        self._by_id = {each.id: each for each in machines}
        self._by_name: dict[str, list[Hardware]] = defaultdict(list)
        self._by_address: dict[str, Hardware] = {}
        for each in self._by_id.values():
            for name in names_of(each):
                self._by_name[name].append(each)
            self._by_address |= dict.fromkeys(addressed_by(each), each)

    def named(self, namespace: str, name: str, beside: Iterable[str] = ()) -> Hardware | None:
        """The one machine that a reference means (`meant`); None: there is none, or it may be any of several."""
        found = self.meant(namespace, name, beside)
        return found[0] if len(found) == 1 else None

    def meant(self, namespace: str, name: str, beside: Iterable[str] = ()) -> Sequence[Hardware]:
        """The machines that a document of a namespace may mean by a name, of which there is one where that is clear.

        The one of its own namespace, else one without a namespace, else the only one of that name; what a machine is called comes
        before the other hostnames that it has.  Of several it is the one whose MAC or address is among those `beside` the name.
        """
        having = self._by_name.get(name, ())
        calling = [each for each in having if called(each) == name]
        found = _nearest(calling or having, namespace)
        if len(found) > 1 and len(there := self._at_any(found, beside)) == 1:
            return there
        return found

    def ambiguity(self, namespace: str, name: str, beside: Sequence[str], *, is_structured: bool) -> str:
        """What to say of a reference that may mean several machines, with the ways out; empty: it does not.

        One of v1alpha2 `is_structured`: it has a namespace of its own, and an `agentID` in place of a `hardwareMap`.
        """
        found = self.meant(namespace, name, beside)
        if len(found) < 2:
            return ""
        named = sorted(map(told_apart, found))[:MOST_TOLD]
        more = f" and {len(found) - MOST_TOLD} more" if len(found) > MOST_TOLD else ""
        ways: list[str] = []
        if len({namespace_of(each) for each in found if each.name}) == len(found):
            place = "hardwareRef" if is_structured else "the Workflow"
            ways.append(f"give {place} the namespace of the one that is meant")
        if not self._at_any(found, beside):
            ways.append(f"name it by its MAC in {'agentID' if is_structured else 'hardwareMap'} as well")
        way_out = ", or ".join(ways) or "rename one of them with `tinkbox hardware edit MAC --name NAME`"
        return f"hardware {name} is ambiguous for namespace {namespace}: it fits {', '.join(named)}{more}: {way_out}"

    def of(self, machine_id: str) -> Hardware | None:
        """The machine of exactly this id."""
        return self._by_id.get(machine_id)

    def at(self, address: str) -> Hardware | None:
        """The machine that has a MAC or an id, however these are spelled, an address or an agent id."""
        return self._by_address.get(spelled_address(address))

    def _at_any(self, machines: Iterable[Hardware], addresses: Iterable[str]) -> list[Hardware]:
        """Those of the machines that have one of these addresses."""
        there = {found.id for each in addresses if (found := self.at(each)) is not None}
        return [each for each in machines if each.id in there]


def _nearest(machines: Sequence[Hardware], namespace: str) -> Sequence[Hardware]:
    """Those of a namespace, else those without one, which are documents of 2020, else all."""
    own = [each for each in machines if each.name and namespace_of(each) == namespace]
    return own or [each for each in machines if not each.name] or machines


def told_apart(machine: Hardware) -> str:
    """What tells a machine from others that are called as it is: `k1 of namespace a (02:00:00:00:00:01)`."""
    return f"{called(machine)} of {told_namespace(machine)} ({mac_of(machine) or machine.id})"


def runs_elsewhere(referred: Hardware, workers: Collection[Hardware]) -> str:
    """What to say of a workflow whose `hardwareRef` is none of its workers, as Tinkerbell allows; empty: it is one."""
    if not workers or any(each.id == referred.id for each in workers):
        return ""
    namesakes = [each for each in workers if called(each) == called(referred)]
    tell = told_apart if namesakes else called
    others = ", ".join(dict.fromkeys(map(tell, workers)))
    spaces = [namespace_of(each) for each in namesakes if each.name and namespace_of(each) != namespace_of(referred)]
    moving = f", and if {tell(namesakes[0])} is, give the Workflow its namespace" if len(spaces) == 1 else ""
    return (
        f"its template is filled from machine {tell(referred)}, and its actions run on {others}, whose MAC or address "
        f"hardwareMap has: if {tell(referred)} is meant, give its own there{moving}"
    )
