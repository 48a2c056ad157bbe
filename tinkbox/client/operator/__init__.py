"""The operator's client: what the operator door can do, by noun.

Answers are the JSON documents of `api.routes`; a refusal of the appliance is raised here as it was there.  Whatever is
asked raises Unreachable when no appliance answers.
"""

from collections.abc import AsyncIterator
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from tinkbox.client.operator.apply import Documents
from tinkbox.client.operator.audit import Audit
from tinkbox.client.operator.breakpoints import Breakpoints, Shells
from tinkbox.client.operator.connection import Connection, Document, Found, part
from tinkbox.client.operator.hardware import Discovered, Hardware, Leases, Seen
from tinkbox.client.operator.images import Images, Osie
from tinkbox.client.operator.logins import Logins
from tinkbox.client.operator.names import Names
from tinkbox.client.operator.rollouts import Rollouts
from tinkbox.client.operator.secrets import Secrets
from tinkbox.client.operator.services import Services
from tinkbox.client.operator.templates import Templates
from tinkbox.client.operator.tokens import Tokens
from tinkbox.client.operator.workflows import Workflows
from tinkbox.client.refusals import Unreachable
from tinkbox.model.errors import Invalid

if TYPE_CHECKING:
    from tinkbox.wire.messages.status import Snapshot

EXAMINED_WITHIN: Final = 180.0  # seconds: of thousands of machines the doctor needs tens of them
__all__ = ["Document", "Found", "Operator", "Unreachable"]


class Operator:
    """An async context manager."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.hardware = Hardware(connection)
        self.leases = Leases(connection)
        self.seen = Seen(connection)
        self.discovered = Discovered(connection)
        self.templates = Templates(connection)
        self.workflows = Workflows(connection)
        self.files = Documents(connection)
        self.breakpoints = Breakpoints(connection)
        self.shells = Shells(connection)
        self.rollouts = Rollouts(connection)
        self.secrets = Secrets(connection)
        self.services = Services(connection)
        self.images = Images(connection)
        self.osie = Osie(connection)
        self.names = Names(connection)
        self.logins = Logins(connection)
        self.tokens = Tokens(connection)
        self.audit = Audit(connection)

    async def __aenter__(self) -> Self:
        await self.connection.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.connection.close()

    async def status(self, after: str = "") -> "Snapshot":
        """The appliance at a glance: what changed behind a place that was told before, or all of it."""
        from tinkbox.wire.messages.status import decode_snapshot

        answer = await self.connection.send("GET", f"/v1/status?after={part(after)}")
        try:
            return decode_snapshot(answer)
        except Invalid:
            raise self.connection.other_answer("/v1/status", "a snapshot") from None

    async def default_keys(self) -> list[str]:
        """The public SSH keys that every installed system gets."""
        return [str(each) for each in (await self.connection.document("GET", "/v1/metadata/defaults"))["ssh_keys"]]

    async def authority(self) -> Document:
        """The `certificate` (PEM) of the box's authority, and its `fingerprint`."""
        return await self.connection.document("GET", "/v1/authority")

    async def doctor(self, key: str = "", *, listens: bool = True) -> Document:
        """What the doctor says of the machine or workflow that a key means, or of everything there is.

        It `listens` for other DHCP servers for some seconds, or tells those that the appliance heard of last.
        """
        what = f"key={part(key)}" if key else "machine="
        path = f"/v1/doctor?{what}{'' if listens else '&listen=0'}"
        return await self.connection.document("GET", path, seconds=EXAMINED_WITHIN)

    async def events(self, after: int | str | None = None) -> AsyncIterator[tuple[int | str, Document | None]]:
        """Every event after the one of this number, or every new one; with its number, to go on from.

        A token with a scope is told places that are no numbers, but for 0.

        Before the first comes the number that they are counted from, without an event: it is a smaller one than `after` where
        there is no such event, since the appliance was put back to an earlier day, and every event that it has follows.
        """
        headers = {} if after is None else {"Last-Event-ID": str(after)}
        async for fields in self.connection.sent_events("/v1/events", headers):
            if "id" in fields:
                data = fields.get("data")
                place = fields["id"]
                yield (
                    int(place) if place.isdecimal() else place,
                    self.connection.object_of("/v1/events", data.encode()) if data else None,
                )
