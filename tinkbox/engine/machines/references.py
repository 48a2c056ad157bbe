"""Which machine a `kind: Workflow` refers to by name."""

from collections.abc import Iterable
from contextlib import suppress

from tinkbox.model.errors import Invalid
from tinkbox.model.hardware import Hardware, MacAddress
from tinkbox.model.kubernetes import identity


class References:
    """Machines by their names and addresses, as documents name them; of two machines with the same id the later counts."""

    def __init__(self, machines: Iterable[Hardware]) -> None:
        self._by_id = {each.id: each for each in machines}
        self._by_name: dict[str, Hardware] = {}
        self._by_address: dict[str, Hardware] = {}
        for each in self._by_id.values():
            for name in (each.name, *(one.hostname for one in each.interfaces)):
                if name:
                    self._by_name.setdefault(name, each)
            addresses = (each.agent_id, *(at for one in each.interfaces for at in (one.mac, one.address)))
            self._by_address |= {str(address): each for address in addresses if address}

    def named(self, namespace: str, name: str) -> Hardware | None:
        """The machine of this name in a namespace, else any of that name or hostname."""
        found = self._by_id.get(identity(namespace, name))
        # No other: it may have been renamed since.
        return found if found is not None and found.name == name else self._by_name.get(name)

    def at(self, address: str) -> Hardware | None:
        """The machine that has a MAC, however it is spelled, an address or an agent id."""
        spelled = address
        with suppress(Invalid):
            spelled = MacAddress(address)
        return self._by_address.get(spelled)
