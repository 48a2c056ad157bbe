"""Missing firmware and lack of memory in the kernel's log, and what whoever writes there can do: little."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.wire.kernel_log import (
    MOST_FILES,
    MOST_PLACES,
    MOST_SAID,
    LimitedKill,
    MissingFirmware,
    OutOfMemory,
    group_ran_out,
    killed_for_memory,
    machine_ran_out,
    missing_firmware,
)

LOG = """6,1,100,-;Linux version 6.1.0
3,339,5140900,-;bnx2 0000:02:00.0: firmware: failed to load bnx2/bnx2-mips-09-6.2.1b.fw (-2)
 SUBSYSTEM=pci
 DEVICE=+pci:0000:02:00.0
3,340,5140901,-;firmware_class: See https://wiki.debian.org/Firmware for information about missing firmware
4,341,5140902,-;bnx2 0000:02:00.0: Direct firmware load for bnx2/bnx2-mips-09-6.2.1b.fw failed with error -2
4,342,5140903,-;bnx2 0000:02:00.0: Direct firmware load for bnx2/bnx2-rv2p-09-6.0.17.fw failed with error -2
4,343,5140904,-,caller=T1;r8152 2-1:1.0: Direct firmware load for rtl_nic/rtl8153b-2.fw failed with error -2
4,344,5140905,-;qed 0000:05:00.0: Direct firmware load for qed/x.bin failed with error -12
"""


def test_each_file_is_told_once_by_driver_and_place() -> None:
    assert missing_firmware(LOG) == {
        "0000:02:00.0": MissingFirmware("bnx2", ("bnx2/bnx2-mips-09-6.2.1b.fw", "bnx2/bnx2-rv2p-09-6.0.17.fw")),
        "2-1:1.0": MissingFirmware("r8152", ("rtl_nic/rtl8153b-2.fw",)),
    }


def test_a_log_without_such_lines_tells_nothing() -> None:
    assert missing_firmware("") == missing_firmware("6,1,1,-;nothing\nno record\n;\n;;;") == {}
    # What a record is about stands behind a blank, and is no record.
    assert missing_firmware(" x;bnx2 0: Direct firmware load for a failed with error -2") == {}


def test_whoever_writes_much_into_the_log_is_bounded() -> None:
    line = "4,1,1,-;d p{}: Direct firmware load for f{} failed with error -2"
    places = missing_firmware("\n".join(line.format(number, 0) for number in range(1000)))
    assert len(places) == MOST_PLACES
    files = missing_firmware("\n".join(line.format(0, number) for number in range(1000)))
    assert len(files["p0"].files) == MOST_FILES
    assert missing_firmware(line.format(0, "x" * 500)) == {}


@given(st.text() | st.text().map(lambda name: f"4,1,1,-;d p: Direct firmware load for {name} failed with error -2"))
def test_nothing_that_cannot_be_shown_or_is_long_comes_out_of_it(log: str) -> None:
    for place, missing in missing_firmware(log).items():
        for word in (place, missing.driver, *missing.files):
            assert word.isprintable()
            assert 0 < len(word) <= 128


KILLED = (
    "Out of memory: Killed process 412 (tail) total-vm:809344kB, anon-rss:805376kB, file-rss:4kB, UID:0 oom_score_adj:0"
)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (KILLED, OutOfMemory("tail", 805376 << 10, limited=False)),
        ("Memory cgroup out of memory: Killed process 7 (a b) total-vm:1kB", OutOfMemory("a b", 0, limited=True)),
        (
            "sh invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
            OutOfMemory("", 0, limited=False),
        ),
        ("oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=c", OutOfMemory("", 0, limited=True)),
        (
            "[   72.371993] oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),global_oom",
            OutOfMemory("", 0, limited=False),
        ),
        ("oom_reaper: reaped process 412 (tail), now anon-rss:0kB", None),
        ("Linux version 6.1.0", None),
        ("", None),
    ],
)
def test_a_line_about_memory_is_read(line: str, told: OutOfMemory | None) -> None:
    assert killed_for_memory(line) == told


def test_memory_that_ran_out_is_found_only_since_a_moment_and_of_the_whole_machine() -> None:
    log = (
        f"3,800,5000000,-;{KILLED.replace('tail', 'first')}\n"
        f"3,801,9000000,-;{KILLED}\n SUBSYSTEM=Kill process 1 (x)\n"
        "3,802,9500000,-;Memory cgroup out of memory: Killed process 7 (c) total-vm:1kB\n"
        "3,803,x,-;Out of memory: Killed process 8 (odd)\n3;Out of memory: Killed process 9 (short)\n"
    )
    assert "(tail)" in machine_ran_out(log, 6.0)
    assert "(tail)" in machine_ran_out(log, 0.0)
    assert machine_ran_out(log, 9.1) == machine_ran_out(log, math.inf) == machine_ran_out("", 0.0) == ""


CONTAINER = "9c426a746a92"
LIMITED = "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=c,mems_allowed=0,oom_memcg={limit},task_memcg={group},task={task},pid={pid},uid=0"


def limited(at: float, group: str, task: str = "tail", limit: str = "/lab.slice", pid: int = 7) -> str:
    killed = f"Memory cgroup out of memory: Killed process {pid} ({task}) total-vm:25976kB"
    said = LIMITED.format(limit=limit, group=group, task=task, pid=pid)
    return f"6,1,{at * 1e6:.0f},-;{said}\n3,2,{at * 1e6 + 40:.0f},-;{killed}\n"


def test_a_kill_for_the_limit_of_a_group_above_is_found_by_its_container_and_only_since_a_moment() -> None:
    group = f"/lab.slice/docker/{CONTAINER}ff"
    log = limited(5, group, "first") + limited(9, group, pid=8) + limited(10, "/lab.slice/docker/other")
    found = LimitedKill("Memory cgroup out of memory: Killed process 8 (tail) total-vm:25976kB", "/lab.slice")
    assert group_ran_out(log, 6.0, CONTAINER) == group_ran_out(log, 0.0, CONTAINER) == found
    assert group_ran_out(log, 9.5, CONTAINER) is None
    assert group_ran_out(log, 0.0, "") is None
    assert machine_ran_out(log, 0.0) == ""
    first_alone = log.splitlines()[2]
    alone = group_ran_out(first_alone, 0.0, CONTAINER)
    assert alone is not None
    assert alone.line.startswith("oom-kill:constraint=")


def test_a_kill_of_the_engine_for_a_limit_is_told_as_that() -> None:
    found = group_ran_out(limited(5, "/lab.slice/docker.service", "dockerd"), 0.0, CONTAINER)
    assert found is not None
    assert (found.of_engine, found.limit) == (True, "/lab.slice")
    inside = group_ran_out(limited(5, f"/{CONTAINER}", "dockerd", limit="/\x1b[2J" + "y" * 900), 0.0, CONTAINER)
    assert inside is not None
    assert (inside.of_engine, len(inside.limit) <= 120, "\x1b" in inside.limit) == (False, True, False)


def test_a_line_about_memory_is_bounded_and_in_one_line() -> None:
    found = machine_ran_out(f"3,1,9,-;Out of memory: Killed process 1 (x)\x1b[2J{'y' * 9000}\n", 0.0)
    assert len(found) == MOST_SAID
    assert "\x1b" not in found
