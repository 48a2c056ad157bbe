"""Has the kernel keep packets out of a socket, by classic BPF (Linux' Documentation/networking/filter.rst)."""

import ctypes
import socket
import struct
from collections.abc import Sequence

_SO_ATTACH_FILTER, _SO_DETACH_FILTER = 26, 27
_INSTRUCTION = struct.Struct("=HBBI")


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
