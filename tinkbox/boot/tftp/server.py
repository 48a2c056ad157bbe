"""The TFTP server: its own files only, each transfer at a port of its own (`transfer_ports`).

Where a filter between us and the machines knows nothing of TFTP, one socket can carry all of them: then answers come from
port 69, and who sends in somebody else's name can acknowledge what he does not see.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NoReturn, Protocol

from tinkbox.boot.network.datagrams import drained, reading, received
from tinkbox.boot.network.refused_replies import Refusals, is_kept_in
from tinkbox.boot.network.send_buffer import SendBuffer
from tinkbox.boot.network.sockets import interface_of
from tinkbox.boot.tftp import udp_segmentation as bursts
from tinkbox.boot.tftp.packet_layouts import Layouts
from tinkbox.boot.tftp.path_mtu import Way, way_to
from tinkbox.boot.tftp.shared_files import SharedFile, SharedFiles
from tinkbox.boot.tftp.transfer_ports import TransferPorts
from tinkbox.boot.tftp.transfer_room import TransferRoom
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

# Octets, and of the loop's time: in a short queue that is read when all else is done, a flood in many names has requests lost.
QUEUE = 1 << 20
SHARE = 0.1
HEARD = 32  # transfers, before others have their turn
MAX_DATAGRAM = 2048
# Who asks for more is mistaken, or sends in the name of a victim; GRUB and the Raspberry Pi try dozens of names.
REQUESTS = Rate(burst=200, a_second=40)
# A transfer costs as much as to drop dozens of requests, and whoever sends in the names of many has as many times the above.
# So each is sure of few, and more is of what all have together.
FEW_REQUESTS = Rate(burst=40, a_second=4)
REQUESTS_OF_ALL = Rate(burst=1000, a_second=200)
REMEMBERED = 4096
TICK = 0.2
MOVES_TOLD_EVERY = 10.0
_WHAT = "TFTP"
Peer = tuple[str, int]
_log = logging.getLogger(__name__)


class TftpFiles(Protocol):
    """Whoever has the files.

    `find` gives what the machine at the IPv4 address `peer` gets by this name, which has no leading slashes: content,
    or a file that is read only as it is sent; None when there is nothing.
    """

    def find(self, peer: str, name: str) -> bytes | Path | None: ...


class Observer(Protocol):
    """Whoever wants to know how far a machine, which is known by its address only, has come; `moves` tells that a transfer goes on."""

    def moves(self, address: str) -> None: ...
    def saw_address(self, address: str, stage: Stage, detail: str = "", **facts: Fact) -> None: ...


@dataclass(slots=True, eq=False)
class _Running:
    peer: Peer
    line: socket.socket
    transfer: ReadTransfer
    request: ReadRequest
    content: bytes | SharedFile
    started: float
    moved: float  # when a block was last acknowledged
    heard: float  # the same, or when the client was last reminded
    told: float  # when the observer heard last that it moves
    end: "Callable[[_Running], None]"
    refused: str = ""  # the kernel's word where this host kept in what was sent since a block was last acknowledged

    @property
    def moving(self) -> bool:
        return self.transfer.moving

    def give_way(self) -> None:
        """Make room for another one (`TransferRoom`)."""
        self.end(self)


class TftpServer:
    """Serves what is on `tftp_files` on a socket made by `sockets.bind_udp`; `monotonic` is a clock in seconds.

    `room` is one for all networks; `host_at` names the host that has an address.  With `single_port` that socket carries the
    transfers as well.
    """

    def __init__(
        self,
        listening: socket.socket,
        tftp_files: TftpFiles,
        observer: Observer,
        monotonic: Callable[[], float],
        room: TransferRoom,
        host_at: Callable[[str], str],
        *,
        single_port: bool = False,
        refusals: Refusals | None = None,
    ) -> None:
        self._refusals = refusals
        self._name = interface_of(listening).decode(errors="replace")
        self._socket = listening
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, QUEUE)
        self._shared = SendBuffer(listening)
        # One socket is for machines behind routers as well, so that it has to believe ICMP (`path_mtu`).
        self._interface = b"" if single_port else interface_of(listening)
        self._room = room
        self._host_at = host_at
        self._ports = None if single_port else TransferPorts(listening)
        self._by_port: dict[int, _Running] = {}
        self._tftp_files = tftp_files
        self._observer = observer
        self._monotonic = monotonic
        self._files = SharedFiles()
        self._layouts = Layouts()
        self._transfers: dict[Peer, _Running] = {}
        self._requests = Buckets(REQUESTS, REMEMBERED)
        self._few_requests = Buckets(FEW_REQUESTS, REMEMBERED)
        self._requests_of_all = Buckets(REQUESTS_OF_ALL, 1)
        self._buffer = bytearray(MAX_DATAGRAM)
        self.malformed = 0

    async def serve(self) -> NoReturn:
        """Answer until cancelled."""
        with ExitStack() as stack:
            stack.callback(self._forget_all)
            # Where all transfers share it, it is as urgent as their ports.
            stack.enter_context(reading(self._socket, self._drain, urgent=1.0 if self._ports is None else SHARE))
            if self._ports is not None:
                stack.enter_context(reading(self._ports, self._drain_ports, urgent=1.0))
            while True:
                await asyncio.sleep(TICK)
                self._remind()

    def _drain(self) -> None:
        # A storm is mostly acknowledgements: what is done for each of them here is what decides how quick it is over.
        buffer, transfers = self._buffer, self._transfers
        now = self._monotonic()
        for length, peer in drained(self._socket.recvfrom_into, buffer):
            running = transfers.get(peer) if self._ports is None else None
            if running is not None and length == ACKNOWLEDGEMENT_LENGTH:
                block = acknowledged_block(buffer)
                if block is not None:
                    self._advance(running, block, now)
                    continue
            self._handle(bytes(buffer[:length]), peer, running)

    def _drain_ports(self) -> None:
        assert self._ports is not None
        buffer, now = self._buffer, self._monotonic()
        for descriptor in self._ports.ready(HEARD):
            running = self._by_port.get(descriptor)
            if running is None:
                continue  # it ended while others were heard
            for length in received(1, running.line.recv_into, buffer):
                block = acknowledged_block(buffer) if length == ACKNOWLEDGEMENT_LENGTH else None
                if block is not None:
                    self._advance(running, block, now)
                else:
                    self._handle(bytes(buffer[:length]), running.peer, running)

    def _handle(self, datagram: bytes, peer: Peer, running: _Running | None) -> None:
        """Take what a machine says: of the transfer `running` if it says so where that one is heard."""
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
                self._answer([encode_error(ErrorCode.ACCESS_VIOLATION, "read only")], peer)
            case Acknowledgement(block) if running is not None:
                self._advance(running, block, self._monotonic())
            case Abort() if running is not None:
                running.transfer.aborted(message)
                self._finish(running)

    def _advance(self, running: _Running, block: int, now: float) -> None:
        transfer = running.transfer
        heard = transfer.moving
        try:
            datagrams = transfer.acknowledged(block, now - running.heard)
        except OSError as error:
            self._unreadable(running, error)
            return
        # The host behind an address has answered ARP since it asked.
        if not heard and transfer.moving and not self._room.count_for(self._host_at(running.peer[0]), running):
            return
        if datagrams:
            # Only progress postpones the time-out: echoes of an old block must not.
            running.moved = running.heard = now
            running.refused = ""
            self._send(datagrams, running)
        elif transfer.done:
            self._finish(running)

    def _begin(self, request: ReadRequest, peer: Peer) -> None:
        holder = self._host_at(peer[0])
        if not self._bears(holder):
            return
        running, way = self._transfers.get(peer), way_to(peer[0], self._interface)
        request = unfragmented(request, way.mtu)
        if running is not None and running.request == request:
            now = self._monotonic()
            after, running.heard = now - running.heard, now
            self._send_first(running, partial(running.transfer.asked_again, after))
            return
        if request.mode != "octet":
            self._answer([encode_error(ErrorCode.ILLEGAL_OPERATION, "only octet mode: tftp -m octet")], peer)
            return
        name = file_name(request)
        found = self._tftp_files.find(peer[0], name)
        content = self._open(found) if isinstance(found, Path) else found
        if content is None:
            self._not_found(peer, name)
            return
        if running is not None:
            self._forget(running)
        line = self._line(peer, name, holder, way)
        if line is None:
            if isinstance(content, SharedFile):
                content.release()
            return  # silence makes the client try again, an error would end its boot
        now = self._monotonic()
        transfer = ReadTransfer(content, request, self._layouts.cut)
        running = _Running(
            peer=peer,
            line=line,
            transfer=transfer,
            request=request,
            content=content,
            started=now,
            moved=now,
            heard=now,
            told=now,
            end=self._end,
        )
        self._transfers[peer] = running
        self._room.enter(running, holder)
        if self._ports is not None:
            self._by_port[line.fileno()] = running
        self._saw_request(peer, running)
        self._send_first(running, transfer.start)

    def _bears(self, holder: str) -> bool:
        now = self._monotonic()
        return self._requests.take(holder, now) and (
            self._few_requests.take(holder, now) or self._requests_of_all.take("", now)
        )

    def _send_first(self, running: _Running, first: Callable[[], Sequence[bytes]]) -> None:
        try:
            self._send(first(), running)
        except OSError as error:
            self._unreadable(running, error)

    def _open(self, path: Path) -> SharedFile | None:
        try:
            return self._files.open(path)
        except OSError as error:
            _log.warning("%s: %s", path, error.strerror, extra={"action": "tftp.unreadable"})
            return None

    def _line(self, peer: Peer, name: str, holder: str, way: Way) -> socket.socket | None:
        """The socket for another transfer to a machine; None when there is no room for it."""
        if not self._room.take(holder):
            return None
        if self._ports is None:
            return self._socket
        try:
            return self._ports.open(peer, direct=way.direct)
        except OSError as error:
            self._room.give_back(holder)
            _log.warning("no port for a transfer: %s", error.strerror, extra={"action": "tftp.no-port"})
            if self._refusals is not None:
                self._refusals.note(self._name, _WHAT, error, peer[0], self._ports.look)
            why = f"the appliance has no port to send it from: {error.strerror}"
            self._saw_none(peer, name, f"{name[:80]!r}: {why}", "no port", why)
            return None

    def _end(self, running: _Running) -> None:
        """End a transfer that is in the way of another one; nobody is told of one that may have been asked for in another's name."""
        if running.moving:
            running.transfer.give_way()
            self._finish(running)
        else:
            self._forget(running)

    def _remind(self) -> None:
        now = self._monotonic()
        for running in list(self._transfers.values()):
            if now - running.told >= MOVES_TOLD_EVERY and running.moved > running.told:
                running.told = now
                self._observer.moves(running.peer[0])
            silent = now - running.heard
            if silent >= LEAST_PATIENCE and silent >= running.transfer.patience:
                running.heard = now
                try:
                    self._send(running.transfer.timeout(), running)
                except OSError as error:
                    self._unreadable(running, error)
                    continue
                if running.transfer.done:
                    self._finish(running)

    def _finish(self, running: _Running) -> None:
        self._forget(running)
        peer, transfer, name = running.peer, running.transfer, file_name(running.request)
        if transfer.end is not None:
            self._saw_failure(peer, name, transfer, transfer.end, transfer.failure, running.refused)
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

    def _unreadable(self, running: _Running, error: OSError) -> None:
        self._send([encode_error(ErrorCode.NOT_DEFINED, "the file cannot be read")], running)
        self._forget(running)
        self._saw_failure(
            running.peer,
            file_name(running.request),
            running.transfer,
            "unreadable",
            f"it cannot be read: {error.strerror}",
        )

    def _forget(self, running: _Running) -> None:
        del self._transfers[running.peer]
        self._room.leave(running)
        if self._ports is not None:
            del self._by_port[running.line.fileno()]
            running.line.close()
        if isinstance(running.content, SharedFile):
            running.content.release()

    def _forget_all(self) -> None:
        for running in list(self._transfers.values()):
            self._forget(running)
        if self._ports is not None:
            self._ports.close()

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

    def _saw_failure(
        self, peer: Peer, name: str, transfer: ReadTransfer, why: str, message: str, refused: str = ""
    ) -> None:
        kept_in: dict[str, Fact] = {"refused": refused} if refused else {}
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
            retransmissions=transfer.retransmissions,
            recovered=transfer.recovered,
            **kept_in,
        )

    def _not_found(self, peer: Peer, name: str) -> None:
        _log.info("%s asked for %r, which is not served", peer[0], name[:80], extra={"action": "tftp.not-found"})
        self._answer([encode_error(ErrorCode.FILE_NOT_FOUND, "no such file")], peer)
        self._saw_none(peer, name, f"{name[:80]!r} is not served", "not found", "there is no such file")

    def _saw_none(self, peer: Peer, name: str, detail: str, why: str, message: str) -> None:
        """Tell of a question by which no transfer began."""
        self._observer.saw_address(
            peer[0],
            Stage.LOADER_FAILED,
            detail,
            name=name,
            block=0,
            blocks=0,
            blksize=0,
            why=why,
            message=message,
        )

    def _send(self, datagrams: Sequence[bytes], running: _Running) -> None:
        running.refused = self._send_by(running.line, datagrams, running.peer) or running.refused

    def _answer(self, datagrams: Sequence[bytes], peer: Peer) -> None:
        """Say what begins no transfer, from where it was asked."""
        self._send_by(self._socket, datagrams, peer)

    def _send_by(self, line: socket.socket, datagrams: Sequence[bytes], peer: Peer) -> str:
        """Send these, and return the kernel's word where this host's own firewall keeps them in, empty otherwise."""
        if not datagrams or (line is self._socket and not self._shared.has_room_for(peer[0])):
            return ""
        try:
            bursts.send(line, datagrams, peer)
        except BlockingIOError:
            return ""  # the send buffer is full: the time-out repeats the rest
        except OSError as error:
            if self._refusals is not None:
                self._refusals.note(self._name, _WHAT, error, peer[0])
            _log.debug("send to %s: %s", peer[0], error, extra={"action": "tftp.send-failed"})
            return os.strerror(error.errno) if error.errno and is_kept_in(error) else ""
        if self._refusals is not None:
            self._refusals.sent(self._name, _WHAT)
        return ""
