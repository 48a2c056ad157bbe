"""A template is filled from the machine that runs its first task, whichever name of the device map means it.

Tinkerbell fills it from the Workflow's `hardwareRef` alone.  Without one the worker of the first task shows which machine is meant,
and that stands in the filled text.  So a template that reads its machine is filled from two of the machines in the map at first, and
where they show another one, from that; and from one more, which there is not: a worker that is another one then is read from the
machine itself, and nothing says which is meant.  What comes of it is the same for any order of the map.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from tinkbox.engine.templates.binding import WorkerNamed, not_found
from tinkbox.engine.templates.dialects import device_names, unmentioned
from tinkbox.engine.templates.references import Referents, no_referents, with_referents
from tinkbox.engine.templates.rendering import (
    GIVEN_BY,
    NO_WORKFLOW,
    RESERVED,
    Rendered,
    check_devices,
    render_each,
    rendering_data,
)
from tinkbox.engine.templates.surroundings import now
from tinkbox.engine.turns import in_slices
from tinkbox.model.devices import Devices, addresses
from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.hardware import Hardware, MacAddress, called, is_mac, mac_of, names_of
from tinkbox.thread_turns import Turn, in_thread

MACHINE: Final = ("Hardware", "hardware")  # what templates call the machine
ENOUGH: Final = 2  # machines that agree on who runs the first task
MOST: Final = 8  # machines that are tried where a template cannot be filled from one after the other
MOST_NAMED: Final = 5
Result = Rendered | Invalid


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A workflow to fill a template for; without a `machine` that is said, it is filled from the one that runs it.

    `marks_key` is that of its marks of secrets (`rendering_data`).
    """

    devices: Devices
    machine: Hardware | None = None
    workflow_id: str = NO_WORKFLOW
    marks_key: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """The machines that there are: by a MAC, IPv4 address, agent id or id.  `appliance` is what means the appliance itself.

    `referents` finds what machines refer to.
    """

    at: Callable[[str], Hardware | None]
    worker_named: WorkerNamed
    appliance: Collection[str]
    referents: Referents = no_referents


async def fill_each(
    text: str,
    several: Sequence[Wanted],
    lookup: Lookup,
    turn: Turn = nullcontext,
    *,
    apart: bool = False,
    way_out: str = GIVEN_BY,
    clock: Callable[[], datetime] = now,
) -> list[tuple[Hardware | None, Result]]:
    """What comes of a template for each of several workflows, each with the machine that it is filled from.

    Raises Invalid for what is wrong with all of them; the keywords are as for `render_each`.
    """
    moment = clock()
    is_open = any(each.machine is None for each in several)
    names, reads = await in_thread(turn, _mentions, text) if is_open else ((), False)
    async with turn():
        fillings = await in_slices(lambda each: _Filling(each, names, lookup, reads=reads), several)
    while asked := [(filling, machine) for filling in fillings for machine in filling.next()]:
        async with turn():
            data = await in_slices(lambda each: each[0].data(each[1]), asked)
        data = await with_referents(data, lookup.referents)
        rendered = await render_each(text, data, turn, apart=apart, way_out=way_out, clock=lambda: moment)
        for (filling, machine), result in zip(asked, rendered, strict=True):
            filling.take(machine, result)
    return [each.outcome() for each in fillings]


def _mentions(text: str) -> tuple[Sequence[str], bool]:
    """What a template calls machines, in its order, and whether it says anything of its own machine."""
    names = [each for each in device_names(text) if each not in RESERVED]
    return names, len(unmentioned(text, MACHINE)) < len(MACHINE)


@dataclass(slots=True)
class _Tried:
    """A template as it is filled from a machine, with the worker of its first task then, and the machine that this is; None: unknown.

    What shows another machine is not wanted any more: of it there is no result.
    """

    machine: Hardware | None
    is_filled: bool
    shown: str
    worker: Hardware | None
    result: Result | None


@dataclass(slots=True)
class _Filling:
    """One workflow's way to the machine that its template is filled from.

    `names` are what the template calls machines, in its order; `reads`: it says something of its machine.
    """

    wanted: Wanted
    names: Sequence[str]
    lookup: Lookup
    reads: bool = field(kw_only=True)
    _tried: dict[str, _Tried] = field(default_factory=dict)  # by the machine's id; empty: without one
    _candidates: Sequence[Hardware | None] = ()
    _lookalike: Hardware | None = None
    _is_circular: bool = False
    _refusal: Invalid | None = None

    def __post_init__(self) -> None:
        try:
            check_devices(self.wanted.devices)
        except Invalid as refusal:
            self._refusal = refusal
        self._candidates = [self.wanted.machine] if self.wanted.machine is not None else self._known() or [None]

    def data(self, machine: Hardware | None) -> Mapping[str, object]:
        """What the template is filled with."""
        return rendering_data(self.wanted.devices, machine, self.wanted.workflow_id, self.wanted.marks_key)

    def next(self) -> Sequence[Hardware | None]:
        """The machines to fill it from now; none: what comes of it is settled."""
        if self._refusal is not None or (self._tried and not self._chooses):
            return ()
        if not self._tried:
            return self._candidates[: ENOUGH if self._chooses else 1]
        workers = self._workers()
        if len(workers) > 1:
            return ()
        if workers and workers[0].id not in self._tried:
            return workers
        filled = sum(each.is_filled for each in self._tried.values())
        fails = bool(workers) and not self._tried[workers[0].id].is_filled
        left = [each for each in self._candidates[:MOST] if _id(each) not in self._tried]
        if left and filled < ENOUGH and not fails:
            return left[:1]
        if not workers or fails or self._lookalike is not None:
            return ()
        self._lookalike = _alike(workers[0])
        return [self._lookalike]

    def take(self, machine: Hardware | None, result: Result) -> None:
        """Take in what comes of it from a machine."""
        shown = result.definition.tasks[0].worker if isinstance(result, Rendered) and result.definition.tasks else ""
        if machine is not None and machine is self._lookalike:
            (worker,) = self._workers()
            self._is_circular = bool(shown) and shown != self._tried[worker.id].shown
            return
        worker_now = self.lookup.at(shown) if shown else None
        shows_another = self._chooses and worker_now is not None and worker_now.id != _id(machine)
        self._tried[_id(machine)] = _Tried(
            machine, isinstance(result, Rendered), shown, worker_now, None if shows_another else result
        )

    def outcome(self) -> tuple[Hardware | None, Result]:
        """What comes of it in the end, and of which machine."""
        if self._refusal is not None:
            return None, self._refusal
        workers = self._workers() if self._chooses else ()
        if len(workers) > 1 or self._is_circular:
            return None, _unsettled(workers)
        tried = list(self._tried.values())
        chosen = self._tried[workers[0].id] if workers else next((each for each in tried if each.is_filled), tried[0])
        assert chosen.result is not None
        if isinstance(chosen.result, Rendered):
            return chosen.machine, self._told(chosen.machine, chosen.result) if workers else chosen.result
        if self._chooses and not workers:
            of_data = [each for each in chosen.result.problems if each.key]
            if unknown := self._unknown():
                return chosen.machine, Invalid("the workflow cannot be bound to its machines", [*unknown, *of_data])
            if chosen.machine is None:
                return None, Invalid(str(chosen.result), [Problem(text=_NO_MACHINE), *chosen.result.problems])
        return chosen.machine, chosen.result

    @property
    def _chooses(self) -> bool:
        return self.reads and self.wanted.machine is None

    def _known(self) -> list[Hardware | None]:
        """The machines of the map, each once: first those that the template names, in its order."""
        found: dict[str, Hardware] = {}
        for name in (*self.names, *sorted(set(self.wanted.devices) - set(self.names))):
            for address in addresses({name: self.wanted.devices.get(name)}):
                if (machine := self.lookup.at(address)) is not None:
                    found.setdefault(machine.id, machine)
        return [*found.values()]

    def _workers(self) -> list[Hardware]:
        """The machines that run the first task, as it was filled so far."""
        return list({each.worker.id: each.worker for each in self._tried.values() if each.worker is not None}.values())

    def _unknown(self) -> list[Problem]:
        """The devices that the template names, and that are no machine: a template cannot be filled from such a one."""
        given = {name: address for name in self.names for address in addresses({name: self.wanted.devices.get(name)})}
        return [
            Problem(key=name, text=not_found(address, self.lookup.worker_named))
            for name, address in given.items()
            if address not in self.lookup.appliance and self.lookup.at(address) is None
        ]

    def _told(self, machine: Hardware | None, result: Rendered) -> Rendered:
        """The result with what there is to say where others than this machine act too."""
        acting = (self.lookup.at(task.worker) for task in result.definition.tasks)
        others = {each.id: each for each in acting if each is not None and each.id != _id(machine)}
        if machine is None or not others:
            return result
        text = (
            f"the template is filled from {_named([machine])}, the worker of its first task: .Hardware and .hardware are that "
            f"machine also in the tasks of {_named([*others.values()])}"
        )
        return replace(result, notes=(*result.notes, Problem(text=text)))


def _id(machine: Hardware | None) -> str:
    return machine.id if machine is not None else ""


_WAY_OUT: Final = "say which one is meant, by the hardwareRef of a kind: Workflow, or as MACHINE of `tinkbox workflow create -t TEMPLATE MACHINE`"
_NO_MACHINE: Final = f"the template reads its machine, and no machine that it was given is known here: {_WAY_OUT}"


def _unsettled(workers: Sequence[Hardware]) -> Invalid:
    named = _named(sorted(workers, key=lambda each: each.id), " or ")
    return Invalid(
        f"the template is filled from the machine that runs its first task, and that is another one for each that it is filled "
        f"from, such as {named}: {_WAY_OUT}"
    )


def _alike(machine: Hardware) -> Hardware:
    """A machine as this one, with other MACs, addresses and names, which no machine has."""
    told = {each.lower() for each in (machine.id, machine.agent_id, *names_of(machine), *map(str, machine.addresses))}
    others: dict[str, str] = {}

    def other(text: str) -> str:
        number = len(others)
        if is_mac(text):
            return others.setdefault(MacAddress(text), f"02:00:00:00:{number >> 8:02x}:{number & 255:02x}")
        if not text or text.lower() not in told:
            return text
        is_address = text in map(str, machine.addresses)
        return others.setdefault(text.lower(), f"192.0.2.{number % 256}" if is_address else f"alike-{number}")

    def changed(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {other(str(name)): changed(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [changed(each) for each in value]
        return other(value) if isinstance(value, str) else value

    return replace(machine, id=str(UUID(int=0)), document=changed(machine.document))


def _named(machines: Sequence[Hardware], between: str = ", ") -> str:
    told = between.join(f"{called(each)} ({mac_of(each) or each.id})" for each in machines[:MOST_NAMED])
    return f"{told} and {len(machines) - MOST_NAMED} more" if len(machines) > MOST_NAMED else told
