"""What is said before and after a shell; from end to end they are in tests/integration/cli."""

import copy

import pytest

from tests.unit.cli.conftest import FakeAppliance
from tinkbox.cli.nouns.breakpoint.shell import banner, farewell, held_machine
from tinkbox.model.shells import ShellEnd

HOLD = {
    "task": "disk",
    "action": "wipe",
    "worker": "0eba0bf8-3772",
    "kind": "failure",
    "deadline": "2026-11-21T03:30:00+00:00",
    "on_expiry": "fail",
    "outcome": {
        "state": "FAILED", "exit_code": 3, "signal": "", "reason": "DiskTooSmall", "message": "8 GB\nof 16",
        "hint": "use another disk", "tail": [f"line {number}" for number in range(20)],
    },
    "verdicts": ["continue", "fail", "retry", "abort"],
    "verdict": None,
}  # fmt: skip
MACHINES = [
    {"id": "5c", "name": "r1-n2", "hostname": "h", "mac": "m"},
    {"id": "0eba0bf8-3772", "name": "r1-n3", "hostname": "h", "mac": "m"},
]
STANDING = {"id": "1f2e3d4c-0000", "name": "install", "state": "RUNNING", "held": HOLD, "machines": MACHINES}


def test_whoever_opens_a_shell_is_told_what_is_held_and_how_it_came_there() -> None:
    assert list(banner(STANDING, "r1-n3", "tinkbox")) == [
        "disk/wipe of install (1f2e3d4c) on r1-n3 is held because it failed",
        "  ended   exit 3, DiskTooSmall",
        "          8 GB",
        "          of 16",
        "          use another disk",
        *(f"        | line {number}" for number in range(12, 20)),
        "  until   2026-11-21 03:30:00 UTC, then fail",
        "  decide  tinkbox breakpoint continue|fail|retry|abort 1f2e3d4c; or in the shell, see debug-info",
        "  keys    Enter ~. leaves the shell, which goes on; Enter ~? tells more",
    ]


def test_the_machine_of_a_held_action_is_named_or_told_by_its_id() -> None:
    assert held_machine(STANDING) == "r1-n3"
    earlier = {name: value for name, value in STANDING.items() if name != "machines"}
    assert held_machine(earlier) == "0eba0bf8", "an earlier appliance names none"
    assert held_machine({**STANDING, "held": None}) == ""


def test_what_did_not_begin_has_no_end_to_tell() -> None:
    before = {**STANDING, "held": {**HOLD, "kind": "before", "outcome": None}}
    assert list(banner(before, "r1-n3", "tinkbox"))[:2] == [
        "disk/wipe of install (1f2e3d4c) on r1-n3 is held before it starts",
        "  ended   not started yet",
    ]
    assert list(banner({**STANDING, "held": None}, "", "tinkbox")) == []


@pytest.mark.parametrize(
    ("end", "line"),
    [
        (None, "left: the shell on r1-n3 goes on, and tinkbox breakpoint shell 1f2e3d4c comes back to it"),
        (ShellEnd(3), "the shell on r1-n3 ended with status 3"),
        (ShellEnd(None, "Idle", "nobody was there to type"), "the shell on r1-n3 is over: nobody was there to type"),
        (ShellEnd(None, "ShellLost"), "the shell on r1-n3 is over: ShellLost"),
    ],
)
def test_afterwards_it_says_what_became_of_it_and_what_is_left_to_do(end: ShellEnd | None, line: str) -> None:
    assert list(farewell(STANDING, "r1-n3", "5e551011-9", end, "tinkbox")) == [
        line,
        "  recorded  tinkbox breakpoint replay 5e551011",
        "  held      disk/wipe until 2026-11-21 03:30:00 UTC, then fail",
        "  decide    tinkbox breakpoint continue|fail|retry|abort 1f2e3d4c",
    ]


def test_afterwards_it_says_who_decided_meanwhile() -> None:
    decided = copy.deepcopy(STANDING)
    decided["held"] |= {"verdicts": [], "verdict": {"verb": "retry", "who": "ben"}}  # type: ignore[operator]
    assert list(farewell(decided, "r1-n3", "5", ShellEnd(0), "tinkbox"))[2:] == [
        "  decided   disk/wipe: retry by ben, being carried out"
    ]
    over = {**STANDING, "held": None, "state": "SUCCESS"}
    went_on = "the shell on r1-n3 ended with its container: the action is not held any more"
    assert next(iter(farewell(over, "r1-n3", "5", ShellEnd(137), "tinkbox"))) == went_on
    assert (
        next(iter(farewell(STANDING, "r1-n3", "5", ShellEnd(137), "tinkbox")))
        == "the shell on r1-n3 ended with status 137"
    )
    assert list(farewell(over, "r1-n3", "5", ShellEnd(0), "tinkbox"))[2:] == [
        "  workflow  SUCCESS, nothing of it is held any more"
    ]


def test_looking_on_is_for_shells(tinkbox, appliance: FakeAppliance) -> None:
    printed = tinkbox("breakpoint", "shell", "--view", "w", "--", "ls")
    assert (printed.status, appliance.asked) == (1, [])
    assert "--view and --take are for shells" in printed.err


def test_a_command_that_is_refused_is_no_status_of_its_own(tinkbox, appliance: FakeAppliance) -> None:
    appliance.problem = {"status": 409, "detail": "not held\x1b[2J", "problems": []}
    printed = tinkbox("breakpoint", "shell", "w", "--user", "root", "--folder", "/x", "--env", "A=b", "--", "ls", "-l")
    assert (printed.status, printed.err) == (255, "tinkbox: not held [2J\n")
    ((request, body),) = appliance.asked
    assert request == "POST /v1/workflows/w/shells"
    assert b'"user": "root", "folder": "/x", "environment": {"A": "b"}, "record_input": false, "tty": false' in body
    assert b'"command": ["ls", "-l"]' in body
