"""Machines as documents name them that are about something else, such as workflows."""

from tinkbox.api.json_values import NamedIdentity
from tinkbox.engine.machines.machines import Machines
from tinkbox.model.hardware import hostname_of, mac_of


class NamedMachine(NamedIdentity):
    """A machine as people call it, with the MAC of its first interface."""

    hostname: str
    mac: str


def named_machine(machines: Machines, hardware_id: str) -> NamedMachine:
    """What people call a machine; of one that was deleted there is only the id."""
    record = machines.known.get(hardware_id)
    return {
        "id": hardware_id,
        "name": machines.known.name(hardware_id),
        "hostname": hostname_of(record.hardware) if record else "",
        "mac": mac_of(record.hardware) if record else "",
    }
