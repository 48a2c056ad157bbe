"""Breakpoints of workflows, and shells in what is held at them."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from tinkbox.client.operator.connection import Connection, Document, Found, part
from tinkbox.model.key_kinds import ToChange

if TYPE_CHECKING:
    from tinkbox.client.shell import ShellConnection


class Breakpoints:
    """What is armed, what is held, and the verdicts on it; a key is a workflow's."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def all(self) -> list[Document]:
        """The unfinished workflows that are held, or have a breakpoint armed."""
        return await self._connection.documents("/v1/breakpoints")

    async def found(self, asked: Mapping[str, str]) -> Found:
        """Those that are asked for: `state`, `machine`, `label`, `limit`, `sort`."""
        return await self._connection.found("/v1/breakpoints", asked)

    async def get(self, key: str, to_change: ToChange = ToChange.NO) -> Document:
        """What is armed and held of one workflow; `to_change` as for `Workflows.state`."""
        asked = f"?to_change={to_change}" if to_change is not ToChange.NO else ""
        return await self._connection.document("GET", f"/v1/workflows/{part(key)}/breakpoints{asked}")

    async def arm(self, key: str, change: Mapping[str, Any]) -> Document:
        return await self._post(key, "arm", change)

    async def clear(self, key: str, change: Mapping[str, Any]) -> Document:
        """An empty change clears everything."""
        return await self._post(key, "clear", change)

    async def decide(self, key: str, verdict: Mapping[str, Any]) -> Document:
        """Give a verdict on what the workflow is held at; the answer is the hold."""
        return await self._post(key, "verdict", verdict)

    async def extend(self, key: str, seconds: int, why: str) -> Document:
        return await self._post(key, "extend", {"seconds": seconds, "why": why})

    async def _post(self, key: str, verb: str, document: Mapping[str, Any]) -> Document:
        path = f"/v1/workflows/{part(key)}/breakpoints/{verb}"
        return await self._connection.document("POST", path, dict(document))


class Shells:
    """Shells in held containers, and their recordings."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def open(self, key: str, wish: Mapping[str, Any]) -> Document:
        """Open a shell, or find one that is there; the answer is a session with a ticket to `attach` with, soon.

        That changes nothing by itself.
        """
        return await self._connection.document("POST", f"/v1/workflows/{part(key)}/shells", dict(wish), looks=True)

    def attach(
        self, opened: Document, *, tty: bool, mode: str = "drive", after: int = 0
    ) -> AbstractAsyncContextManager["ShellConnection"]:
        """Connect to a session, to see what it printed behind the first `after` bytes; `client.shell` says what is raised."""
        asked = urlencode({"ticket": opened["ticket"], "mode": mode, "after": after})
        return self._connection.shell(f"/v1/shells/{part(opened['id'])}/attach?{asked}", tty=tty)

    async def recording(self, session: str) -> bytes:
        """A session's recording, as asciicast."""
        return await self._connection.send("GET", f"/v1/shells/{part(session)}/recording")
