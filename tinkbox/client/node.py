"""The worker's client of the node door (`wire.messages.worker` has the messages)."""

import asyncio
import io
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

import aiohttp

from tinkbox.client.refusals import raise_refusal
from tinkbox.client.shell import ShellConnection, shell_connection
from tinkbox.client.trust import ENDED, tell_distrust, trusting, untrusted
from tinkbox.model.disks.disks import Refused
from tinkbox.model.errors import Denied, Forbidden, Invalid, NotFound, Unavailable
from tinkbox.wire.messages import breakpoints as holds
from tinkbox.wire.messages import disks, journal
from tinkbox.wire.messages import hosting as services
from tinkbox.wire.messages.breakpoints import Asked, Held, Orders, Resumed, decode_orders
from tinkbox.wire.messages.disks import Looked
from tinkbox.wire.messages.enrolment import Enrolled
from tinkbox.wire.messages.enrolment import encode as encode_enrolled
from tinkbox.wire.messages.hosting import Observed, Wanted, decode_wanted
from tinkbox.wire.messages.inventory import Accepted, Told, decode_accepted, encode_message
from tinkbox.wire.messages.journal import Answer, History
from tinkbox.wire.messages.json_fields import read_object, text
from tinkbox.wire.messages.progress import Telling
from tinkbox.wire.messages.progress import encode as encode_telling
from tinkbox.wire.messages.session import INSTANCE, Challenge, Opened, Opening, decode_answer
from tinkbox.wire.messages.session import encode as encode_opening
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


class SessionOver(Exception):
    """Another worker is the machine's: the one that asked has to end without touching anything.

    It is no Refusal, for it does not pass.  `str()` says why, and what the way out is.
    """


async def _unproven(opening: Opening, _: Challenge) -> Opening:
    return opening


Prove = Callable[[Opening, Challenge], Awaitable[Opening]]


class NodeDoor:
    """An async context manager; every method raises Unavailable when the appliance does not answer.

    Where the credential has an authority, that is Untrusted while something else answers (`client.trust`), and nothing is
    said to it; entering raises Invalid when the authority is no certificate.

    The credential's boot ticket is exchanged for the session that `opening` wants before anything else is asked, and again
    whenever the appliance does not know that session: its store may have been put back to an earlier day.  Where that asks
    for a proof of the TPM, `prove` gives the opening with it.  Every method raises SessionOver when the session is
    another's, and Denied when the ticket is none.
    """

    def __init__(self, credential: Credential, opening: Opening, prove: Prove = _unproven) -> None:
        self._base = credential.server
        self._ticket = credential.token
        self._authority = credential.authority
        self._opening = opening
        self._prove = prove
        self._entering = asyncio.Lock()
        self._entered = 0  # how often

    async def __aenter__(self) -> Self:
        headers = {"Authorization": f"Bearer {self._opening.secret}", INSTANCE: self._opening.instance}
        # Without an authority of the appliance's, nobody's is good enough: a credential with none has a plain URL.
        self._trusted = trusting(self._authority) if self._authority else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._session = aiohttp.ClientSession(headers=headers, connector=aiohttp.TCPConnector(ssl=self._trusted))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    async def greet(self) -> None:
        """Find out whether the appliance answers, and is who it should be; no boot ticket is exchanged for that."""
        await self._request("GET", "/worker/time", None, REQUEST_SECONDS)

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

    async def progress(self, attempt: str, telling: Telling) -> None:
        """Say how far the action is.  Raises NotFound when the appliance is of before there was progress, or as `held`."""
        path = f"/worker/attempts/{attempt}/progress"
        # Nobody settles what is missing for a word that may be lost: an appliance that does not know it is left alone.
        await NodeDoor._exchange(self, "POST", path, encode_telling(telling).encode(), REQUEST_SECONDS)

    async def tell_enrolment(self, enrolled: Enrolled) -> None:
        """Say what the machine's firmware trusts.  Raises NotFound for an appliance of before there was enrolment, Conflict for another's authority."""
        await self._send("POST", "/worker/enrolment", encode_enrolled(enrolled).encode())

    async def orders(self, attempt: str, seen: str, engine_away: float = 0.0) -> Orders | None:
        """Wait for other orders than those of this mark; None when there are none yet.

        It tells for how many seconds the machine's engine does not answer.

        Raises Conflict or NotFound when the attempt is over on the appliance.
        """
        path = f"/worker/attempts/{attempt}/orders?seen={seen}" + (
            f"&engine_away={engine_away:.0f}" if engine_away else ""
        )
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

    @asynccontextmanager
    async def shell(self, attempt: str, session: str, *, tty: bool) -> AsyncIterator[ShellConnection]:
        """Connect to serve a shell; `client.shell` has what it raises, NotFound when it is over on the appliance."""
        await self._enter(0)
        url = f"{self._base}/worker/attempts/{attempt}/shells/{session}"
        async with shell_connection(self._session, url, REQUEST_SECONDS, tty=tty) as connection:
            yield connection

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
        await self._enter(0)
        entered = self._entered
        try:
            return await self._request(method, path, body, seconds)
        except Forbidden as error:
            raise SessionOver(str(error)) from None
        except Denied:
            await self._enter(entered)
        return await self._request(method, path, body, seconds)

    async def _enter(self, before: int) -> None:
        """Exchange the boot ticket, unless that was done since it was entered so often before."""
        if self._entered != before:
            return
        async with self._entering:
            if self._entered != before:
                return
            try:
                answer = await self._open(self._opening)
                if isinstance(answer, Challenge):
                    answer = await self._open(await self._prove(self._opening, answer))
            except Forbidden as error:
                raise SessionOver(str(error)) from None
            except NotFound:
                raise Unavailable(
                    f"the appliance at {self._base} is of an earlier release than this worker, and knows no sessions: "
                    "update it, or boot the OSIE that it built"
                ) from None
            if isinstance(answer, Challenge):
                raise Unavailable(f"the appliance at {self._base} asks for a proof of the TPM again")
            self._entered += 1

    async def _open(self, opening: Opening) -> Opened | Challenge:
        ticket, message = {"Authorization": f"Bearer {self._ticket}"}, encode_opening(opening).encode()
        answer, _ = await self._request("POST", "/worker/session", message, REQUEST_SECONDS, ticket)
        return decode_answer(answer)

    async def _request(
        self, method: str, path: str, body: bytes | None, seconds: float, headers: Mapping[str, str] | None = None
    ) -> tuple[bytes, Mapping[str, str]]:
        try:
            limit = aiohttp.ClientTimeout(total=seconds)
            data = None if body is None else io.BytesIO(body)
            request = self._session.request(method, self._base + path, data=data, timeout=limit, headers=headers)
            async with request as response:
                answer = await response.read()
                raise_refusal(response.status, response.reason or "", answer)
                return answer, response.headers
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            if (refused := _tls_error(error)) is not None:
                if isinstance(refused, ssl.SSLCertVerificationError):
                    await asyncio.to_thread(tell_distrust, self._trusted, self._base)
                raise untrusted(self._base, refused, datetime.now(UTC)) from None
            why = str(error) or type(error).__name__
            raise Unavailable(f"the appliance at {self._base} does not answer: {why}") from None


def _tls_error(error: BaseException) -> ssl.SSLError | None:
    """The failure of TLS that a failure of aiohttp is about, if it is one."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        error = error.certificate_error
    elif isinstance(error, aiohttp.ClientConnectorError):
        error = error.os_error
    return error if isinstance(error, ssl.SSLError) and not isinstance(error, ENDED) else None
