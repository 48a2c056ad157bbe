"""What installed systems ask for: who they are, by their token or by their address, and what is noted of it.

Rule 1: a token counts for its own machine.  A known machine that shows another one's is refused, and both are told of it.
Rule 2: an address counts where the kernel saw no other host there, and then for what is no secret, unless the operator
chose otherwise.
Rule 3: whatever is wrong with a token, the answer is the same.
"""

import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from tinkbox.engine.boot.booting import Booting
from tinkbox.engine.machines.machines import Machines
from tinkbox.engine.machines.metadata_tokens import PATH, MetadataTokens
from tinkbox.engine.metadata.instances import instance_of
from tinkbox.engine.workflows.metadata_mentions import PORTS
from tinkbox.model.boot import Stage
from tinkbox.model.errors import Forbidden, NotFound, TooMany
from tinkbox.model.hardware import Hardware, called
from tinkbox.model.metadata import Defaults, Instance, Metadata
from tinkbox.model.rates import Buckets, Rate
from tinkbox.model.sightings import OTHER_HOST
from tinkbox.model.text import quoted
from tinkbox.model.workflow import FINAL
from tinkbox.store.database import Store, Tables
from tinkbox.store.metadata import Installation

# One boot of cloud-init asks for a hundred leaves of EC2's tree at most.
READS: Final = Rate(burst=400, a_second=10)
REMEMBERED: Final = 8192
# What is asked for again within that time is one line of the timeline.
ONCE_IN: Final = timedelta(minutes=10)
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What the settings say: `lifetime` counts from the end of a workflow, `secrets` go to who is known by its address as well.

    `ports` are those on which who is known by its address is answered; none: it is answered nothing.
    """

    lifetime: timedelta = timedelta(days=1)
    secrets: bool = False
    ports: frozenset[int] = frozenset({80, *PORTS})
    defaults: Defaults = field(default_factory=Defaults)


@dataclass(frozen=True, slots=True)
class Shown:
    """What a token shows: a machine and the workflow whose system it is of."""

    workflow_id: str
    hardware: Hardware


class InstalledSystems:
    """`monotonic` is a steady clock in seconds."""

    def __init__(
        self,
        store: Store,
        machines: Machines,
        booting: Booting,
        tokens: MetadataTokens,
        policy: Policy,
        clock: Callable[[], datetime],
        monotonic: Callable[[], float],
    ) -> None:
        self._store = store
        self._machines = machines
        self._booting = booting
        self._tokens = tokens
        self._clock = clock
        self._monotonic = monotonic
        self.policy = policy
        self._reads = Buckets(READS, REMEMBERED)
        self._noted: OrderedDict[tuple[str, str, str], datetime] = OrderedDict()

    async def of_token(self, token: str, address: str, server: str) -> Instance:
        """The system that shows a token from an IPv4 address, at the node door's URL `server`; raises as `shown` does."""
        shown, installation = await self._shown(token, address)
        url = f"{server}{PATH}{token}"
        return instance_of(
            shown.hardware, installation.spec, self.policy.defaults, workflow_id=shown.workflow_id, url=url
        )

    async def shown(self, token: str, address: str) -> Shown:
        """Whose token it is.

        Raises NotFound for one that is none, or no longer counts, Forbidden for another machine's, TooMany for one that
        is shown too often.
        """
        return (await self._shown(token, address))[0]

    def made(self, token: str) -> bool:
        """Whether a token is one of ours, whether it still counts or not."""
        return self._tokens.opened(token) is not None

    async def of_address(self, address: str) -> Instance:
        """The system of the known machine that is seen at an IPv4 address; raises NotFound where none is, and TooMany."""
        machine = self._booting.asking_from(address)
        record = self._machines.known.get(machine) if machine else None
        if record is None:
            raise NotFound(
                f"no known machine asks from {address}: its hardware document has to name its address and its MAC"
            )
        self._count(machine)

        def question(tables: Tables) -> tuple[str, Metadata]:
            workflow_id = tables.metadata.newest(machine)
            found = tables.metadata.installation(workflow_id, machine) if workflow_id else None
            return workflow_id, found.spec if found else Metadata()

        workflow_id, spec = await self._store.look(question)
        return instance_of(record.hardware, spec, self.policy.defaults, workflow_id=workflow_id, by_address=True)

    def note(self, hardware: Hardware, what: str, agent: str, address: str, *, refused: bool = False) -> None:
        """Note that the system on a machine asked for something, once in a boot; `agent` is what the client calls itself.

        `refused` tells that its address alone did not prove enough for it.
        """
        mac = self._machines.progress.seen_last(hardware)
        client = client_name(agent)
        now, key = self._clock(), (hardware.id, what, client)
        before = self._noted.get(key)
        boots = (Stage.DISK_BOOTED, Stage.LOCAL_DISK)
        booted = self._machines.timeline.last(mac, lambda each: each.stage in boots) if mac else None
        if before is not None and now - before < ONCE_IN and not (booted and before < booted):
            return
        self._noted[key] = now
        self._noted.move_to_end(key)
        while len(self._noted) > REMEMBERED:
            self._noted.popitem(last=False)
        detail = ", ".join(filter(None, (what, client, "refused: metadata.by_address is public" if refused else "")))
        policy = {"refused": "yes"} if refused else {}
        self._booting.saw(mac, Stage.METADATA, detail, what=what, client=client, address=address, **policy)

    async def _shown(self, token: str, address: str) -> tuple[Shown, Installation]:
        opened = self._tokens.opened(token)
        workflow_id, machine = opened or ("", "")
        record = self._machines.known.get(machine) if opened else None
        if record is None:
            _log.info("%s asked for metadata with a token that is none", address, extra={"action": "metadata.unknown"})
            raise _no_metadata()
        self._refuse_other(record.hardware, address)
        self._count(token)
        found = await self._store.look(lambda tables: tables.metadata.installation(workflow_id, machine))
        if found is None or not found.newest or self._is_over(found):
            _log.info(
                "%s asked for metadata of %s with a token that no longer counts: its workflow is gone, older than the newest of "
                "the machine, or over since more than metadata.lifetime", address, called(record.hardware),
                extra={"action": "metadata.over", "holder": machine},
            )  # fmt: skip
            raise _no_metadata()
        return Shown(workflow_id, record.hardware), found

    def _is_over(self, found: Installation) -> bool:
        return found.state in FINAL and self._clock() - found.updated_at > self.policy.lifetime

    def _refuse_other(self, hardware: Hardware, address: str) -> None:
        """Raise Forbidden where another known machine asks."""
        asking = self._booting.machine_at(address)
        record = self._machines.known.get(asking) if asking and asking != hardware.id else None
        if record is None:
            return
        owner, other = called(hardware), called(record.hardware)
        remedy = (
            f"was its disk cloned to {other}? Install {other} by a workflow of its own; if somebody took the token, create the "
            f"workflow of {owner} anew"
        )
        _log.warning(
            "%s at %s showed the metadata token of %s and was refused: %s", other, address, owner, remedy,
            extra={"action": "metadata.stolen", "holder": asking},
        )  # fmt: skip
        saw, seen_last = self._machines.progress.saw, self._machines.progress.seen_last
        saw(seen_last(record.hardware), Stage.METADATA_REFUSED, f"of {owner}: {remedy}", machine=hardware.id)
        # It is not the machine that did this, so it is nowhere that the machine is.
        by = {OTHER_HOST: other}
        saw(seen_last(hardware), Stage.METADATA_STOLEN, f"{other}, {address}: {remedy}", machine=asking, **by)
        raise Forbidden("this token is another machine's")

    def _count(self, holder: str) -> None:
        if not self._reads.take(holder, self._monotonic()):
            raise TooMany("this machine asks for its metadata too often", round(20 / READS.a_second))


def client_name(agent: str) -> str:
    """What a client calls itself, as people read it: `cloud-init 25.1.4`."""
    name, slash, version = agent.split(" ")[0].partition("/")
    if slash and name.lower() == "cloud-init":
        return f"cloud-init {quoted(version, 20)[1:-1]}"
    return quoted(agent, 40)[1:-1] if agent else ""


def _no_metadata() -> NotFound:
    return NotFound("there is no metadata here: the token is wrong, or its workflow is over")
