"""Has the kernel keep packets out of a socket, by classic BPF (Linux' Documentation/networking/filter.rst)."""

import asyncio
import ctypes
import socket
import struct
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from typing import NoReturn

_SO_ATTACH_FILTER, _SO_DETACH_FILTER = 26, 27
# <linux/if_packet.h>, <linux/if_ether.h>
SOL_PACKET, PACKET_AUXDATA = 263, 8
_PACKET_IGNORE_OUTGOING, _ETH_P_ALL = 23, 3
_INSTRUCTION = struct.Struct("=HBBI")


def whole_udp(port: int, most: int) -> list[tuple[int, int, int, int]]:
    """The end of a program for frames: lets in whole IPv4 UDP for a port, without options of IP, cut to `most` bytes.

    Its last line drops, to which what stands before it leaps.
    """
    return [
        (0x30, 0, 0, 14),  # ldb [14]: version, and words of the IP header
        (0x15, 0, 7, 0x45),
        (0x30, 0, 0, 23),  # ldb [23]: protocol
        (0x15, 0, 5, 17),
        (0x28, 0, 0, 20),  # ldh [20]: fragment
        (0x45, 3, 0, 0x3FFF),
        (0x28, 0, 0, 36),  # ldh [36]: destination port
        (0x15, 0, 1, port),
        (0x06, 0, 0, most),  # keep
        (0x06, 0, 0, 0),
    ]


def arriving(interface: str, program: Sequence[tuple[int, int, int, int]], room: int) -> socket.socket:
    """Keeps up to `room` bytes of the frames that come in on an interface and that a program lets in, each with its PACKET_AUXDATA.

    They show before the kernel asks the rules at the interface's ingress, and before it looks for a VLAN's interface.  Raises OSError
    where there is no right to it, or no such interface.
    """
    frames = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_CLOEXEC)
    try:
        frames.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        frames.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        frames.setsockopt(SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
        attach(frames, program)
        frames.bind((interface, _ETH_P_ALL))
    except OSError:
        frames.close()
        raise
    return frames


async def look_again_and_again(
    watching: Callable[[], socket.socket], look: Callable[[socket.socket], object], every: float
) -> NoReturn:
    """Look at what `watching` keeps, every so many seconds, for ever; without the right to keep frames nothing is looked at."""
    with ExitStack() as stack:
        frames: socket.socket | None = None
        with suppress(OSError):
            frames = stack.enter_context(watching())
        while True:
            await asyncio.sleep(every)
            if frames is not None:
                with suppress(OSError):  # the interface is gone
                    look(frames)


def attach(line: socket.socket, program: Sequence[tuple[int, int, int, int]]) -> None:
    """Let in what a program says, in place of the one that was there; raises OSError for what is none.

    An instruction is (code, how many to leap when it holds, how many when not, operand).
    """
    octets = b"".join(_INSTRUCTION.pack(*each) for each in program)
    held = ctypes.create_string_buffer(octets, len(octets))
    where = struct.pack("@HP", len(program), ctypes.addressof(held))
    line.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, where)


def detach(line: socket.socket) -> None:
    """Let everything in again."""
    line.setsockopt(socket.SOL_SOCKET, _SO_DETACH_FILTER, 0)
