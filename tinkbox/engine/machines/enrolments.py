"""Which machines boot by HTTPS alone, since their firmware was given the appliance's authority.

Rule 1: a machine becomes one of these when its worker, in its session, says that the firmware trusts this authority.
Rule 2: nothing that is heard of the machine afterwards takes that back, for whoever is on the wire could say so.  A person does.
"""

from collections.abc import Callable
from datetime import datetime

from tinkbox.engine.machines.known_machines import KnownMachines
from tinkbox.engine.machines.sessions import Saw
from tinkbox.model.boot import Stage
from tinkbox.model.enrolment import Enrolment, Tls
from tinkbox.model.errors import Conflict, Denied
from tinkbox.model.hardware import Hardware, MacAddress
from tinkbox.store.database import Store
from tinkbox.wire.messages.enrolment import Enrolled

SHORT = len("SHA256:") + 24  # letters of a fingerprint for people


class Enrolments:
    """Enrolments of machines, by their ids; `authority` is the fingerprint of the appliance's now, empty: it has none."""

    def __init__(
        self,
        store: Store,
        clock: Callable[[], datetime],
        known: KnownMachines,
        saw: Saw,
        seen_last: Callable[[Hardware], MacAddress | None],
        authority: str,
    ) -> None:
        """`saw` notes what is told of a machine, whose timeline is kept under the MAC that `seen_last` gives."""
        self._store = store
        self._clock = clock
        self._known = known
        self._saw = saw
        self._seen_last = seen_last
        self.authority = authority
        self._by_machine: dict[str, Enrolment] = {}

    async def load(self) -> None:
        """Fill the picture in memory; once, before anything is served."""
        self._by_machine = {
            each.hardware_id: each for each in await self._store.read(lambda tables: tables.enrolments.all())
        }

    def of(self, hardware_id: str) -> Enrolment | None:
        """The one of a machine; None: it boots as it always did."""
        return self._by_machine.get(hardware_id)

    def has(self, hardware_id: str) -> bool:
        """Whether a machine boots by HTTPS alone."""
        return hardware_id in self._by_machine

    async def told(self, hardware_id: str, message: Enrolled) -> None:
        """Take in what a machine's worker tells of its firmware; the timeline shows it where it is news.

        Raises Conflict for an authority that is not this appliance's, Denied for a machine that is gone.
        """
        before = self.of(hardware_id)
        if not message.authority:
            still = ", and it boots by HTTPS alone" if before else ""
            self._note(hardware_id, Stage.NOT_ENROLLED, f"{message.why}{still}", why=message.why)
            return
        if message.authority != self.authority:
            raise Conflict("the firmware was given the authority of another appliance: boot the machine once more")
        if before is not None and before.authority == message.authority:
            return
        enrolment = Enrolment(hardware_id=hardware_id, authority=message.authority, at=self._clock())
        if not await self._store.write(lambda tables: tables.enrolments.put(enrolment)):
            raise Denied("this machine is not known any more")
        self._by_machine[hardware_id] = enrolment
        self._note(hardware_id, Stage.ENROLLED, f"authority {message.authority[:SHORT]}", authority=message.authority)

    async def forget(self, hardware_id: str, who: str) -> None:
        """For a person, let a machine boot by plain HTTP again, until its worker enrols it anew."""
        await self._store.write(lambda tables: tables.enrolments.forget(hardware_id))
        if self._by_machine.pop(hardware_id, None) is not None:
            self._note(hardware_id, Stage.HTTPS_DECIDED, f"{Tls.PLAIN}, by {who}", who=who)

    def forget_deleted(self, ids: set[str]) -> None:
        """Follow the store, which forgot those of machines that were deleted."""
        for each in ids:
            self._by_machine.pop(each, None)

    def _note(self, hardware_id: str, stage: Stage, detail: str, **facts: str) -> None:
        record = self._known.get(hardware_id)
        if record is not None:
            self._saw(self._seen_last(record.hardware), stage, detail, **facts)
