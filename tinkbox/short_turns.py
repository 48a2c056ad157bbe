"""The event loop in short turns: a flood at one door lets a transfer that goes block by block wait for little.

By itself the loop handles everything that is ready before it looks again.  Under a flood that takes tens of milliseconds,
and TFTP waits so long for each block (RFC 1350 §2).  So a turn has few events, and before each callback of a turn comes
what is urgent.  A hundred connections at which something waits are a dozen turns, in which DHCP's queue runs over: so its
packets are urgent as well.  But anybody can send them, so they have a share of the time only.

A connection can be told to rest (`Connection`): what it says waits in the kernel.  Connections of one host take turns as one
does, so that thousands of others' are in nobody's way.
"""

import asyncio
import os
import select
import selectors
import socket
import time
from asyncio.selector_events import _SelectorSocketTransport  # type: ignore[attr-defined]
from asyncio.sslproto import _SSLProtocolTransport
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context
from functools import partial
from math import ceil
from typing import Any, Final, Protocol, TypeVarTuple

# Events of one turn, and among how many they are chosen.  Of more the kernel gives each ready descriptor its place in a queue.
EVENTS: Final = 8
READY: Final = 512
REMEMBERED: Final = 32_768
# Seconds that an urgent reader is taken to last at least, so that one with nothing to read is not asked all the time.
LEAST: Final = 0.0005
Ts = TypeVarTuple("Ts")


class Readable(Protocol):
    """What a loop can watch: a non-blocking socket, or an epoll of several."""

    def fileno(self) -> int: ...


class Urgent:
    """A file whose reader is called before other things as well, for this `share` of the loop's time at most.

    So it has to find out by itself, at little cost, that nothing is there.
    """

    def __init__(self, file: Readable, share: float) -> None:
        self._file = file
        self.share = share

    def fileno(self) -> int:
        return self._file.fileno()


class ShortTurns(selectors.EpollSelector):
    """Hands out so many events at once; `between` is called at the beginning of each turn.

    `group_of` has the descriptors that are in a group: of all that is ready the groups come first that had their turn
    longest ago, each with one.  A descriptor in none is a group of its own.
    """

    def __init__(self, between: Callable[[], None] = lambda: None) -> None:
        super().__init__()
        self._between = between
        self.group_of: dict[int, str] = {}
        # By group and by descriptor: its last turn, while there is more to do than a turn takes.
        self._turns: dict[str | int, int] = {}
        self._turn = 0
        self._ready = select.epoll.fromfd(os.dup(self.fileno()))

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        wait = None if timeout is None else ceil(max(timeout, 0.0) * 1000) / 1000
        try:
            ready = self._ready.poll(wait, READY)
        except InterruptedError:
            return []
        if len(ready) > EVENTS:
            ready = self._chosen(ready)
        keys = self.get_map()
        events = [(keys[descriptor], _kinds(mask) & keys[descriptor].events) for descriptor, mask in ready]
        # Not before the wait: what is called here may give the loop more to do at once.
        self._between()
        return events

    def _chosen(self, ready: list[tuple[int, int]]) -> list[tuple[int, int]]:
        turns = self._turns
        groups: dict[str | int, list[tuple[int, int]]] = {}
        for event in ready:
            groups.setdefault(self.group_of.get(event[0], event[0]), []).append(event)
        waiting = sorted(groups, key=lambda group: turns.get(group, 0))
        for group in waiting[:EVENTS]:
            groups[group].sort(key=lambda event: turns.get(event[0], 0))
        chosen = [groups[group].pop(0) for group in waiting[:EVENTS]]
        for group in waiting:  # where there are fewer groups than a turn takes
            chosen += groups[group][: EVENTS - len(chosen)]
        if len(turns) > REMEMBERED:
            turns.clear()
        self._turn += 1
        turns.update(dict.fromkeys(waiting[:EVENTS], self._turn))
        turns.update((descriptor, self._turn) for descriptor, _ in chosen)
        return chosen

    def close(self) -> None:
        self._ready.close()
        super().close()


class Connection(_SelectorSocketTransport):  # type: ignore[misc]
    """The transport of a TCP connection, or of one to a unix socket.

    Its protocol pauses and resumes it as it likes: some do so with each piece.  So a rest is beside that.
    `max_size` is how many octets are read at once: a quarter of a megabyte in the smallest chunks of HTTP would be a tenth of a second.
    """

    max_size = 16 << 10
    _empty_waiter: asyncio.Future[None] | None
    _rests = False
    _wanted = True

    def take_turns_as(self, group: str) -> None:
        """Have all connections of a group wait for their turns as one."""
        self._loop.group_of[self._sock_fd] = group

    def _call_connection_lost(self, exc: Exception | None) -> None:
        self._loop.group_of.pop(self._sock_fd, None)
        self._end_sending()
        super()._call_connection_lost(exc)

    def _end_sending(self) -> None:
        """Have a file that is sent hear that its connection is over.

        `loop.sendfile` waits for the socket by its number, which is another one's as soon as this is closed: that one would not
        be heard, and the file would wait for ever.
        """
        writer = self._loop.writer(self._sock_fd)
        if writer is not None:
            with suppress(OSError):
                self._sock.shutdown(socket.SHUT_RDWR)
            writer._run()  # noqa: SLF001 - nothing else calls it once it is ready no more
        if self._empty_waiter is not None and self._empty_waiter.done():
            self._empty_waiter = None  # asyncio would tell it the end once more

    def rest(self, until: float) -> None:
        """Read nothing before this time of the loop; a connection that rests already goes on resting."""
        if self._rests or self.is_closing():
            return
        self._wanted = self.is_reading()
        super().pause_reading()
        self._rests = True
        self._loop.call_at(until, self._go_on)

    def is_reading(self) -> bool:
        return self._wanted and not self.is_closing() if self._rests else bool(super().is_reading())

    def pause_reading(self) -> None:
        if self._rests:
            self._wanted = False
        else:
            super().pause_reading()

    def resume_reading(self) -> None:
        if self._rests:
            self._wanted = True
        else:
            super().resume_reading()

    def _go_on(self) -> None:
        self._rests = False
        if self._wanted:
            super().resume_reading()


class Encrypted(_SSLProtocolTransport):
    """The transport of what is said over an encrypted connection; before Python 3.12 asyncio's own forgets it when it is closed twice."""

    def is_closing(self) -> bool:
        """Also as soon as what carries it is lost: asyncio's own tells that a turn later.

        Who sends a file without a pause would write all of it meanwhile, and each piece would be a warning in the log.
        """
        carrying = self.connection
        return super().is_closing() or (carrying is not None and carrying.is_closing())

    def close(self) -> None:
        if not super().is_closing():
            super().close()

    @property
    def connection(self) -> Connection | None:
        """What carries it; None once it is over."""
        carried: Any = self._ssl_protocol
        found = carried._transport if carried is not None else None  # noqa: SLF001 - asyncio tells it to nobody
        return found if isinstance(found, Connection) else None


def connection_of(transport: object) -> Connection | None:
    """The connection of our loop that a transport is, or that carries it."""
    if isinstance(transport, Encrypted):
        return transport.connection
    return transport if isinstance(transport, Connection) else None


class EventLoop(asyncio.SelectorEventLoop):
    """Goes in short turns, and calls the readers of what is `Urgent` between and within them, as far as their share goes."""

    def __init__(self) -> None:
        self._urgent: dict[Urgent, _Reader] = {}
        # What reads and writes connections is no callback of `call_soon`.
        self._events = ShortTurns(self._look)
        self.group_of = self._events.group_of
        super().__init__(self._events)

    def _make_socket_transport(
        self, sock: Any, protocol: Any, waiter: Any = None, *, extra: Any = None, server: Any = None
    ) -> Connection:
        return Connection(self, sock, protocol, waiter, extra, server)

    def writer(self, descriptor: int) -> asyncio.Handle | None:
        """What is called when a descriptor can be written to."""
        key = self._events.get_map().get(descriptor)
        return None if key is None else key.data[1]

    def add_reader(self, fd: Any, callback: Callable[[*Ts], Any], *args: *Ts) -> None:
        super().add_reader(fd, callback, *args)
        if isinstance(fd, Urgent):
            self._urgent[fd] = _Reader(partial(callback, *args), fd.share)

    def remove_reader(self, fd: Any) -> bool:
        self._urgent.pop(fd, None)
        return super().remove_reader(fd)

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        return super().call_soon(self._call, callback, *args, context=context)

    def _call(self, callback: Callable[[*Ts], object], *args: *Ts) -> None:
        self._look()
        callback(*args)

    def _look(self) -> None:
        try:
            for each in self._urgent.values():
                each.look()
        except Exception as error:
            self.call_exception_handler({"message": "what is urgent failed", "exception": error})


class _Reader:
    """Of an urgent file: after each time it rests, so that it has no more than its share."""

    def __init__(self, read: Callable[[], object], share: float) -> None:
        self._read = read
        self._rests = 1 / share - 1  # so many times as long as it read
        self._again = 0.0

    def look(self) -> None:
        began = time.perf_counter()
        if began < self._again:
            return
        try:
            self._read()
        finally:
            ended = time.perf_counter()
            self._again = ended + self._rests * max(ended - began, LEAST)


def _kinds(mask: int) -> int:
    """What `selectors` calls it; an error or the end of a stream is both."""
    reading = selectors.EVENT_READ if mask & ~select.EPOLLOUT else 0
    return reading | (selectors.EVENT_WRITE if mask & ~select.EPOLLIN else 0)
