"""Workflows with services, and hosts that do as they are told, for tests of what the appliance makes of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tests.integration.engine.appliance import Appliance
from tinkbox.model.services import APPLIANCE, Phase, Standing
from tinkbox.wire.ephemeral_data import Entry, decode, encode
from tinkbox.wire.messages.hosting import Wanted, WantedService

SERVED = """\
version: "0.1"
name: served
services:
  - {name: boot files, worker: provisioner, image: "files:v1", timeout: 60}
  - {name: receiver, worker: "{{.host}}", image: "receiver:v1", timeout: 90}
tasks:
  - {name: install, worker: "{{.device_1}}", actions: [{name: one, image: x, timeout: 60}, {name: two, image: x, timeout: 60}]}
"""
OWN = """\
version: "0.1"
name: own
services:
  - {name: boot files, worker: provisioner, image: "files:v1", timeout: 60}
tasks:
  - {name: install, worker: "{{.device_1}}", actions: [{name: one, image: x, timeout: 60}]}
"""
MACHINE, OTHER, HOST = 1, 2, 9


@dataclass
class Host:
    """A host as the appliance sees it: it has what it says, and says all of it every time."""

    box: Appliance
    id: str = APPLIANCE
    has: dict[str, Standing] = field(default_factory=dict)
    wanted: Wanted = field(default_factory=Wanted)

    async def ask(self) -> list[str]:
        """Ask what is wanted; returns the names of it."""
        self.wanted = await self.box.services.wanted(self.id, self.wanted.mark) or self.wanted
        return [each.service.spec.name for each in self.wanted.services]

    def told(self, name: str = "", workflow_id: str = "") -> WantedService:
        """The only service, or the only one so called, that it was told of."""
        (only,) = (
            each
            for each in self.wanted.services
            if name in {"", each.service.spec.name} and workflow_id in {"", each.workflow_id}
        )
        return only

    async def say(self, name: str, phase: Phase, **told: object) -> None:
        """Say where a service stands, and the others as before."""
        run = self.told(name).run
        self.has[run] = replace(self.has.get(run, Standing(run=run, phase=phase)), phase=phase, **told)
        await self.repeat()

    async def repeat(self) -> None:
        await self.box.services.observed(self.id, tuple(self.has.values()))

    async def obey(self) -> None:
        """Have everything that is wanted ready, and nothing else."""
        await self.ask()
        runs = [each.run for each in self.wanted.services]
        self.has = {run: self.has.get(run) or Standing(run=run, phase=Phase.READY) for run in runs}
        await self.repeat()

    async def write(self, name: str = "", **files: str) -> int:
        """Everything that a service has in its /workflow."""
        return await self.box.services.keep_data(self.id, self.told(name).run, packed(files))


async def hosts(box: Appliance) -> tuple[Host, Host]:
    """The appliance's own host, and that of a machine."""
    return Host(box), Host(box, await box.machine(HOST))


async def served(box: Appliance, text: str = SERVED, machine: int = MACHINE) -> str:
    """A workflow of a machine, with services on the appliance and on another one; returns its id."""
    for number in (machine, HOST):
        await box.machine(number)
    return await box.workflow(text, device_1=machine, host=HOST)


async def phases(box: Appliance, workflow_id: str) -> list[str]:
    return [each.standing.phase.value for each in (await box.workflows.get(workflow_id)).services]


async def told_of(box: Appliance, workflow_id: str) -> list[str]:
    """The events about services, in order: `ready boot files`."""
    events = [(*event.kind.split("."), event.data) for event in await box.workflows.events(workflow_id)]
    return [f"{what} {data['service']}" for subject, what, data in events if subject == "service"]


def packed(files: Mapping[str, str]) -> bytes:
    return encode(Entry(path=path, content=content.encode()) for path, content in files.items())


def unpacked(archive: bytes) -> dict[str, str]:
    return {entry.path: (entry.content or b"").decode() for entry in decode(archive)}
