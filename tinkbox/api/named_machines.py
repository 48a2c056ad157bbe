"""Machines as documents name them that are about something else, such as workflows."""

from tinkbox.api.json_values import Document
from tinkbox.engine.machines.machines import Machines
from tinkbox.model.hardware import primary


def named_machine(machines: Machines, hardware_id: str) -> Document:
    """What people call a machine; of one that was deleted there is only the id."""
    record = machines.known.get(hardware_id)
    shown = primary(record.hardware) if record else None
    return {
        "id": hardware_id,
        "name": machines.known.name(hardware_id),
        "hostname": shown.hostname if shown else "",
        "mac": shown.mac if shown else "",
    }
