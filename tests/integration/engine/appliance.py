"""The engine over a real store, with a clock and tokens that tests control."""

import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from uuid import UUID

from tests.integration.store.stores import counted, opened_store
from tests.people import Bearers
from tests.workers import opening
from tinkbox.engine.engine import Engine, EngineSettings, Surroundings
from tinkbox.engine.machines.absences import SILENCE
from tinkbox.engine.machines.boot_plan import dhcp_plan
from tinkbox.engine.machines.boot_tickets import Seal
from tinkbox.engine.secrets.key import key_source
from tinkbox.engine.templates.binding import Names
from tinkbox.model.boot import Plan
from tinkbox.model.diagnosis import Diagnosis
from tinkbox.model.documents.hardware import parse_hardware
from tinkbox.model.enrolment import HttpsBoot
from tinkbox.model.hardware import MacAddress
from tinkbox.model.history import History, fold
from tinkbox.model.images.standing import ImageStanding, Source, WantedImage
from tinkbox.model.limits import DECLARED, Limits
from tinkbox.model.session import TpmRule
from tinkbox.model.workflow import Outcome, State
from tinkbox.private_files import kept_secret
from tinkbox.store.database import Store
from tinkbox.store.services import ServiceRun
from tinkbox.wire.messages.worker import Hello, Leaving, Offer, Order, Report

ADDRESS = "172.30.0.1"
DOMAIN = "workflows.tinkbox.internal"
AUTHORITY = "-----BEGIN CERTIFICATE-----\nMIJvd24=\n-----END CERTIFICATE-----\n"
HELLO = """\
version: "0.1"
name: hello_world_workflow
global_timeout: 600
tasks:
  - name: "hello world"
    worker: "{{.device_1}}"
    actions:
      - name: "hello_world"
        image: hello-world
        timeout: 60
      - name: "second"
        image: tools/second:v1
        environment: {MODE: 0644}
"""
RELAY = """\
version: "0.1"
name: relay
tasks:
  - {name: first, worker: "{{.a}}", actions: [{name: one, image: x}, {name: two, image: x}]}
  - {name: second, worker: "{{.b}}", actions: [{name: three, image: x}]}
  - {name: third, worker: "{{.a}}", actions: [{name: four, image: x}]}
"""


@dataclass
class Clock:
    """The time of day, and beside it a steady clock, which no `jump` of the other moves."""

    now: datetime = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
    seconds: float = 5_000.0

    def __call__(self) -> datetime:
        return self.now

    def steady(self) -> float:
        return self.seconds

    def forward(self, seconds: float) -> None:
        self.jump(seconds)
        self.seconds += seconds

    def jump(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


class Appliance(Engine):
    """The appliance's engine, with what tests ask of it in a word; `folder` is where it keeps its recordings."""

    def __init__(
        self, store: Store, folder: Path, clock: Clock, numbers: Iterator[int], tpm_rule: TpmRule = TpmRule.FIRST
    ) -> None:
        self.store = store
        self.clock = clock
        self.numbers = numbers
        self.registry: dict[str, str] = {}  # digests by the names of images; one with a registry's host is another's
        self.damaged: dict[str, str] = {}  # what is said of those that are
        self.lacking_systems: set[str] = set()  # system images that are not kept, by their names
        self.appliance_only: set[str] = set()  # the names of images that no other registry is asked for
        self.neighbours: dict[str, MacAddress] = {}
        self.attached: set[str] = set()
        self.boots: dict[str, list[str]] = {}
        self.octets_sent = 0
        self.bearers = Bearers()
        self.diagnoses: Mapping[str, Diagnosis] = {}  # the gravest of each machine, by MAC
        self.told_of: dict[str, str] = {}  # what the doctor says of workflows, by their ids
        self.cause: Callable[[str, datetime | None], str] = lambda workflow, _: self.told_of.get(workflow, "")
        around = Surroundings(
            clock=clock,
            monotonic=clock.steady,
            new_id=lambda: str(UUID(int=(next(numbers) << 96) + 7)),
            new_token=lambda: f"token-{next(numbers)}",
            digest_of=self._digest_of,
            standing_of=self._standing,
            appliance_only=lambda image: image in self.appliance_only,
            seal=Seal(b"key"),
            neighbours=lambda address: self.neighbours.get(address),
            attached=lambda address: address in self.attached,
            gather=lambda workflow_id: self.gather(workflow_id),
            limits=Limits(DECLARED, clock.steady),
            free=lambda: 2**40,
            bearers=self.bearers,
            sent=lambda: self.octets_sent,
            diagnoses=lambda: self.diagnoses,
            diagnosis_of=lambda workflow, since: self.cause(workflow, since),
        )
        settings = EngineSettings(
            names=Names(name="provisioner", address=ADDRESS, domain=DOMAIN),
            url=f"http://{ADDRESS}",
            recordings=folder / "recordings",
            osie=folder / "osie",
            images=folder / "registry",
            mode="reservation",
            tpm_rule=tpm_rule,
            https_boot=HttpsBoot.ENROLL,
            authority=AUTHORITY,
            secret_key=key_source(folder, "", kept_secret),
        )
        super().__init__(store, around, settings)

    def _digest_of(self, image: str) -> str | None:
        if "@" in image:
            return image.partition("@")[2]
        return None if "." in image else self.registry.get(image, "")

    def _standing(self, image: WantedImage) -> ImageStanding:
        name, damage = image.name, self.damaged.get(image.name, "")
        if image.system and name in self.lacking_systems:
            return ImageStanding(source=Source.NOBODY)
        if image.system or name in self.registry:
            return ImageStanding(source=Source.APPLIANCE, damage=damage)
        if "." in name:
            return ImageStanding(source=Source.HOST, host=name.partition("/")[0])
        return ImageStanding(source=Source.NOBODY)

    async def gather(self, workflow_id: str) -> bool:
        """What services wrote until now is handed over: by default they write nothing."""
        return False

    def dhcp_plan(self, number: int, *, netboots: bool = True) -> Plan | None:
        """What a machine is told that asks by DHCP."""
        facts = self.machines.boot_facts.of(mac(number))
        return dhcp_plan(facts, netboots=netboots) if facts else None

    async def is_back(self, number: int) -> None:
        """A machine that went away by intention is seen booting, and its worker stays silent."""
        self.machines.progress.booted(mac(number))
        self.clock.forward(SILENCE)
        await self.returns.look()

    async def machine(self, number: int) -> str:
        """Push the hardware of machine `number`; returns its id."""
        hardware_id, document = str(UUID(int=number)), hardware(number)
        await self.machines.push(parse_hardware(json.dumps(document)))
        return hardware_id

    async def workflow(self, text: str = HELLO, **devices: int) -> str:
        """Create a workflow for machines given by their number; returns its id."""
        name = f"t{abs(hash(text))}"
        if not [each for each in await self.templates.all() if each.name == name]:
            await self.templates.create(name, text)
        named = devices or {"device_1": 1}
        return await self.workflows.create(name, {key: mac(number) for key, number in named.items()})

    async def session(self, worker: str, boot_id: str = "boot-1", address: str = "127.0.0.1") -> str:
        """Begin a session for a machine's worker, with a credential by hand; returns its secret."""
        return await self.exchange((await self.machines.credential(worker, "s", "r", "ann")).token, boot_id, address)

    async def exchange(self, ticket: str, boot_id: str = "boot-1", address: str = "127.0.0.1") -> str:
        """Exchange a boot ticket for a session; returns its secret.  No process of the worker is named."""
        wanted = opening(ticket, boot_id, instance="")
        await self.machines.sessions.exchange(ticket, wanted, address)
        return wanted.secret

    async def offer(self, worker: str, boot_id: str = "boot-1") -> Offer | None:
        """What a worker is offered; in a later boot it has exchanged its boot ticket before."""
        known = self.machines.sessions.boot_of(worker)
        boots = self.boots.setdefault(worker, [known] if known else [])
        if boots and boot_id not in boots:
            await self.session(worker, boot_id)
        boots.append(boot_id)
        return await self.attempts.offer(worker, Hello(boot_id=boot_id, secrets=True), private=True)

    async def leave(self, worker: str, offer: Offer, boot_id: str = "boot-1") -> None:
        await self.attempts.leave(worker, offer.attempt, Leaving(workflow_id=offer.workflow_id, boot_id=boot_id))

    async def data(self, worker: str, token: str) -> bytes:
        """What an attempt is given of its workflow's data."""
        return b"".join([piece async for piece in await self.attempts.data(worker, token)])

    async def stop_order(self, worker: str, offer: Offer) -> Order | None:
        """What the worker is told about stopping, if it is."""
        return (await self.breakpoints.orders(worker, offer.attempt)).stop

    async def report(
        self, worker: str, offer: Offer, state: State = State.SUCCESS, boot_id: str = "boot-1", **told: object
    ) -> None:
        report = Report(workflow_id=offer.workflow_id, boot_id=boot_id, outcome=Outcome(state=state, **told))
        await self.attempts.report(worker, offer.attempt, report)

    async def finish(self, worker: str) -> list[str]:
        """Run everything this worker is offered, successfully; returns the actions' names."""
        done = []
        while (offer := await self.offer(worker)) is not None:
            await self.report(worker, offer)
            done.append(offer.action.spec.name)
        return done

    async def runs(self, workflow_id: str, service: str) -> list[ServiceRun]:
        """Every run of a service, oldest first."""
        return await self.store.read(lambda tables: tables.services.runs(workflow_id, service))

    async def check_histories(self) -> None:
        """Every workflow's state, and that of each of its actions, is what its events add up to."""
        for workflow in await self.workflows.all():
            events = await self.workflows.events(workflow.id)
            assert [event.number for event in events] == list(range(1, len(events) + 1))
            stored = History(
                state=workflow.state,
                actions=tuple(each.state for each in workflow.actions),
                runs={
                    run.token: run.status.standing.phase
                    for each in workflow.services
                    for run in await self.runs(workflow.id, each.service.spec.name)
                },
            )
            assert fold(events) == stored, [(event.kind, dict(event.data)) for event in events]


def mac(number: int) -> MacAddress:
    return MacAddress(f"08:00:27:00:00:{number:02x}")


def address(number: int) -> str:
    return f"172.30.0.{10 + number}"


def hardware(number: int) -> dict[str, object]:
    dhcp = {
        "mac": mac(number),
        "hostname": f"machine-{number}",
        "ip": {"address": address(number), "netmask": "255.255.255.0", "gateway": "172.30.0.1"},
    }
    interface = {"dhcp": dhcp, "netboot": {"allow_pxe": True}}
    return {"id": str(UUID(int=number)), "network": {"interfaces": [interface]}}


@asynccontextmanager
async def appliance(
    path: Path,
    clock: Clock | None = None,
    numbers: Iterator[int] | None = None,
    tpm_rule: TpmRule = TpmRule.FIRST,
) -> AsyncIterator[Appliance]:
    """An engine over the store in `path`, its writer running; at its end every recorded run is checked, and what takes room.

    One that goes on where another was needs other `numbers` to make its ids and tokens of.
    """
    async with opened_store(path) as store:
        box = Appliance(store, path.parent, clock or Clock(), numbers or count(1), tpm_rule)
        await box.load()
        yield box
        await box.check_histories()
        said, anew = counted(path)
        assert said == anew, "what takes room, as it was counted and as it is"
