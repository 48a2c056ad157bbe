"""Values that several documents have."""

from dataclasses import asdict
from datetime import datetime
from typing import Any

from tinkbox.model.hardware import Hardware
from tinkbox.model.workflow import Outcome

Document = dict[str, Any]


def time(moment: datetime | None) -> str | None:
    """ISO 8601 in UTC."""
    return moment.isoformat() if moment else None


def outcome(ended: Outcome | None) -> Document | None:
    return asdict(ended) if ended else None


def machine_names(machine: Hardware) -> list[str]:
    """What people may call a machine; some may be empty."""
    return [machine.name, *(each.hostname for each in machine.interfaces)]
