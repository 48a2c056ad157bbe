"""One end of a shell's connection (`wire.messages.shell` has the frames)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp

from tinkbox.client.keep_alive import keep_alive
from tinkbox.model.errors import Denied, Unavailable
from tinkbox.wire.messages.shell import MAX_FRAME, Frame, decode, encode
from tinkbox.wire.refusal_statuses import BY_STATUS

HEARTBEAT = 15.0
CLOSE_SECONDS = 5.0
_CLOSED = (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSING, aiohttp.WSMsgType.CLOSED)


class ShellConnection:
    """Sends and receives frames; what comes too fast for whoever reads waits at the other end."""

    def __init__(self, websocket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = websocket

    async def send_frame(self, frame: Frame) -> None:
        """Raises Unavailable when the connection is broken."""
        try:
            await self._socket.send_bytes(encode(frame))
        except (aiohttp.ClientError, OSError) as error:
            raise _broken(error) from None

    async def receive_frame(self) -> Frame | None:
        """The next frame, None when the other side has said all.

        Raises Unavailable when the connection is broken, Denied when the token of who has it counts no more, and Invalid for
        what is no frame.
        """
        message = await self._socket.receive()
        if message.type is aiohttp.WSMsgType.BINARY:
            return decode(message.data)
        if message.type in _CLOSED and self._socket.close_code == aiohttp.WSCloseCode.OK:
            return None
        if message.type in _CLOSED and self._socket.close_code == aiohttp.WSCloseCode.POLICY_VIOLATION:
            raise Denied(str(message.extra or "") or "the token was revoked, or has expired")
        raise _broken(self._socket.exception())


@asynccontextmanager
async def shell_connection(
    session: aiohttp.ClientSession, url: str, seconds: float, *, tty: bool
) -> AsyncIterator[ShellConnection]:
    """Connect within `seconds`; raises a Refusal: Unavailable when nobody answers.

    Without `tty` it is for a command, whose reader may stand still: the kernel alone tells whether the other host is
    there.
    """
    try:
        limit = aiohttp.ClientWSTimeout(ws_close=CLOSE_SECONDS)
        heartbeat = HEARTBEAT if tty else None
        # The WebSocket's own limit is one that a message may not reach.
        connecting = session.ws_connect(url, heartbeat=heartbeat, max_msg_size=MAX_FRAME + 1, timeout=limit)
        async with asyncio.timeout(seconds):
            websocket = await connecting
    except aiohttp.WSServerHandshakeError as error:
        # Its query has the ticket.
        place = url.partition("?")[0]
        raise BY_STATUS.get(error.status, Unavailable)(f"{error.status}: no shell is to be had at {place}") from None
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise _broken(error) from None
    keep_alive(websocket.get_extra_info("socket"))
    try:
        yield ShellConnection(websocket)
    finally:
        await websocket.close()


def _broken(error: BaseException | None) -> Unavailable:
    # As text, an answer that is no HTTP names the whole URL, with the ticket in it.
    text = error.message if isinstance(error, aiohttp.ClientResponseError) else str(error)
    why = text or type(error).__name__ if error else "it ended without a word"
    return Unavailable(f"the connection of the shell is broken: {why}")
