"""The operator's client: one method per thing the operator door can do.

Answers are the JSON documents of `api.documents`; refusals are raised as they were there.
"""

import errno
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, urlencode

import aiohttp

from tinkbox.client.refusals import raise_refusal
from tinkbox.client.shell import ShellConnection, shell_connection
from tinkbox.model.errors import Unavailable
from tinkbox.wire.messages.status import Snapshot, decode_snapshot

Document = dict[str, Any]
QUICK = aiohttp.ClientTimeout(total=60)
STREAM = aiohttp.ClientTimeout(total=None, connect=10)
CONNECT_SECONDS = 10.0
NO_APPLIANCE = "is that an appliance of this version?"


class Unreachable(Unavailable):
    """Nobody answers where the appliance should be."""


class Operator:
    """An async context manager.  Give the unix socket of an appliance on this host, or URL and token of another."""

    def __init__(self, *, socket: Path | None = None, url: str = "", token: str = "") -> None:
        self._socket = socket
        self._url = url or "http://tinkbox"
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._where = str(socket) if socket else url

    async def __aenter__(self) -> Self:
        connector = aiohttp.UnixConnector(str(self._socket)) if self._socket else None
        self._session = aiohttp.ClientSession(connector=connector, headers=self._headers)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    async def status(self) -> Snapshot:
        return decode_snapshot(await self._send("GET", "/v1/status"))

    async def hardware(self) -> list[Document]:
        return await self._list("/v1/hardware")

    async def push_hardware(self, text: bytes) -> Document:
        return await self._object("POST", "/v1/hardware", text)

    async def machine(self, key: str) -> Document:
        return await self._object("GET", f"/v1/hardware/{_part(key)}")

    async def delete_hardware(self, key: str) -> Document:
        return await self._object("DELETE", f"/v1/hardware/{_part(key)}")

    async def credential(self, key: str) -> Document:
        return await self._object("GET", f"/v1/hardware/{_part(key)}/credential")

    async def timeline(self, key: str) -> list[Document]:
        return await self._list(f"/v1/hardware/{_part(key)}/timeline")

    async def leases(self) -> list[Document]:
        """Every address of a pool that was lent, in their order."""
        return await self._list("/v1/leases")

    async def seen(self) -> list[Document]:
        """Every MAC that was seen, with where it stands."""
        return await self._list("/v1/seen")

    async def seen_machine(self, mac: str) -> Document:
        """What was seen of one machine, known or not, with its timeline."""
        return await self._object("GET", f"/v1/seen/{_part(mac)}")

    async def doctor(self, machine: str = "") -> Document:
        """What the boot doctor says of a machine, or of the appliance and whom it saw; it listens for some seconds."""
        return await self._object("GET", f"/v1/doctor?{urlencode({'machine': machine})}")

    async def discovered(self) -> list[Document]:
        """The machines that nobody knows."""
        return await self._list("/v1/discovered")

    async def accept_machine(self, mac: str, wanted: Mapping[str, Any]) -> Document:
        """Make hardware of one; `wanted` may have `name`, `address`, `gateway`, `template`, `hardware` and `confirm_wipe`."""
        return await self._object("POST", f"/v1/discovered/{_part(mac)}/accept", dict(wanted))

    async def refuse_machine(self, mac: str) -> Document:
        """Answer one no more."""
        return await self._object("POST", f"/v1/discovered/{_part(mac)}/refuse")

    async def templates(self) -> list[Document]:
        return await self._list("/v1/templates")

    async def create_template(self, name: str, data: str) -> Document:
        return await self._object("POST", "/v1/templates", {"name": name, "data": data})

    async def validate_template(self, asked: Mapping[str, Any]) -> Document:
        """Give `data` or the key of a stored `template`, and `hardware` when it is not for every machine."""
        return await self._object("POST", "/v1/templates/validate", dict(asked))

    async def template(self, key: str) -> Document:
        return await self._object("GET", f"/v1/templates/{_part(key)}")

    async def update_template(self, key: str, name: str | None, data: str | None) -> Document:
        return await self._object("PUT", f"/v1/templates/{_part(key)}", {"name": name, "data": data})

    async def delete_template(self, key: str) -> Document:
        return await self._object("DELETE", f"/v1/templates/{_part(key)}")

    async def workflows(self) -> list[Document]:
        return await self._list("/v1/workflows")

    async def create_workflow(
        self,
        template: str,
        hardware: Mapping[str, Any],
        breakpoints: Mapping[str, Any] | None = None,
        *,
        confirm_wipe: bool = False,
    ) -> Document:
        asked = {
            "template": template,
            "hardware": dict(hardware),
            **_armed(breakpoints),
            **_confirmed(yes=confirm_wipe),
        }
        return await self._object("POST", "/v1/workflows", asked)

    async def create_workflows(
        self, documents: str, breakpoints: Mapping[str, Any] | None = None, *, confirm_wipe: bool = False
    ) -> Document:
        """Create every `kind: Workflow` of a file."""
        asked = {"documents": documents, **_armed(breakpoints), **_confirmed(yes=confirm_wipe)}
        return await self._object("POST", "/v1/workflows", asked)

    async def workflow(self, key: str) -> Document:
        return await self._object("GET", f"/v1/workflows/{_part(key)}")

    async def delete_workflow(self, key: str) -> Document:
        return await self._object("DELETE", f"/v1/workflows/{_part(key)}")

    async def workflow_state(self, key: str) -> Document:
        return await self._object("GET", f"/v1/workflows/{_part(key)}/state")

    async def cancel_workflow(self, key: str) -> Document:
        return await self._object("POST", f"/v1/workflows/{_part(key)}/cancel")

    async def retry_workflow(self, key: str, first: str | None, *, confirm_wipe: bool = False) -> Document:
        """Take a workflow up again from the action called `first`, None: from the one it stopped at."""
        asked = {"from": first, **_confirmed(yes=confirm_wipe)}
        return await self._object("POST", f"/v1/workflows/{_part(key)}/retry", asked)

    async def workflow_events(self, key: str, after: int = 0) -> list[Document]:
        """The workflow's events behind the one of this number."""
        return await self._list(f"/v1/workflows/{_part(key)}/events?after={after}")

    async def workflow_data(self, key: str, version: int) -> Document:
        return await self._object("GET", f"/v1/workflows/{_part(key)}/data?version={version}")

    async def workflow_data_versions(self, key: str) -> list[Document]:
        return await self._list(f"/v1/workflows/{_part(key)}/data/versions")

    async def workflow_output(
        self, key: str, place: str = "", *, follow: bool
    ) -> AsyncIterator[tuple[str, Document | None]]:
        """What the actions print behind `place`, the beginning if empty; each piece with the place to go on from.

        Before the first comes a place without a piece.  Raises Unreachable when the connection ends
        before the output does.
        """
        async for each in self._output(f"/v1/workflows/{_part(key)}/logs?follow={int(follow)}", place):
            yield each

    async def services(self, workflow: str = "") -> list[Document]:
        """Of one workflow, or of all."""
        return await self._list(f"/v1/services?{urlencode({'workflow': workflow})}" if workflow else "/v1/services")

    async def service_output(
        self, key: str, place: str = "", *, follow: bool
    ) -> AsyncIterator[tuple[str, Document | None]]:
        """The same as `workflow_output` for a service: `key` is WORKFLOW/SERVICE, or SERVICE alone."""
        async for each in self._output(
            f"/v1/services/logs?{urlencode({'service': key, 'follow': int(follow)})}", place
        ):
            yield each

    async def breakpoints(self) -> list[Document]:
        """The unfinished workflows that are held, or have a breakpoint armed."""
        return await self._list("/v1/breakpoints")

    async def workflow_breakpoints(self, key: str) -> Document:
        return await self._object("GET", f"/v1/workflows/{_part(key)}/breakpoints")

    async def arm(self, key: str, change: Mapping[str, Any]) -> Document:
        return await self._object("POST", f"/v1/workflows/{_part(key)}/breakpoints/arm", dict(change))

    async def clear(self, key: str, change: Mapping[str, Any]) -> Document:
        """An empty change clears everything."""
        return await self._object("POST", f"/v1/workflows/{_part(key)}/breakpoints/clear", dict(change))

    async def decide(self, key: str, verdict: Mapping[str, Any]) -> Document:
        """Give a verdict on what the workflow is held at; the answer is the hold."""
        return await self._object("POST", f"/v1/workflows/{_part(key)}/breakpoints/verdict", dict(verdict))

    async def extend(self, key: str, seconds: int, why: str) -> Document:
        asked = {"seconds": seconds, "why": why}
        return await self._object("POST", f"/v1/workflows/{_part(key)}/breakpoints/extend", asked)

    async def open_shell(self, key: str, wish: Mapping[str, Any]) -> Document:
        """Open a shell, or find one that is there; the answer is a session with a ticket to `attach` with, soon."""
        return await self._object("POST", f"/v1/workflows/{_part(key)}/shells", dict(wish))

    def attach(
        self, opened: Document, *, tty: bool, mode: str = "drive", after: int = 0
    ) -> AbstractAsyncContextManager[ShellConnection]:
        """Connect to a session, to see what it printed behind the first `after` bytes; `client.shell` says what is raised."""
        asked = urlencode({"ticket": opened["ticket"], "mode": mode, "after": after})
        url = f"{self._url}/v1/shells/{_part(opened['id'])}/attach?{asked}"
        return shell_connection(self._session, url, CONNECT_SECONDS, tty=tty)

    async def recording(self, session: str) -> bytes:
        """A session's recording, as asciicast."""
        return await self._send("GET", f"/v1/shells/{_part(session)}/recording")

    async def images(self) -> list[Document]:
        return await self._list("/v1/images")

    async def load_images(self, path: Path) -> list[str]:
        """Send an image archive; returns the names it held."""
        with path.open("rb") as archive:
            answer = await self._object("POST", "/v1/images", archive, STREAM)
        return [str(name) for name in answer["loaded"]]

    async def delete_image(self, reference: str) -> None:
        await self._send("DELETE", f"/v1/images?reference={quote(reference, safe='')}")

    async def osie(self) -> list[Document]:
        return await self._list("/v1/osie")

    async def events(self, after: int | None = None) -> AsyncIterator[tuple[int, Document | None]]:
        """Every event after the one of this number, or every new one; with its number, to go on from.

        Before the first comes the number that they are counted from, without an event.
        """
        headers = {} if after is None else {"Last-Event-ID": str(after)}
        async for fields in self._sent_events("/v1/events", headers):
            if "id" in fields:
                yield int(fields["id"]), json.loads(fields["data"]) if "data" in fields else None

    async def _output(self, path: str, place: str) -> AsyncIterator[tuple[str, Document | None]]:
        headers = {"Accept": "text/event-stream", **({"Last-Event-ID": place} if place else {})}
        async for fields in self._sent_events(path, headers):
            if fields.get("event") == "end":
                return
            if "id" in fields:
                yield fields["id"], json.loads(fields["data"]) if "data" in fields else None
        raise self._unreachable(ConnectionError("the connection was cut off"))

    async def _sent_events(self, path: str, headers: Mapping[str, str]) -> AsyncIterator[Mapping[str, str]]:
        """The fields of each server-sent event; one that was cut off is not among them."""
        buffer = bytearray()
        async for chunk in self._stream(path, headers):
            begin = max(0, len(buffer) - 1)  # the event's end may lie across two chunks
            buffer += chunk
            while (end := buffer.find(b"\n\n", begin)) >= 0:
                lines = buffer[:end].decode().split("\n")
                del buffer[: end + 2]
                begin = 0
                yield dict(line.split(": ", 1) for line in lines if ": " in line[1:])

    async def _list(self, path: str) -> list[Document]:
        answer = _decoded(await self._send("GET", path))
        if not isinstance(answer, list):
            raise Unavailable(f"{self._where}{path} did not answer with a list: {NO_APPLIANCE}")
        return answer

    async def _object(
        self, method: str, path: str, body: object = None, limit: aiohttp.ClientTimeout = QUICK
    ) -> Document:
        answer = _decoded(await self._send(method, path, body, limit))
        if not isinstance(answer, dict):
            raise Unavailable(f"{self._where}{path} did not answer with an object: {NO_APPLIANCE}")
        return answer

    async def _send(self, method: str, path: str, body: object = None, limit: aiohttp.ClientTimeout = QUICK) -> bytes:
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        try:
            async with self._session.request(method, self._url + path, data=data, timeout=limit) as response:
                await raise_refusal(response)
                return await response.read()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._unreachable(error) from None

    async def _stream(self, path: str, headers: Mapping[str, str]) -> AsyncIterator[bytes]:
        try:
            async with self._session.get(self._url + path, headers=headers, timeout=STREAM) as response:
                await raise_refusal(response)
                async for chunk in response.content.iter_any():
                    yield chunk
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._unreachable(error) from None

    def _unreachable(self, error: Exception) -> Unreachable:
        # aiohttp's own words name the place again, and what it thinks of TLS there.
        why = (error.strerror if isinstance(error, OSError) else "") or str(error) or type(error).__name__
        if isinstance(error, OSError) and error.errno in (errno.EACCES, errno.EPERM):
            return Unreachable(
                f"no right to use {self._where}: run as the user of the appliance (root), or name its operator door by "
                "TINKBOX_SERVER and TINKBOX_TOKEN"
            )
        return Unreachable(
            f"no appliance answers at {self._where} ({why}): is `tinkbox serve` running? "
            "Another one is named by --data, or TINKBOX_SERVER and TINKBOX_TOKEN"
        )


def _confirmed(*, yes: bool) -> dict[str, Any]:
    """A person's word that disks may be wiped, as the API takes it."""
    return {"confirm_wipe": True} if yes else {}


def _armed(breakpoints: Mapping[str, Any] | None) -> Document:
    return {"breakpoints": dict(breakpoints)} if breakpoints else {}


def _decoded(answer: bytes) -> object:
    try:
        return json.loads(answer)
    except ValueError:
        return None


def _part(key: str) -> str:
    return quote(key, safe="")
