"""An action fails on a machine; a person opens a shell where it failed, repairs, and has it run again.

TINKBOX_RECORDING=FILE writes the terminal recording that docs/breakpoints.md shows.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests import rotation
from tests.machine.lab import Lab, built, shell, shown, until
from tests.machine.matrix import AT_BREAKPOINT, RETURNS
from tests.machine.terminal import Terminal
from tests.machine.waiting import ONE, laboratory_with
from tinkbox.model.workflow import State

pytestmark = pytest.mark.machine
INSTALL, LOST = "install", "lost"
# It mounts, leaves a process behind, and finds no disk: all of that is there when somebody looks.
INSTALLS = """
    [ -e /etc/disk ] && { echo "installed on $(cat /etc/disk)"; exit 0; }
    mkdir -p /mnt /etc && mount -t tmpfs target /mnt && echo half >/mnt/system
    sleep 7654321 &
    echo "looking for a disk"
    echo DiskNotFound >/dev/reason
    echo "there is no /dev/sdz on this machine" >/dev/message
    exit 7
"""
# How an action may be run, and what must be the same in the shell: each fails, and is looked into.
KINDS: dict[str, dict[str, Any]] = {
    "with the machine's devices": {"volumes": ["/dev:/dev", "/dev/console:/dev/console"]},
    "with its devices read-only": {"volumes": ["/dev:/dev:ro"]},
    "among the machine's processes": {"pid": "host"},
}


@dataclass(frozen=True)
class Repaired:
    """What a person saw."""

    lab: Lab
    workflow: str
    text: str


@pytest.fixture(scope="module")
def lab(waiting: Path) -> Iterator[Lab]:
    with laboratory_with(waiting, [ONE]) as lab:
        yield lab


@pytest.fixture(scope="module")
def repaired(lab: Lab) -> Repaired:
    workflow = lab.workflow(ONE, shell(INSTALL, INSTALLS), breakpoints=["on-failure"])
    held(lab, workflow)
    with Terminal({**os.environ, "PATH": f"{commands(lab)}:{os.environ['PATH']}"}, lab.work) as person:
        person.type(f"tinkbox breakpoint shell {workflow[:8]}", letter_by_letter=True)
        person.wait_for("# ")
        for line, answer in (
            ("cat /mnt/system; ps | grep 765432[1]", "sleep 7654321"),
            ("echo $TINKBOX_ACTION as $(id -u) in $(pwd)", "install as 0 in /"),
            ("echo /dev/vda >/etc/disk", "# "),
        ):
            person.type(line, letter_by_letter=True)
            person.wait_for(answer, "# ")
        person.type("debug-retry", letter_by_letter=True)
        person.wait_for("$ ")
        lab.ended(workflow)
        person.type(f"tinkbox workflow state {workflow[:8]}", letter_by_letter=True)
        person.wait_for("1 of 1 actions done", "$ ")
        if "TINKBOX_RECORDING" in os.environ:
            person.record(Path(os.environ["TINKBOX_RECORDING"]), "An action fails, is repaired, and runs again")
        return Repaired(lab, workflow, person.text)


def commands(lab: Lab) -> Path:
    """A folder with a `tinkbox` that speaks to this lab's appliance."""
    folder = lab.work / "bin"
    folder.mkdir()
    program = folder / "tinkbox"
    # Not by --data, which would stand in every line that it says a person may type.
    door = f"TINKBOX_SERVER=unix://{lab.appliance.data}/operator.sock"
    program.write_text(f'#!/bin/sh\n{door} exec {built("dist/tinkbox")} "$@"\n')
    program.chmod(0o755)
    return folder


def held(lab: Lab, workflow: str) -> None:
    until(
        lambda: State.HELD in lab.actions(workflow).values() or lab.state(workflow).ended_at,
        f"workflow {workflow} to be held",
    )
    assert State.HELD in lab.actions(workflow).values(), lab.appliance.command("workflow", "state", workflow)


def test_failed_action_is_repaired_by_hand_and_succeeds(repaired: Repaired) -> None:
    lab = repaired.lab
    assert lab.actions(repaired.workflow) == {INSTALL: State.SUCCESS}
    assert "installed on /dev/vda" in lab.appliance.command("workflow", "logs", repaired.workflow)
    kinds = [kind for kind, _ in lab.happened(repaired.workflow)]
    for kind in ("action.held", "shell.opened", "breakpoint.verdict", "action.resumed", "action.succeeded"):
        assert kinds.count(kind) == 1, kinds


def test_shell_shows_what_the_failed_process_left(repaired: Repaired) -> None:
    for seen in ("DiskNotFound", "there is no /dev/sdz", "half", "sleep 7654321"):
        assert seen in repaired.text, repaired.text


def test_console_says_what_to_type(repaired: Repaired) -> None:
    (machine,) = repaired.lab.machines
    assert shown(machine, f"tinkbox breakpoint shell {repaired.workflow}") == 1


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_privileged_action_is_held(lab: Lab, kind: str) -> None:
    workflow = lab.workflow(
        ONE, shell("fails", "echo Own >/dev/reason; exit 9", **KINDS[kind]), breakpoints=["on-failure"]
    )
    held(lab, workflow)
    seen = lab.appliance.typed("breakpoint", "shell", workflow, "--", "/bin/busybox", "cat", "/dev/reason")
    assert seen.strip() == "Own"
    lab.appliance.command("breakpoint", "continue", workflow, "-m", "seen")
    lab.ended(workflow)
    assert lab.actions(workflow) == {"fails": State.SUCCESS}


@rotation.mark(AT_BREAKPOINT, RETURNS)
def test_power_cut_at_a_breakpoint_is_breakpoint_lost(lab: Lab) -> None:
    workflow = lab.workflow(ONE, shell(LOST, "exit 7"), breakpoints=["on-failure"])
    held(lab, workflow)
    (machine,) = lab.machines
    machine.power_off()
    machine.power_on()
    lab.ended(workflow)
    told = [each for each in lab.appliance.events(workflow) if each["kind"] == "action.failed"]
    assert [each["reason"] for each in told] == ["BreakpointLost"]
