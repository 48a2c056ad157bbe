"""Use-cases of workflow services: what their hosts are told, what they say, and what people see of it.

Both sides say everything that is, not what changed (`wire.services`): whoever lost a message sends or asks again, and what
is old or said twice does no harm.  A host is `APPLIANCE` or the id of a machine that its credential proved.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NoReturn

from tinkbox.engine.bells import SERVICES, Bells
from tinkbox.engine.directory import Directory
from tinkbox.engine.machines import Machines
from tinkbox.model.services import ServiceStatus, Standing
from tinkbox.model.workflow import State
from tinkbox.store.database import Store
from tinkbox.store.output import Piece
from tinkbox.wire.services import Wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A service with where its newest run stands, and the workflow that it belongs to."""

    workflow_id: str
    workflow: str
    state: State
    status: ServiceStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """What is kept of one run's output from some offset on; `status.output_length` counts every byte received."""

    workflow_id: str
    run: str
    status: ServiceStatus
    pieces: Sequence[Piece]


class Services:
    """A part, and the desk of all hosts.  `address` is the node door's IPv4 address.

    Wherever a `key` is asked, it is that of a workflow, as `Workflows` takes it, or that of a service: WORKFLOW/SERVICE,
    or SERVICE for the newest workflow that has one so called.
    `host_id` names this appliance among those that may use the same Docker engine; it is there after `load`.
    """

    def __init__(
        self,
        store: Store,
        bells: Bells,
        machines: Machines,
        clock: Callable[[], datetime],
        directory: Directory,
        address: str,
    ) -> None:
        self._store = store
        self._bells = bells
        self._machines = machines
        self._clock = clock
        self._directory = directory
        self._address = address
        self.host_id = ""

    async def load(self) -> None:
        """Learn what is stored; once, before anything is served."""
        raise NotImplementedError

    async def run(self) -> NoReturn:
        """Keep the directory as it should be, for ever."""
        raise NotImplementedError

    async def refresh(self) -> None:
        """Take over into the directory what was committed."""
        raise NotImplementedError

    async def wanted(self, host: str, seen: str) -> Wanted | None:
        """Everything that a host is to have; None when that has the mark `seen`.  Does not wait.

        From when a host is told of a run for the first time its `timeout` counts.
        """
        raise NotImplementedError

    async def wait(self, timeout: float) -> None:
        """Wait until something else may be wanted, at most `timeout` seconds."""
        await self._bells.wait(SERVICES, timeout)

    async def observed(self, host: str, standings: tuple[Standing, ...]) -> None:
        """Take note of everything that a host has; what it does not host is ignored."""
        raise NotImplementedError

    async def output(self, host: str, run: str, offset: int, chunk: bytes) -> int:
        """Append output that begins at byte `offset`; returns the offset wanted next.

        What is there already is skipped; what would leave a gap is not taken.  Raises NotFound for a run that this host
        does not have.
        """
        raise NotImplementedError

    async def keep_data(self, host: str, run: str, archive: bytes) -> int:
        """Merge everything that a run has in its /workflow into its workflow's data; returns the version with it in it.

        The same again makes no new version.  Raises NotFound for a run that this host does not have, Conflict for one
        that a retry has replaced, Invalid for what is no archive and TooLarge beyond the limit; then nothing changes.
        """
        raise NotImplementedError

    async def all(self, key: str = "") -> list[Listed]:
        """The services of one workflow, or of those that are not over and the newest of the others; oldest first.

        Raises NotFound, or Conflict when the key fits several.
        """
        raise NotImplementedError

    async def logs(self, key: str, offsets: Mapping[str, int]) -> list[Printed]:
        """What a service printed in each of its runs, in the order in which they began; a retry hides none.

        `offsets` maps runs to where the reader already is.  Raises NotFound, or Conflict when the key fits several.
        """
        raise NotImplementedError
