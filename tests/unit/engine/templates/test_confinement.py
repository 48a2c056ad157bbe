"""The process that renders Jinja2, from inside."""

import errno
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.everybodys_checkout import BEFORE, PYTHON
from tinkbox.confinement.giving_up import CONFINED, REFUSED
from tinkbox.engine.templates.confinement import CPU_SECONDS, MEMORY_BYTES
from tinkbox.engine.templates.surroundings import ZONES

ROOT = Path(__file__).parents[4]
MOMENT = "2026-07-30T15:10:10.123456+00:00"
# What a template that broke out of Jinja2's sandbox and Python would try, by the number of the error.
LOOK = """
import ctypes, json, os, socket, subprocess, sys
from tinkbox.confinement.giving_up import confine
from tinkbox.engine.templates.confinement import CPU_SECONDS, MEMORY_BYTES
libc = ctypes.CDLL(None, use_errno=True)
before = os.listdir("/proc/self/fd")
confine(cpu_seconds=CPU_SECONDS, memory=MEMORY_BYTES)
def refused(attempt):
    try:
        done = attempt()
    except OSError as error:
        return error.errno
    return ctypes.get_errno() if done == -1 else 0
attempts = {
    "open": lambda: os.open("/etc/hostname", os.O_RDONLY),
    "look at a file": lambda: os.stat("/etc/hostname"),
    "socket": lambda: libc.socket(socket.AF_INET, socket.SOCK_STREAM, 0),
    "socket pair": lambda: socket.socketpair(),
    "fork": lambda: os.fork(),
    "another program": lambda: os.execv("/bin/true", ["true"]),
    "ptrace": lambda: libc.ptrace(16, os.getppid(), 0, 0),
    "signal": lambda: os.kill(1, 0),
    "namespace": lambda: libc.unshare(0x10000000),
    "io_uring": lambda: libc.syscall(425, 1, 0),
    "more rights": lambda: libc.prctl(4, 1, 0, 0, 0),
    "code": lambda: -1 if libc.mprotect(ctypes.c_void_p(id(before) & ~4095), 4096, 7) else 0,
    "a file given by another": lambda: libc.recvmsg(0, 0, 0),
}
print(json.dumps({"refused": {name: refused(each) for name, each in attempts.items()}, "environment": dict(os.environ),
    "open": len(before)}), flush=True)
sys.stdin.read()
"""
LIMITS = {"cpu time": CPU_SECONDS, "file size": 0, "core file size": 0, "open files": 0}
UNIT = ["--inh-caps", "+net_raw,+net_bind_service", "--ambient-caps", "+net_raw,+net_bind_service", "--no-new-privs"]
AS_ROOT: list[str] = []
AS_A_USER = ["setpriv", "--reuid", "4711", "--regid", "4711", "--clear-groups"]
AS_THE_UNIT = [*AS_A_USER, *UNIT]
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="takes rights away from root")


@needs_root
@pytest.mark.parametrize("by", [AS_ROOT, AS_A_USER, AS_THE_UNIT], ids=["root", "a user", "the unit"])
def test_a_confined_process_can_only_compute(by: list[str]) -> None:
    """The parent sees what the kernel keeps of it; from inside, every way out is refused."""
    with subprocess.Popen(
        [*BEFORE, *by, PYTHON, "-c", LOOK],
        cwd=ROOT,
        env={"TINKBOX_TOKEN": "secret"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        seen = json.loads(process.stdout.readline())
        known = dict(
            line.split(":", 1) for line in Path(f"/proc/{process.pid}/status").read_text().splitlines() if ":" in line
        )
        limits = dict(re.findall(r"^Max (.{21}) (\S+)", Path(f"/proc/{process.pid}/limits").read_text(), re.MULTILINE))
        process.stdin.close()
    assert set(seen["refused"].values()) == {errno.EPERM}, seen["refused"]
    assert (seen["environment"], seen["open"]) == ({}, 4)  # its three, and the folder that it listed
    assert {name: int(limits[name.ljust(21)]) for name in LIMITS} == LIMITS
    assert MEMORY_BYTES < int(limits["address space".ljust(21)]) < MEMORY_BYTES + (1 << 30)
    rights = {int(known[each], 16) for each in ("CapInh", "CapPrm", "CapEff", "CapAmb")}
    assert (rights, known["NoNewPrivs"].strip(), known["Seccomp"].strip()) == ({0}, "1", "2")
    assert "0" not in known["Uid"].split() + known["Gid"].split() + known["Groups"].split()


@needs_root
def test_root_that_may_not_become_another_user_is_not_taken_for_confined() -> None:
    """As under a unit that leaves root three capabilities: nothing is rendered, and the reason is told."""
    before = ["setpriv", "--bounding-set", "-all,+net_raw,+net_bind_service,+net_admin", "--inh-caps", "-all"]
    answer = said({"dialect": "JINJA", "moment": MOMENT, "text": "{{ a }}", "data": [{"a": "x"}]}, before)
    assert answer.startswith(REFUSED)
    assert b"User=" in answer


def said(request: object, before: Sequence[str] = ()) -> bytes:
    command = [*before, sys.executable, "-m", "tinkbox", "--render"]
    return subprocess.run(
        command, cwd=ROOT, input=json.dumps(request).encode(), capture_output=True, check=False
    ).stdout


def test_it_answers_with_texts_and_problems_in_their_order() -> None:
    answer = said({"dialect": "JINJA", "moment": MOMENT, "text": "{{ a }}", "data": [{"a": "x"}, {}]})
    assert answer.startswith(CONFINED)
    assert json.loads(answer.removeprefix(CONFINED)) == [
        "x",
        {"line": 1, "key": "a", "text": "a has no value; known here: nothing"},
    ]


@pytest.mark.parametrize(
    "text",
    ["{{ 'a' * 10 ** 10 }}", "{{ '%1000000000s' % 1 }}", "{{ '%1000000000s' | format(1) }}", "{{ [0] * 10 ** 9 }}"],
)
def test_what_takes_all_memory_is_told_while_there_is_some(text: str) -> None:
    answer = said({"dialect": "JINJA", "moment": MOMENT, "text": text, "data": [{}]})
    assert json.loads(answer.removeprefix(CONFINED)) == [
        {"line": 1, "key": "", "text": "rendering takes too much memory"}
    ]


def test_keys_passwords_and_zones_are_there_though_nothing_can_be_opened() -> None:
    if not ZONES.is_dir():
        pytest.skip("no time zones on this host: install the package tzdata")
    go = (
        '{{ now }} {{ dateInZone "15:04 MST" now "Asia/Tokyo" }} {{ htpasswd "a" "b" | len }} {{ (genCA "x" 1).Key | trunc 31 }} '
        '{{ genPrivateKey "ed25519" | len }} {{ derivePassword 1 "pin" "a" "b" "c" }} {{ encryptAES "a" "b" | decryptAES "a" }}'
    )
    jinja = (
        "{{ now() }} {{ dateInZone('15:04 MST', now(), 'Asia/Tokyo') }} {{ htpasswd('a', 'b') | length }} {{ genCA('x', 1).Key[:31] }} "
        "{{ genPrivateKey('ed25519') | length }} {{ derivePassword(1, 'pin', 'a', 'b', 'c') }} {{ encryptAES('a', 'b') | length }}"
    )
    expected = "2026-07-30 15:10:10.123456 +0000 UTC 00:10 JST 62 -----BEGIN RSA PRIVATE KEY----- 119 9016"
    for dialect, text, last in (("GO", go, "b"), ("JINJA", jinja, "44")):
        answer = said({"dialect": dialect, "text": text, "moment": MOMENT, "data": [{}]})
        assert json.loads(answer.removeprefix(CONFINED)) == [f"{expected} {last}"]


def test_what_takes_all_time_is_ended_by_the_kernel() -> None:
    assert said({"dialect": "JINJA", "moment": MOMENT, "text": "{{ 9 ** (9 ** 9) }}", "data": [{}]}) == CONFINED
