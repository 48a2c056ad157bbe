"""Runs a program as systemd/tinkbox.service does, without systemd: `python as_unit.py UNIT PROGRAM...`.

Of the unit it takes what can keep the program from its work: user, capabilities, address families and system calls.  The
filter is made by libseccomp, as systemd makes its own.
"""

import ctypes
import errno
import os
import socket
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

USER = "4711"
ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM
NOT_EQUAL = 1


class Argument(ctypes.Structure):
    """struct scmp_arg_cmp"""

    _fields_ = (("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64))


def settings(unit: Path) -> dict[str, list[str]]:
    found = defaultdict(list)
    for line in unit.read_text().splitlines():
        key, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found[key].append(value)
    return found


def system_calls(lists: list[str]) -> set[str]:
    """The names that are left; later lists take away (~) or add."""
    left: set[str] = set()
    for each in lists:
        names = {name for word in each.removeprefix("~").split() for name in members(word)}
        left = left - names if each.startswith("~") else left | names
    return left


def members(word: str) -> set[str]:
    if not word.startswith("@"):
        return {word}
    listed = subprocess.run(["systemd-analyze", "syscall-filter", word], capture_output=True, text=True, check=True)
    words = (line.strip() for line in listed.stdout.splitlines()[1:])
    return {name for each in words if each and not each.startswith("#") for name in members(each)}


def confine(unit: dict[str, list[str]]) -> None:
    seccomp = ctypes.CDLL("libseccomp.so.2")
    seccomp.seccomp_init.restype = ctypes.c_void_p
    seccomp.seccomp_rule_add_array.argtypes = (
        ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint, ctypes.POINTER(Argument),
    )  # fmt: skip
    seccomp.seccomp_load.argtypes = (ctypes.c_void_p,)
    rules = ctypes.c_void_p(seccomp.seccomp_init(REFUSE))
    families = [getattr(socket, name) for each in unit["RestrictAddressFamilies"] for name in each.split()]
    # What systemd adds, for it starts the program by it; this does, too.
    for name in {*system_calls(unit["SystemCallFilter"]), "execve"}:
        number = seccomp.seccomp_syscall_resolve_name(name.encode())
        each = [None] if name != "socket" else [Argument(0, 4, family, 0) for family in families]
        for argument in each if number >= 0 else []:
            count = 0 if argument is None else 1
            assert seccomp.seccomp_rule_add_array(rules, ALLOW, number, count, argument) == 0, name
    assert seccomp.seccomp_load(rules) == 0


if __name__ == "__main__":
    unit, program = settings(Path(sys.argv[1])), sys.argv[2:]
    if os.geteuid() == 0:
        rights = ",".join(f"+{name.removeprefix('CAP_').lower()}" for name in unit["AmbientCapabilities"][0].split())
        become = [
            "--reuid",
            USER,
            "--regid",
            USER,
            "--clear-groups",
            "--no-new-privs",
            "--bounding-set",
            f"-all,{rights}",
        ]
        os.execvp(
            "setpriv", ["setpriv", *become, "--inh-caps", rights, "--ambient-caps", rights, sys.executable, *sys.argv]
        )
    confine(unit)
    os.execvp(program[0], program)
