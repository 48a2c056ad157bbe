"""What `workflow watch` tells a person beside the events: the machines' boots, how far an action is, what to do after a failure."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from tinkbox.cli.called_as import called_as
from tinkbox.cli.output.formats import Document, short
from tinkbox.cli.output.printable import clean, moment, now
from tinkbox.cli.output.progress_line import ProgressLine
from tinkbox.cli.wording.hints import advice_of, may_have_printed
from tinkbox.model.actions.progress import Progress, in_words
from tinkbox.model.breakpoint import VERDICTS, Kind
from tinkbox.model.errors import NotFound
from tinkbox.wire.messages.named_machines import machine_name

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator

# Of the looks at a workflow, every how manieth is at its machines too.
SELDOM: Final = 4


class Companions:
    """Looks beside the events of one workflow, on a terminal; elsewhere it is silent, so that a line is an event."""

    def __init__(self, chosen: argparse.Namespace, operator: "Operator", workflow_id: str) -> None:
        self._operator = operator
        self._workflow_id = workflow_id
        self._program = called_as(chosen)
        self._wanted = sys.stdout.isatty()
        self._line = ProgressLine(in_words, sys.stdout)
        self._machines: Sequence[Document] = ()
        self._stages: dict[str, str] = {}
        self._looks = 0
        self._drawn = False

    async def introduce(self) -> None:
        """Say which workflow this is, and on which machines."""
        if not self._wanted:
            return
        state = await self._operator.workflows.state(self._workflow_id)
        self._machines = state["machines"]
        names = ", ".join(map(machine_name, self._machines)) or "no machine"
        print(clean(f"Workflow {state['name']} ({short(self._workflow_id)}) on {names}"), flush=True)

    def make_room(self) -> None:
        """Before a line is printed: what is drawn goes."""
        if self._drawn:
            self._line.close()
            self._drawn = False

    async def look(self) -> None:
        """Tell what the machines' boots have come to, and draw how far the action is."""
        if not self._wanted:
            return
        with suppress(NotFound):  # it is being deleted
            if self._looks % SELDOM == 0:
                for machine in self._machines:
                    await self._look_at(machine)
            self._looks += 1
            far = (await self._operator.workflows.state(self._workflow_id)).get("action_progress")
            if far:
                self._line(Progress(**far))
                self._drawn = True

    def held(self, held: Document) -> None:
        """Say what to type when something is held."""
        if not self._wanted:
            return
        first, *others = VERDICTS[Kind(held["breakpoint"])]
        key = short(held["workflow_id"])
        print(
            f"    look into it:  {self._program} breakpoint shell {key}\n"
            f"    decide:        {self._program} breakpoint {first} {key}   (or {', '.join(others)}, extend)",
            flush=True,
        )

    async def failed(self) -> None:
        """Say what helps."""
        if not self._wanted:
            return
        with suppress(NotFound):
            for line in self._helping(await self._operator.workflows.state(self._workflow_id)):
                print(clean(line), flush=True)

    def _helping(self, state: Document) -> Iterator[str]:
        key = short(self._workflow_id)
        if advice := advice_of(state, self._workflow_id):
            title, _, told = advice.partition(": ")
            yield f"    {f'{title}:':<17} {told}"
        yield f"    where it stands:  {self._program} workflow state {key}"
        if may_have_printed(state, self._program):
            yield f"    what it printed:  {self._program} workflow logs {key}"
        yield f"    once more:        {self._program} workflow retry {key}"

    async def _look_at(self, machine: Document) -> None:
        seen = await self._operator.hardware.get(machine["id"])
        if seen["stage"] and self._stages.get(machine["id"]) != seen["stage"]:
            self._stages[machine["id"]] = seen["stage"]
            self.make_room()
            at = moment(seen["stage_at"] or now().isoformat())
            print(clean(f"{at}  {'machine.stage':<18} {machine_name(machine)}: {seen['stage']}"), flush=True)
