"""Which machine a `kind: Workflow` refers to by name."""

from collections.abc import Collection, Iterable
from contextlib import suppress

from tinkbox.model.documents.kubernetes import identity
from tinkbox.model.errors import Invalid
from tinkbox.model.hardware import Hardware, MacAddress, called, names_of


class References:
    """Machines by their names and addresses, as documents name them; of two machines with the same id the later counts."""

    def __init__(self, machines: Iterable[Hardware]) -> None:
        self._by_id = {each.id: each for each in machines}
        self._by_name: dict[str, Hardware] = {}
        self._by_address: dict[str, Hardware] = {}
        for each in self._by_id.values():
            for name in names_of(each):
                self._by_name.setdefault(name, each)
            addresses = (each.id, each.agent_id, *(one.mac for one in each.interfaces), *map(str, each.addresses))
            self._by_address |= {address: each for address in addresses if address}

    def named(self, namespace: str, name: str) -> Hardware | None:
        """The machine of this name in a namespace, else any of that name or hostname."""
        found = self._by_id.get(identity(namespace, name))
        # No other: it may have been renamed since.
        return found if found is not None and found.name == name else self._by_name.get(name)

    def of(self, machine_id: str) -> Hardware | None:
        """The machine of exactly this id."""
        return self._by_id.get(machine_id)

    def at(self, address: str) -> Hardware | None:
        """The machine that has a MAC, however it is spelled, an address, an agent id or an id."""
        spelled = address
        with suppress(Invalid):
            spelled = MacAddress(address)
        return self._by_address.get(spelled)


def runs_elsewhere(referred: Hardware, workers: Collection[Hardware]) -> str:
    """What to say of a workflow whose `hardwareRef` is none of its workers, as Tinkerbell allows; empty: it is one."""
    if not workers or any(each.id == referred.id for each in workers):
        return ""
    others = ", ".join(dict.fromkeys(map(called, workers)))
    return (
        f"its template is filled from machine {called(referred)}, and its actions run on {others}, whose MAC or address "
        f"hardwareMap has: if {called(referred)} is meant, give its own there"
    )
