"""The TFTP server: every transfer on one socket, its own files only.

Answers come from port 69 instead of a port per transfer.  RFC 1350 lets the server choose its
transfer identifier, clients take whatever the first answer comes from, and firewalls that know
nothing of TFTP let it through; a boot storm is decided by who drops packets, and one drained socket
drops the fewest.
"""

import asyncio
import logging
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn, Protocol

from tinkbox.wire.tftp import (
    Abort,
    Acknowledgement,
    ErrorCode,
    MalformedDatagram,
    ReadRequest,
    ReadTransfer,
    WriteRequest,
    decode,
    encode_error,
    file_name,
)

DRAIN = 128
MAX_DATAGRAM = 2048
MAX_TRANSFERS = 2000
MAX_PER_ADDRESS = 32
TICK = 0.2
Peer = tuple[str, int]
_log = logging.getLogger(__name__)


class Observer(Protocol):
    """Whoever wants to know which machine has its loader."""

    def loader_fetched(self, peer: str, name: str, size: int, seconds: float, retransmissions: int) -> None: ...


@dataclass(slots=True)
class _Running:
    transfer: ReadTransfer
    request: ReadRequest
    started: float
    heard: float


class TftpServer:
    """Serves `files` on a socket made by `sockets.bind_udp`; `monotonic` is a clock in seconds."""

    def __init__(
        self, listening: socket.socket, files: Mapping[str, bytes], observer: Observer, monotonic: Callable[[], float]
    ) -> None:
        self._socket = listening
        self._files = files
        self._observer = observer
        self._monotonic = monotonic
        self._transfers: dict[Peer, _Running] = {}
        self.malformed = 0

    async def serve(self) -> NoReturn:
        """Answer until cancelled."""
        loop = asyncio.get_running_loop()
        loop.add_reader(self._socket, self._drain)
        try:
            while True:
                await asyncio.sleep(TICK)
                self._remind()
        finally:
            loop.remove_reader(self._socket)

    def _drain(self) -> None:
        for _ in range(DRAIN):
            try:
                datagram, peer = self._socket.recvfrom(MAX_DATAGRAM)
            except BlockingIOError:
                return
            except OSError as error:  # such as a client's ICMP answer to an earlier datagram
                _log.debug("receive: %s", error, extra={"action": "tftp.receive-failed"})
                continue
            self._handle(datagram, peer)

    def _handle(self, datagram: bytes, peer: Peer) -> None:
        try:
            message = decode(datagram)
        except MalformedDatagram as error:
            self.malformed += 1
            _log.debug("dropped: %s", error, extra={"action": "tftp.malformed"})
            return
        match message:
            case ReadRequest():
                self._begin(message, peer)
            case WriteRequest():
                self._send([encode_error(ErrorCode.ACCESS_VIOLATION, "read only")], peer)
            case Acknowledgement() | Abort():
                running = self._transfers.get(peer)
                if running is not None:
                    advanced = running.transfer.receive(message)
                    if advanced:
                        # Only progress postpones the time-out: echoes of an old block must not.
                        running.heard = self._monotonic()
                    self._send(advanced, peer)
                    self._finish(peer, running)

    def _begin(self, request: ReadRequest, peer: Peer) -> None:
        name = file_name(request)
        content = self._files.get(name)
        if content is None:
            _log.info("%s asked for %r, which is not served", peer[0], name[:80], extra={"action": "tftp.not-found"})
            self._send([encode_error(ErrorCode.FILE_NOT_FOUND, "no such file")], peer)
            return
        if request.mode != "octet":
            self._send([encode_error(ErrorCode.ILLEGAL_OPERATION, "only octet mode")], peer)
            return
        running = self._transfers.get(peer)
        if running is not None and running.request == request and running.transfer.moving:
            return  # the first request, delivered late once more
        if running is None and not self._has_room(peer):
            return  # silence makes the client try again, an error would end its boot
        now = self._monotonic()
        transfer = ReadTransfer(content, request)
        self._transfers[peer] = _Running(transfer=transfer, request=request, started=now, heard=now)
        self._send(transfer.start(), peer)

    def _has_room(self, peer: Peer) -> bool:
        own = sum(address == peer[0] for address, _ in self._transfers)
        return len(self._transfers) < MAX_TRANSFERS and own < MAX_PER_ADDRESS

    def _remind(self) -> None:
        now = self._monotonic()
        for peer, running in list(self._transfers.items()):
            if now - running.heard >= running.transfer.patience:
                running.heard = now
                self._send(running.transfer.timeout(), peer)
                self._finish(peer, running)

    def _finish(self, peer: Peer, running: _Running) -> None:
        transfer, name = running.transfer, file_name(running.request)
        if not transfer.done:
            return
        del self._transfers[peer]
        if transfer.complete:
            seconds = self._monotonic() - running.started
            size = len(self._files[name])
            self._observer.loader_fetched(peer[0], name, size, seconds, transfer.retransmissions)
            _log.info("%s has %s in %.1f s", peer[0], name, seconds, extra={"action": "tftp.sent"})
        elif transfer.failure:
            _log.warning("%s to %s: %s", name, peer[0], transfer.failure, extra={"action": "tftp.failed"})

    def _send(self, datagrams: Sequence[bytes], peer: Peer) -> None:
        for datagram in datagrams:
            try:
                self._socket.sendto(datagram, peer)
            except BlockingIOError:
                return  # the send buffer is full: the time-out repeats the rest
            except OSError as error:
                _log.debug("send to %s: %s", peer[0], error, extra={"action": "tftp.send-failed"})
                return
