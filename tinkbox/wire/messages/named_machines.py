"""Machines as documents name them that are about something else, such as workflows: by id, name, host name and MAC."""

from collections.abc import Mapping
from typing import Any, Final

from tinkbox.model.text import counted

SHORT_ID: Final = 8  # letters


def machine_name(machine: Mapping[str, Any]) -> str:
    """What people call a machine; of one that was deleted there is only the beginning of its id."""
    return str(machine["name"] or machine["hostname"] or machine["mac"] or machine["id"][:SHORT_ID])


def machines_of(workflow: Mapping[str, Any]) -> str:
    """The name of the only one, else how many they are; empty for none."""
    machines = workflow["machines"]
    return machine_name(machines[0]) if len(machines) == 1 else counted(len(machines), "machine") if machines else ""
