"""The doctor's rules about what a machine's kernel says, with lines as kernels of today write them."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.unit.engine.boot_story import BEGIN, MAC, case, osie_boot
from tests.unit.engine.doctor.rules.test_silence import WORK
from tinkbox.engine.doctor.case import Case
from tinkbox.engine.doctor.doctor import RULES, SYSLOG_SAYS, diagnose
from tinkbox.engine.doctor.rules.kernel import MOST_LINES, SENT_BY
from tinkbox.model.diagnosis import Diagnosis, Gravity
from tinkbox.model.inventory import Disk, Inventory
from tinkbox.model.sightings import Line
from tinkbox.model.workflow import State
from tinkbox.wire.polling import ORDERS_SECONDS, SILENT_SECONDS

INVOKED = "tail invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0"
CHOSEN = "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=a1,mems_allowed=0,global_oom,task_memcg=/docker/a1,task=tail,pid=412,uid=0"
KILLED = (
    "Out of memory: Killed process 412 (tail) total-vm:809344kB, anon-rss:805376kB, file-rss:4kB, shmem-rss:0kB, UID:0 "
    "pgtables:1620kB oom_score_adj:0"
)


def says(*texts: str, program: str = "kernel") -> Case:
    """A machine whose worker was just heard of, and whose kernel said that while its action ran."""
    lines = [
        Line(mac=MAC, at=BEGIN + timedelta(seconds=90 + number), severity=3, program=program, text=text)
        for number, text in enumerate(texts)
    ]
    told = case(*osie_boot(0), work=replace(WORK, kernel=tuple(lines)))
    return replace(told, now=BEGIN + timedelta(seconds=101))


def silent(told: Case) -> Case:
    """The same when its worker was not heard of since."""
    return replace(told, now=told.now + timedelta(seconds=SILENT_SECONDS + 1))


def of_kernel(told: Case) -> list[Diagnosis]:
    """What is found of the kernel's lines alone."""
    rules = {each.name for each in RULES if each.by_syslog}
    return [each for each in diagnose(told) if each.rule in rules]


def found(*texts: str, program: str = "kernel") -> list[Diagnosis]:
    return list(diagnose(says(*texts, program=program)))


def test_memory_that_ran_out_is_told_with_what_was_killed() -> None:
    (told,) = of_kernel(silent(says(*(f"[   72.371993] {each}" for each in (INVOKED, CHOSEN, KILLED)))))
    assert (told.rule, told.gravity) == ("OutOfMemory", Gravity.FAULT)
    assert told.cause == (
        "Memory ran out while os/write ran, that of the machine. The kernel killed 'tail', which held 786 MiB."
    )
    assert told.evidence[-1] == SENT_BY
    assert told.evidence[-2].startswith(
        "2026-11-21 03:01:32 the kernel: '[ 72.371993] Out of memory: Killed process 412 (tail) total-vm"
    )
    assert "more memory" in told.remedy


def test_memory_of_a_container_with_a_limit_is_told_apart() -> None:
    (told,) = found("Memory cgroup " + KILLED.replace("Out", "out"))
    assert "that of a container with a limit" in told.cause
    assert told.remedy == "Raise the container's limit."


@pytest.mark.parametrize(
    ("text", "disk"),
    [
        (
            "blk_update_request: I/O error, dev sda, sector 2048 op 0x1:(WRITE) flags 0x800 phys_seg 1 prio class 2",
            "sda",
        ),
        ("critical medium error, dev sdb, sector 99 op 0x0:(READ)", ""),
        ("I/O error, dev nvme0n1, sector 8 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2", "nvme0n1"),
        ("Buffer I/O error on dev vda1, logical block 0, lost async page write", "vda1"),
        ("nvme nvme0: I/O 12 QID 3 timeout, aborting", "nvme0"),
        ("ata3.00: failed command: READ FPDMA QUEUED", "ata3.00"),
        ("sd 0:0:0:0: [sda] tag#7 Sense Key : Medium Error [current]", "sda"),
        ("I/O error, dev fd0, sector 0 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2", ""),
        ("Buffer I/O error on dev sr0, logical block 0, async page read", ""),
    ],
)
def test_a_disk_that_fails_is_named(text: str, disk: str) -> None:
    told = found(text)
    assert [each.rule for each in told] == (["DiskErrors"] if disk else [])
    if disk:
        assert (
            told[0].cause == f"{SYSLOG_SAYS}The disk {disk} has errors while os/write ran: 1 line of the kernel say so."
        )
        assert told[0].subject == disk


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("bnx2 0000:02:00.0: Direct firmware load for bnx2/bnx2-mips-09.fw failed with error -2", "FirmwareAskedFor"),
        ("bnx2 0000:02:00.0: firmware: failed to load bnx2/bnx2-mips-09.fw (-2)", "FirmwareAskedFor"),
        ("platform regulatory.0: Direct firmware load for regulatory.db failed with error -2", ""),
        ("CPU3: Core temperature above threshold, cpu clock throttled (total events = 12)", "TooHot"),
        ("mce: [Hardware Error]: CPU 2: Machine Check: 0 Bank 5: bea0000000000108", "HardwareError"),
        ("EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0)", "HardwareError"),
        ("EDAC MC: Ver: 3.0.0", ""),
        ("mce: CPU0: Thermal monitoring enabled (TM1)", ""),
        ("INFO: task dd:1234 blocked for more than 120 seconds.", "HungTask"),
        ("Kernel panic - not syncing: Fatal exception", "KernelPanic"),
        ("BUG: unable to handle page fault for address: ffffffffc0", "KernelPanic"),
        ("virtio_net virtio0 enp0s2: renamed from eth0", ""),
        ("EXT4-fs (vda1): mounted filesystem with ordered data mode. Quota mode: none.", ""),
    ],
)
def test_what_else_the_kernel_says_is_told_with_its_line(text: str, rule: str) -> None:
    told = found(text)
    assert [each.rule for each in told] == [rule][: bool(rule)]
    if rule:
        assert f"the kernel: '{text[:40]}" in told[0].evidence[0].replace("`", "'")


def test_what_other_programs_say_is_not_the_kernels_word() -> None:
    assert not found(KILLED, program="osie")
    assert not list(diagnose(case(*osie_boot(0))))


def test_of_many_lines_the_newest_are_shown_and_none_can_break_out_of_its_quotes() -> None:
    (told,) = found(*[f"I/O error, dev sda, sector {each} `rm -rf /` ' x" for each in range(40)])
    assert len(told.evidence) == MOST_LINES + 2
    assert told.evidence[0] == "and 37 such lines before"
    assert "`" not in "".join(told.evidence)
    assert told.evidence[-2].count("'") == 2
    many = found(*[f"I/O error, dev sd{chr(97 + each)}, sector 1" for each in range(20)])
    assert len(many) == MOST_LINES


def test_process_that_was_killed_is_named_by_a_line_that_is_shown() -> None:
    killed, others = KILLED.replace("tail", "early"), [INVOKED] * MOST_LINES
    (told,) = of_kernel(silent(says(killed, *others)))
    assert "early" not in told.cause + "".join(told.evidence)
    assert "The kernel killed a process." in told.cause
    (told,) = of_kernel(silent(says(*others, killed)))
    assert "'early'" in told.cause
    assert any("early" in each for each in told.evidence)


def test_firmware_that_is_named_is_that_of_a_line_that_is_shown() -> None:
    lines = [f"bnx2 0000:02:00.0: Direct firmware load for bnx2/{each}.fw failed with error -2" for each in range(9)]
    (told,) = of_kernel(says(*lines))
    assert "'bnx2/0.fw'" in told.cause
    assert [each for each in told.evidence if "bnx2/0.fw" in each]
    assert len(told.evidence) == MOST_LINES + 2
    assert told.evidence[0] == "and 6 such lines before"


def ended(*texts: str) -> Case:
    """A workflow that failed by its worker's word, and what was said by syslog while it ran."""
    told = says(*texts)
    assert told.work is not None
    work = replace(
        told.work,
        state=State.FAILED,
        action_state=State.FAILED,
        reason="NonZeroExit",
        message="exit code 3",
        ended_at=told.now,
    )
    return replace(told, work=work)


@pytest.mark.parametrize(
    "text", [KILLED, "I/O error, dev sda, sector 1", "mce: [Hardware Error]: x", "Kernel panic - not syncing"]
)
def test_syslog_never_stands_before_what_the_worker_reported(text: str) -> None:
    first, second = diagnose(ended(text))
    assert (first.rule, first.gravity, second.gravity) == ("WorkflowFailed", Gravity.FAULT, Gravity.SUSPECT)
    assert SENT_BY in second.evidence


def test_panic_is_a_fault_only_once_the_worker_fell_silent() -> None:
    told = says("Kernel panic - not syncing: Fatal exception")
    assert told.work is not None
    before = replace(told, work=replace(told.work, contact=BEGIN + timedelta(seconds=89)))
    (so_far,) = of_kernel(replace(before, now=BEGIN + timedelta(seconds=92)))
    assert so_far.gravity is Gravity.SUSPECT
    (crashed,) = of_kernel(silent(before))
    assert crashed.gravity is Gravity.FAULT
    assert crashed.cause == "The machine's kernel crashed while os/write ran. It boots again after 30 seconds."


LINES = (
    KILLED,
    "I/O error, dev sda, sector 1",
    "mce: [Hardware Error]: x",
    "Kernel panic - not syncing",
    "CPU3: Core temperature above threshold, cpu clock throttled (total events = 12)",
    "INFO: task dd:1234 blocked for more than 120 seconds.",
    "bnx2 0000:02:00.0: firmware: failed to load bnx2/bnx2-mips-09.fw (-2)",
)


@pytest.mark.parametrize("text", LINES)
def test_a_line_that_any_host_can_send_is_no_fault_while_the_worker_is_in_touch(text: str) -> None:
    (told,) = found(text)
    assert told.gravity is Gravity.SUSPECT
    assert told.cause.startswith("Syslog from the machine's address says: ")


def test_every_rule_about_the_kernels_lines_says_so() -> None:
    assert {each.rule for text in LINES for each in found(text)} == {each.name for each in RULES if each.by_syslog}


@pytest.mark.parametrize("text", LINES[:3])
def test_a_line_of_a_worker_that_fell_silent_is_a_fault_in_plain_words(text: str) -> None:
    (before,), (after,) = of_kernel(says(text)), of_kernel(silent(says(text)))
    assert (after.gravity, after.cause) == (Gravity.FAULT, before.cause.removeprefix(SYSLOG_SAYS))
    assert after.subject == before.subject, "it is the same condition"


@pytest.mark.parametrize(
    ("reason", "confirmed"), [("OutOfMemory", True), ("Signal", True), ("NonZeroExit", False), ("", False)]
)
def test_what_the_worker_reported_itself_is_not_said_to_be_syslogs_word(reason: str, confirmed: bool) -> None:
    told = ended(KILLED)
    assert told.work is not None
    (memory,) = of_kernel(replace(told, work=replace(told.work, reason=reason)))
    assert memory.cause.startswith("Memory ran out") is confirmed


def outlived(told: Case, seconds: float) -> Case:
    """The same when the worker was heard of so many seconds after the first line, and not since."""
    assert told.work is not None
    contact = BEGIN + timedelta(seconds=90 + seconds)
    return silent(replace(told, work=replace(told.work, contact=contact), now=contact))


@pytest.mark.parametrize("silent_for", [0, 20, 600])
@pytest.mark.parametrize("text", LINES[:4])
def test_a_line_after_which_the_worker_was_in_touch_is_not_what_silenced_it(text: str, silent_for: int) -> None:
    told = outlived(says(text), 100)
    first, second = diagnose(replace(told, now=told.now + timedelta(seconds=silent_for)))
    assert (first.rule, second.gravity, second.leads) == ("SilentWorker", Gravity.SUSPECT, False)
    assert second.cause.startswith(SYSLOG_SAYS)
    assert second.evidence[-1].startswith("2026-11-21 03:03:10 its worker was in touch all the same: another host")


@pytest.mark.parametrize(("after", "gravity"), [(ORDERS_SECONDS, Gravity.FAULT), (ORDERS_SECONDS + 1, Gravity.SUSPECT)])
def test_what_was_said_since_the_last_poll_may_have_silenced_the_worker(after: float, gravity: Gravity) -> None:
    (told,) = of_kernel(outlived(says(KILLED), after))
    assert (told.gravity, told.leads) == (gravity, gravity is Gravity.FAULT)


def test_errors_of_a_disk_that_went_on_until_the_worker_fell_silent_are_a_fault() -> None:
    many = ["I/O error, dev sda, sector 1"] * 101
    (told,) = of_kernel(outlived(says(*many), 105))
    assert (told.gravity, "101 lines" in told.cause) == (Gravity.FAULT, True)
    (other, *_) = of_kernel(outlived(says(*many[:50], "I/O error, dev sdb, sector 1"), 105))
    assert other.gravity is Gravity.SUSPECT


def test_disks_that_the_machine_has_are_told_before_those_that_only_syslog_names() -> None:
    invented = [f"I/O error, dev vd{each}, sector 1" for each in range(20)]
    real = ["I/O error, dev sda1, sector 1", "nvme nvme0: I/O 12 QID 3 timeout, aborting"]
    told = says(*invented, *real)
    assert [each.subject for each in of_kernel(told)] == ["vd0", "vd1", "vd2"]
    disks = tuple(Disk(device=each, size=1) for each in ("/dev/sda", "/dev/nvme0n1"))
    inventory = Inventory(architecture="x86_64", processor="", processors=2, memory=1, firmware="bios", disks=disks)
    known = replace(told, inventory=inventory)
    last = of_kernel(known)[-1]
    assert [each.subject for each in of_kernel(known)] == ["sda1", "nvme0", "vd0"]
    assert last.evidence[0] == "and errors of 19 other disks"
