"""The TFTP server: every transfer on one socket, its own files only.

Answers come from port 69 instead of a port per transfer.  RFC 1350 lets the server choose its
transfer identifier, clients take whatever the first answer comes from, and firewalls that know
nothing of TFTP let it through; a boot storm is decided by who drops packets, and one drained socket
drops the fewest.
"""

import asyncio
import logging
import socket
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, Protocol

from tinkbox.boot.network.datagrams import reading, received
from tinkbox.boot.tftp import udp_segmentation as bursts
from tinkbox.boot.tftp.packet_layouts import Layouts
from tinkbox.boot.tftp.path_mtu import path_mtu
from tinkbox.boot.tftp.shared_files import SharedFile, SharedFiles
from tinkbox.model.boot import Stage
from tinkbox.model.rates import Buckets, Rate
from tinkbox.model.sightings import Fact
from tinkbox.wire.tftp import (
    ACKNOWLEDGEMENT_LENGTH,
    LEAST_PATIENCE,
    Abort,
    Acknowledgement,
    ErrorCode,
    MalformedDatagram,
    ReadRequest,
    ReadTransfer,
    WriteRequest,
    acknowledged_block,
    decode,
    encode_error,
    file_name,
    unfragmented,
)

DRAIN = 128
MAX_DATAGRAM = 2048
MAX_TRANSFERS = 2000
MAX_PER_ADDRESS = 32
# Who asks for more is mistaken, or sends in the name of a victim; GRUB and the Raspberry Pi try dozens of names.
REQUESTS = Rate(burst=200, a_second=40)
REMEMBERED = 4096
TICK = 0.2
Peer = tuple[str, int]
_log = logging.getLogger(__name__)


class TftpFiles(Protocol):
    """Whoever has the files.

    `find` gives what the machine at the IPv4 address `peer` gets by this name, which has no leading slashes: content,
    or a file that is read only as it is sent; None when there is nothing.
    """

    def find(self, peer: str, name: str) -> bytes | Path | None: ...


class Observer(Protocol):
    """Whoever wants to know how far a machine, which is known by its address only, has come."""

    def saw_address(self, address: str, stage: Stage, detail: str = "", **facts: Fact) -> None: ...


@dataclass(slots=True)
class _Running:
    transfer: ReadTransfer
    request: ReadRequest
    content: bytes | SharedFile
    started: float
    heard: float


class TftpServer:
    """Serves what is on `tftp_files` on a socket made by `sockets.bind_udp`; `monotonic` is a clock in seconds."""

    def __init__(
        self, listening: socket.socket, tftp_files: TftpFiles, observer: Observer, monotonic: Callable[[], float]
    ) -> None:
        self._socket = listening
        self._tftp_files = tftp_files
        self._observer = observer
        self._monotonic = monotonic
        self._files = SharedFiles()
        self._layouts = Layouts()
        self._transfers: dict[Peer, _Running] = {}
        self._per_address: Counter[str] = Counter()
        self._requests = Buckets(REQUESTS, REMEMBERED)
        self._buffer = bytearray(MAX_DATAGRAM)
        self.malformed = 0

    async def serve(self) -> NoReturn:
        """Answer until cancelled."""
        with reading(self._socket, self._drain):
            while True:
                await asyncio.sleep(TICK)
                self._remind()

    def _drain(self) -> None:
        # A storm is mostly acknowledgements: what is done for each of them here is what decides how quick it is over.
        buffer, transfers = self._buffer, self._transfers
        now = self._monotonic()
        for length, peer in received(DRAIN, self._socket.recvfrom_into, buffer):
            if length == ACKNOWLEDGEMENT_LENGTH and (running := transfers.get(peer)) is not None:
                block = acknowledged_block(buffer)
                if block is not None:
                    self._advance(running, block, peer, now)
                    continue
            self._handle(bytes(buffer[:length]), peer)

    def _handle(self, datagram: bytes, peer: Peer) -> None:
        try:
            message = decode(datagram)
        except MalformedDatagram as error:
            self.malformed += 1
            _log.debug("dropped: %s", error, extra={"action": "tftp.malformed"})
            return
        running = self._transfers.get(peer)
        match message:
            case ReadRequest():
                self._begin(unfragmented(message, path_mtu(peer[0])), peer)
            case WriteRequest():
                self._send([encode_error(ErrorCode.ACCESS_VIOLATION, "read only")], peer)
            case Acknowledgement(block) if running is not None:
                self._advance(running, block, peer, self._monotonic())
            case Abort() if running is not None:
                running.transfer.aborted(message)
                self._finish(peer, running)

    def _advance(self, running: _Running, block: int, peer: Peer, now: float) -> None:
        try:
            datagrams = running.transfer.acknowledged(block, now - running.heard)
        except OSError as error:
            self._unreadable(running, peer, error)
            return
        if datagrams:
            # Only progress postpones the time-out: echoes of an old block must not.
            running.heard = now
            self._send(datagrams, peer)
        elif running.transfer.done:
            self._finish(peer, running)

    def _begin(self, request: ReadRequest, peer: Peer) -> None:
        running = self._transfers.get(peer)
        if not self._requests.take(peer[0].encode(), self._monotonic()):
            return
        again = running is not None and running.request == request
        if again and running is not None and running.transfer.moving:
            return  # the first request, delivered late once more
        if request.mode != "octet":
            self._send([encode_error(ErrorCode.ILLEGAL_OPERATION, "only octet mode")], peer)
            return
        name = file_name(request)
        found = self._tftp_files.find(peer[0], name)
        if found is not None and running is None and not self._has_room(peer):
            return  # silence makes the client try again, an error would end its boot
        content = self._open(found) if isinstance(found, Path) else found
        if content is None:
            self._not_found(peer, name)
            return
        if running is not None:
            self._forget(peer, running)
        now = self._monotonic()
        transfer = ReadTransfer(content, request, self._layouts.cut)
        running = _Running(transfer=transfer, request=request, content=content, started=now, heard=now)
        self._transfers[peer] = running
        self._per_address[peer[0]] += 1
        if not again:
            self._saw_request(peer, running)
        try:
            self._send(transfer.start(), peer)
        except OSError as error:
            self._unreadable(running, peer, error)

    def _open(self, path: Path) -> SharedFile | None:
        try:
            return self._files.open(path)
        except OSError as error:
            _log.warning("%s: %s", path, error.strerror, extra={"action": "tftp.unreadable"})
            return None

    def _has_room(self, peer: Peer) -> bool:
        return len(self._transfers) < MAX_TRANSFERS and self._per_address[peer[0]] < MAX_PER_ADDRESS

    def _remind(self) -> None:
        now = self._monotonic()
        for peer, running in list(self._transfers.items()):
            silent = now - running.heard
            if silent >= LEAST_PATIENCE and silent >= running.transfer.patience:
                running.heard = now
                try:
                    self._send(running.transfer.timeout(), peer)
                except OSError as error:
                    self._unreadable(running, peer, error)
                    continue
                if running.transfer.done:
                    self._finish(peer, running)

    def _finish(self, peer: Peer, running: _Running) -> None:
        self._forget(peer, running)
        transfer, name = running.transfer, file_name(running.request)
        if transfer.end is not None:
            self._saw_failure(peer, name, transfer, transfer.end, transfer.failure)
            return
        seconds = self._monotonic() - running.started
        _log.info("%s has %s in %.1f s", peer[0], name, seconds, extra={"action": "tftp.sent"})
        self._observer.saw_address(
            peer[0],
            Stage.LOADER,
            f"{name}, {transfer.size} bytes in {seconds:.1f} s, {transfer.retransmissions} sent again",
            name=name,
            bytes=transfer.size,
            seconds=round(seconds, 3),
            retransmissions=transfer.retransmissions,
            blksize=transfer.block_size,
            over="tftp",
        )

    def _unreadable(self, running: _Running, peer: Peer, error: OSError) -> None:
        self._forget(peer, running)
        self._send([encode_error(ErrorCode.NOT_DEFINED, "the file cannot be read")], peer)
        self._saw_failure(
            peer, file_name(running.request), running.transfer, "unreadable", f"it cannot be read: {error.strerror}"
        )

    def _forget(self, peer: Peer, running: _Running) -> None:
        del self._transfers[peer]
        self._per_address[peer[0]] -= 1
        if not self._per_address[peer[0]]:
            del self._per_address[peer[0]]
        if isinstance(running.content, SharedFile):
            running.content.release()

    def _saw_request(self, peer: Peer, running: _Running) -> None:
        transfer, name = running.transfer, file_name(running.request)
        asked: dict[str, Fact] = {"tsize": transfer.size} if "tsize" in running.request.options else {}
        self._observer.saw_address(
            peer[0],
            Stage.LOADER_REQUESTED,
            name,
            name=name,
            blksize=transfer.block_size,
            windowsize=transfer.window,
            **asked,
        )

    def _saw_failure(self, peer: Peer, name: str, transfer: ReadTransfer, why: str, message: str) -> None:
        if message:
            _log.warning("%s to %s: %s", name, peer[0], message, extra={"action": "tftp.failed"})
        self._observer.saw_address(
            peer[0],
            Stage.LOADER_FAILED,
            f"{name}: {message or 'only its size was asked for'}",
            name=name,
            block=transfer.block,
            blocks=transfer.blocks,
            blksize=transfer.block_size,
            why=why,
            message=message,
            heard=int(transfer.moving),
        )

    def _not_found(self, peer: Peer, name: str) -> None:
        _log.info("%s asked for %r, which is not served", peer[0], name[:80], extra={"action": "tftp.not-found"})
        self._send([encode_error(ErrorCode.FILE_NOT_FOUND, "no such file")], peer)
        self._observer.saw_address(
            peer[0],
            Stage.LOADER_FAILED,
            f"{name[:80]!r} is not served",
            name=name,
            block=0,
            blocks=0,
            blksize=0,
            why="not found",
            message="there is no such file",
        )

    def _send(self, datagrams: Sequence[bytes], peer: Peer) -> None:
        if not datagrams:
            return
        try:
            bursts.send(self._socket, datagrams, peer)
        except BlockingIOError:
            return  # the send buffer is full: the time-out repeats the rest
        except OSError as error:
            _log.debug("send to %s: %s", peer[0], error, extra={"action": "tftp.send-failed"})
