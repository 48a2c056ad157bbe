"""A process keeps the system calls that a computation needs, and gives up all others, for ever (seccomp(2)).

What is left reads and writes what is open, asks for memory that is no code and for random bytes, and ends.  None of it takes a path, an
address, a process or a namespace, so neither root nor a kernel with holes elsewhere helps who is in here.  Python's own
library cannot do this, and libseccomp would be a second C library to carry: the filter is 60 instructions of classic BPF.
"""

import ctypes
import errno
import platform
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

# <linux/prctl.h>, <linux/seccomp.h>
_SET_NO_NEW_PRIVS, _SET_SECCOMP, _MODE_FILTER = 38, 22, 2
_CAP_AMBIENT, _CAP_AMBIENT_CLEAR_ALL = 47, 4
_CAPABILITY_VERSION_3: Final = 0x20080522
_KILL, _REFUSE, _ALLOW = 0x80000000, 0x00050000 | errno.EPERM, 0x7FFF0000
# <linux/bpf_common.h>: load a word, and three jumps and returns.
_LOAD, _IF_EQUAL, _IF_SET, _RETURN = 0x20, 0x15, 0x45, 0x06
# struct seccomp_data, on little-endian processors: the lower half of the third argument.
_NUMBER, _ARCHITECTURE, _THIRD = 0, 4, 32
_PROT_EXEC: Final = 4
_INSTRUCTION: Final = struct.Struct("=HBBI")


@dataclass(frozen=True, slots=True)
class _Architecture:
    """Numbers of <asm/unistd.h>: `mapping` are those whose third argument says what memory is for."""

    audit: int
    capset: int
    mapping: Sequence[int]
    allowed: Sequence[int]


# read write close lseek munmap brk rt_sigaction rt_sigprocmask rt_sigreturn sched_yield mremap madvise exit sigaltstack futex
# restart_syscall clock_gettime exit_group getrandom
_ARCHITECTURES: Final[Mapping[str, _Architecture]] = {
    "x86_64": _Architecture(
        0xC000003E, 126, (9, 10), (0, 1, 3, 8, 11, 12, 13, 14, 15, 24, 25, 28, 60, 131, 202, 219, 228, 231, 318)
    ),
    "aarch64": _Architecture(
        0xC00000B7,
        91,
        (222, 226),
        (63, 64, 57, 62, 215, 214, 134, 135, 139, 124, 216, 233, 93, 132, 98, 128, 113, 94, 278),
    ),
}


def give_up_capabilities() -> None:
    """Have no capability, and none to come by any program.  Raises OSError."""
    libc, here = ctypes.CDLL(None, use_errno=True), _here()
    _done(libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    _done(libc.prctl(_CAP_AMBIENT, _CAP_AMBIENT_CLEAR_ALL, 0, 0, 0))
    head, none = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0), bytes(24)
    _done(libc.syscall(here.capset, head, none))


def only_compute() -> None:
    """Keep the system calls of a computation; any other fails with EPERM.  Raises OSError."""
    code = b"".join(_INSTRUCTION.pack(*each) for each in _program(_here()))
    held = ctypes.create_string_buffer(code, len(code))
    where = struct.pack("@HP", len(code) // _INSTRUCTION.size, ctypes.addressof(held))
    libc = ctypes.CDLL(None, use_errno=True)
    _done(libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    _done(libc.prctl(_SET_SECCOMP, _MODE_FILTER, where, 0, 0))


def _program(here: _Architecture) -> list[tuple[int, int, int, int]]:
    """(code, instructions to skip when true, when false, operand) each."""
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_IF_EQUAL, 1, 0, here.audit),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    for number in here.allowed:
        program += [(_IF_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ALLOW)]
    for number in here.mapping:
        program += [
            (_IF_EQUAL, 0, 4, number),
            (_LOAD, 0, 0, _THIRD),
            (_IF_SET, 0, 1, _PROT_EXEC),
            (_RETURN, 0, 0, _REFUSE),
            (_RETURN, 0, 0, _ALLOW),
        ]
    return [*program, (_RETURN, 0, 0, _REFUSE)]


def _here() -> _Architecture:
    found = _ARCHITECTURES.get(platform.machine())
    if found is None:
        raise OSError(errno.ENOSYS, f"no filter of system calls for {platform.machine()}")
    return found


def _done(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl or capset: {errno.errorcode.get(number, number)}")
