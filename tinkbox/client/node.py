"""The worker's client of the node door (`wire.messages.worker` has the messages)."""

import io
import json
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Self

import aiohttp

from tinkbox.client.refusals import raise_refusal
from tinkbox.client.shell import ShellConnection, shell_connection
from tinkbox.model.disks import Refused
from tinkbox.model.errors import Invalid, Unavailable
from tinkbox.wire.messages import breakpoints as holds
from tinkbox.wire.messages import disks, journal
from tinkbox.wire.messages import hosting as services
from tinkbox.wire.messages.breakpoints import Asked, Held, Orders, Resumed, decode_orders
from tinkbox.wire.messages.disks import Looked
from tinkbox.wire.messages.hosting import Observed, Wanted, decode_wanted
from tinkbox.wire.messages.inventory import Accepted, Told, decode_accepted, encode_message
from tinkbox.wire.messages.journal import Answer, History
from tinkbox.wire.messages.json_fields import read_object, text
from tinkbox.wire.messages.worker import (
    Credential,
    Hello,
    Leaving,
    Offer,
    Pulled,
    Report,
    decode_offer,
    decode_report_answer,
    encode,
)
from tinkbox.wire.polling import POLL_TIMEOUT_SECONDS

REQUEST_SECONDS = 60.0


class NodeDoor:
    """An async context manager; every method raises Unavailable when the appliance does not answer."""

    def __init__(self, credential: Credential) -> None:
        self._base = credential.server
        self._headers = {"Authorization": f"Bearer {credential.token}"}

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(headers=self._headers)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    async def next(self, hello: Hello) -> Offer | None:
        """Wait for work; None when there is none yet."""
        answer = await self._send("POST", "/worker/next", encode(hello).encode(), seconds=POLL_TIMEOUT_SECONDS)
        return decode_offer(answer) if answer else None

    async def history(self, told: History) -> Answer | None:
        """Tell what was done here; None while a person has not decided about what the appliance does not know of it."""
        message = journal.encode(told).encode()
        answer = await self._send("POST", "/worker/history", message, seconds=POLL_TIMEOUT_SECONDS)
        return journal.decode_answer(answer) if answer else None

    async def report(self, attempt: str, report: Report) -> Offer | None:
        """Tell how an attempt ended; returns what is to be done next, if the report asks for it and there is something.

        Raises Conflict or NotFound when nobody wants to know any more.
        """
        answer = await self._send("POST", f"/worker/attempts/{attempt}/report", encode(report).encode())
        return decode_report_answer(answer)

    async def leaving(self, attempt: str, leaving: Leaving) -> None:
        """Say that the machine goes away next.  Raises Conflict or NotFound when it must not any more."""
        await self._send("POST", f"/worker/attempts/{attempt}/leaving", encode(leaving).encode())

    async def may_wipe(self, attempt: str, looked: Looked) -> Refused | None:
        """Ask whether the action may wipe its disks, which look so.  Raises Conflict or NotFound when it is over."""
        answer = await self._send("POST", f"/worker/attempts/{attempt}/disks", disks.encode(looked).encode())
        return disks.decode_answer(answer)

    async def orders(self, attempt: str, seen: str) -> Orders | None:
        """Wait for other orders than those of this mark; None when there are none yet.

        Raises Conflict or NotFound when the attempt is over on the appliance.
        """
        path = f"/worker/attempts/{attempt}/orders?seen={seen}"
        answer = await self._send("GET", path, seconds=POLL_TIMEOUT_SECONDS)
        return decode_orders(answer) if answer else None

    async def held(self, attempt: str, held: Held) -> None:
        """Say that the action is at a breakpoint.  Raises Conflict or NotFound when nobody wants to know any more."""
        await self._send("POST", f"/worker/attempts/{attempt}/held", holds.encode(held).encode())

    async def resumed(self, attempt: str, resumed: Resumed) -> None:
        """Say that the action runs, as the verdict had it.  Raises as `held`."""
        await self._send("POST", f"/worker/attempts/{attempt}/resumed", holds.encode(resumed).encode())

    async def verdict(self, attempt: str, asked: Asked) -> None:
        """Hand on a verdict from inside the container.  Raises Conflict, with the winner, for one that came too late."""
        await self._send("POST", f"/worker/attempts/{attempt}/verdict", holds.encode(asked).encode())

    def shell(self, attempt: str, session: str, *, tty: bool) -> AbstractAsyncContextManager[ShellConnection]:
        """Connect to serve a shell; `client.shell` has what it raises, NotFound when it is over on the appliance."""
        url = f"{self._base}/worker/attempts/{attempt}/shells/{session}"
        return shell_connection(self._session, url, REQUEST_SECONDS, tty=tty)

    async def output(self, attempt: str, offset: int, chunk: bytes) -> int:
        """Send output; returns the offset wanted next."""
        return await self._send_output(f"/worker/attempts/{attempt}", offset, chunk)

    async def pulled(self, attempt: str, pulled: Pulled) -> str:
        """Say what the attempt's image turned out to be; returns the digest that it is pinned to.

        Raises Conflict or NotFound when nobody wants to know, as an appliance of before images were pinned.
        """
        answer = await self._send("POST", f"/worker/attempts/{attempt}/image", encode(pulled).encode())
        return text(read_object(answer, "pinned"), "digest")

    async def data(self, attempt: str) -> bytes:
        """The workflow's ephemeral data."""
        return await self._send("GET", f"/worker/attempts/{attempt}/data")

    async def keep_data(self, attempt: str, archive: bytes) -> None:
        """Send the workflow's ephemeral data back."""
        await self._send("PUT", f"/worker/attempts/{attempt}/data", archive)

    async def wanted_services(self, seen: str) -> Wanted | None:
        """Wait for other services to be wanted here than those of this mark; None when it is still them."""
        answer = await self._send("GET", f"/worker/services?seen={seen}", seconds=POLL_TIMEOUT_SECONDS)
        return decode_wanted(answer) if answer else None

    async def observed_services(self, observed: Observed) -> None:
        """Say which services are here.  Raises Conflict when this machine has booted again since."""
        await self._send("POST", "/worker/services", services.encode(observed).encode())

    async def service_output(self, run: str, offset: int, chunk: bytes) -> int:
        """Send what a service printed; returns the offset wanted next.  Raises NotFound when nobody wants to know."""
        return await self._send_output(f"/worker/services/{run}", offset, chunk)

    async def keep_service_data(self, run: str, archive: bytes) -> None:
        """Send what a service has in its /workflow.  Raises NotFound or Conflict when nobody wants it any more."""
        await self._send("PUT", f"/worker/services/{run}/data", archive)

    async def tell_inventory(self, told: Told) -> None:
        """Say what this machine is.  Raises NotFound when the appliance does not ask for it."""
        await self._send("POST", "/worker/inventory", encode_message(told).encode())

    async def accepted(self) -> Accepted | None:
        """Wait to be accepted; None when nobody has done so yet."""
        answer = await self._send("GET", "/worker/acceptance", seconds=POLL_TIMEOUT_SECONDS)
        return decode_accepted(answer) if answer else None

    async def _send_output(self, path: str, offset: int, chunk: bytes) -> int:
        answer = await self._send("POST", f"{path}/output?offset={offset}", chunk)
        try:
            return int(json.loads(answer)["next"])
        except (ValueError, KeyError, TypeError):
            raise Invalid("the appliance did not say which output it wants next") from None

    async def _send(self, method: str, path: str, body: bytes | None = None, seconds: float = REQUEST_SECONDS) -> bytes:
        answer, _ = await self._exchange(method, path, body, seconds)
        return answer

    async def _exchange(
        self, method: str, path: str, body: bytes | None, seconds: float
    ) -> tuple[bytes, Mapping[str, str]]:
        try:
            limit = aiohttp.ClientTimeout(total=seconds)
            data = None if body is None else io.BytesIO(body)
            async with self._session.request(method, self._base + path, data=data, timeout=limit) as response:
                answer = await response.read()
                raise_refusal(response.status, response.reason or "", answer)
                return answer, response.headers
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise Unavailable(
                f"the appliance at {self._base} does not answer: {str(error) or type(error).__name__}"
            ) from None
