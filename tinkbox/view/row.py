"""One row of the list: a machine with how it stands."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from tinkbox.model.command_lines import about
from tinkbox.model.reasons import Reason, to_do
from tinkbox.view.standing import Standing, work_of
from tinkbox.wire.messages.named_machines import SHORT_ID
from tinkbox.wire.messages.status import MachineLine, StrangerLine, WorkLine

_NUMBERS: Final = re.compile(r"([0-9]{1,18})")
_NEVER: Final = float("inf")

NaturalKey = tuple[tuple[int, int, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A machine, known or not: `line` is what was told of it, `since` when what it is at began.

    `searched` is what a filter looks into, in small letters, and `ids` is what it knows by its beginning, those of the machine, its
    rollout and its workflow; `by_name` sorts node9 before node10.
    """

    line: MachineLine | StrangerLine
    machine: MachineLine
    name: str
    standing: Standing
    since: datetime | None
    by_name: NaturalKey
    searched: str = ""
    ids: tuple[str, ...] = ()

    @property
    def work(self) -> WorkLine | None:
        """What the row shows of its work, and what keys act on."""
        return work_of(self.machine)

    @property
    def is_problem(self) -> bool:
        """Whether it waits for a person: by how it stands, as its worker works and is silent, or as the doctor found a fault of it."""
        return self.standing.is_problem or self.machine.silent_since is not None or self.machine.is_fault

    @property
    def age_key(self) -> float:
        """Sorts what began last first."""
        return -self.since.timestamp() if self.since else _NEVER


def natural_key(name: str) -> NaturalKey:
    """Sorts numbers in a name by their value."""
    parts = _NUMBERS.split(name.lower())
    return tuple((1, int(part), "") if index % 2 else (0, 0, part) for index, part in enumerate(parts))


def advice_of(machine: MachineLine) -> str:
    """What to do about what is done with a machine, as a line that names the workflow and the machine in its commands; or empty."""
    work = work_of(machine)
    hint = machine.lost_hint or (work.hint if work is not None else "")
    if not hint:
        return ""
    called = machine.name or machine.hostname or machine.mac
    if work is None:
        return f"what to do: {about(hint, machine=called)}"
    told = about(hint, workflow=work.id[:SHORT_ID], machine=called, service=work.service, template=work.template)
    return to_do(Reason.HISTORY_LOST if machine.lost_hint else work.reason, hint, told)
