"""What is said of an installation while it goes on, and at its end."""

from typing import Any

import pytest

from tinkbox.cli.wording.installations import Line, farewell, line_of, refusal_of

CREATED, LATER = "2026-11-26T10:00:00+00:00", "2026-11-26T10:00:05+00:00"
BEFORE = "2026-11-26T09:59:00+00:00"
UP = "node7 is up at 172.30.0.11, host key SHA256:abc (ed25519)"


def action(name: str, state: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "state": state, "started_at": None, "outcome": None, **fields}


def said(message: str) -> dict[str, Any]:
    return {"outcome": {"message": message}}


def workflow(state: str, *actions: dict[str, Any]) -> dict[str, Any]:
    return {"id": "0123456789", "state": state, "created_at": CREATED, "actions": list(actions)}


def machine(stage: str = "", at: str | None = None, **fields: Any) -> dict[str, Any]:
    interfaces = [{"mac": "08:00:27:00:00:01", "address": "", "hostname": "node7"}]
    return {"stage": stage, "stage_at": at, "stalled": "", "parked": "", "interfaces": interfaces, **fields}


WAITING = workflow("PENDING", action("image", "PENDING"), action("first boot", "PENDING"))
WRITING = {"done": 1288490189, "total": 3221225472, "unit": "bytes", "rate": 38_000_000, "seconds_left": 43}


@pytest.mark.parametrize(
    ("document", "seen", "text"),
    [
        (WAITING, machine(), "waits for it: power it on, or reboot it when it is on; it must boot from the network"),
        (WAITING, machine("told to boot its disk", BEFORE), "waits for it: power it on, or reboot it when it is on; it must boot from the network"),
        (WAITING, machine("fetched the OSIE", LATER), "boots: fetched the OSIE"),
        (
            WAITING,
            machine("fetched the OSIE", LATER, stalled="got no further for 3 minutes"),
            "boots: fetched the OSIE (got no further for 3 minutes; ask `tinkbox doctor 08:00:27:00:00:01`)",
        ),
        (
            WAITING,
            machine("parked", LATER, parked="3 boots without progress; look at its console: `tinkbox export` frees it"),
            "boots: parked (3 boots without progress; ask `tinkbox doctor 08:00:27:00:00:01`)",
        ),
        (workflow("RUNNING", action("image", "RUNNING")), machine(), "image runs"),
        (
            workflow("RUNNING", action("image", "RUNNING", progress=WRITING)),
            machine(),
            "image 40 %  1.2 of 3.0 GiB  38 MB/s  0:43 left",
        ),
        (
            workflow("RUNNING", action("x", "RUNNING", progress={"done": 3, "total": 4, "unit": "files"})),
            machine(),
            "x 75 %  3 of 4 files",
        ),
        (workflow("RUNNING", action("x", "RUNNING", progress={"done": 3, "total": 0})), machine(), "x runs"),
        (workflow("RUNNING", action("image", "HELD")), machine(), "image is held: tinkbox breakpoint shell 01234567"),
        (
            workflow("RUNNING", action("image", "SUCCESS"), action("first boot", "LEAVING", started_at=LATER)),
            machine("the worker is in touch", CREATED),
            "first boot: the machine reboots",
        ),
        (
            workflow("RUNNING", action("image", "SUCCESS"), action("first boot", "LEAVING", started_at=CREATED)),
            machine("told to boot its disk", LATER),
            "first boot: told to boot its disk",
        ),
        (workflow("RUNNING", action("image", "SUCCESS"), action("b", "PENDING")), machine(), "begins the next action"),
        (workflow("STOPPING", action("image", "RUNNING")), machine(), "is being stopped"),
    ],
)  # fmt: skip
def test_a_line_says_what_happens_now(document: dict[str, Any], seen: dict[str, Any], text: str) -> None:
    line = line_of("node7", document, seen)
    assert (str(line), line.over) == (f"node7: {text}", False)


def test_progress_is_worth_a_line_every_ten_percent() -> None:
    changes = [
        line_of(
            "n",
            workflow("RUNNING", action("image", "RUNNING", progress={**WRITING, "done": done, "total": 100})),
            machine(),
        ).change
        for done in range(101)
    ]
    assert len(set(changes)) == 11


def test_the_end_of_a_success_is_what_the_last_action_said_and_how_to_log_in() -> None:
    line = line_of(
        "node7", workflow("SUCCESS", action("image", "SUCCESS"), action("b", "SUCCESS", **said(UP))), machine()
    )
    assert (line.over, line.succeeded) == (True, True)
    assert str(line) == UP
    assert farewell(line, "172.30.0.99", "debian") == ["ssh debian@172.30.0.11"]
    plain = Line(machine="node7", text="is installed", change="", over=True, succeeded=True)
    assert str(plain) == "node7: is installed"
    assert farewell(plain, "172.30.0.99", "debian") == ["ssh debian@172.30.0.99"]
    assert farewell(plain, "", "debian") == farewell(plain, "172.30.0.99", "") == []


def test_the_end_of_a_failure_is_why_and_what_helps() -> None:
    line = line_of("node7", workflow("FAILED", action("image", "FAILED", **said("no disk"))), machine())
    assert (line.over, line.succeeded, line.text) == (True, False, "failed: no disk")
    state = {
        "state": "FAILED", "current_task": "installation", "current_action": "image", "reason": "NoSuchDisk", "message": "no disk",
        "hint": "look",
    }  # fmt: skip
    assert refusal_of("node7", "0123456789", state, "tinkbox") == [
        "node7: installation / image: NoSuchDisk: no disk",
        "the action advises: 'look'",
        "what it printed: tinkbox workflow logs 01234567   once more: tinkbox workflow retry 01234567",
    ]
    failed = refusal_of("node7", "0123456789", {**state, "reason": "CloudInitFailed"}, "tinkbox")[-1]
    assert failed.endswith("once more: tinkbox workflow retry 01234567 --from image, then reset node7")
    full = refusal_of("node7", "0123456789", {**state, "reason": "DiskNotEmpty"}, "tinkbox")[-1]
    assert full.endswith("once more: tinkbox workflow retry 01234567 --confirm-wipe")
    silent = {**state, "hint": "`tinkbox workflow retry WORKFLOW`", "current_action_state": "PENDING"}
    assert refusal_of("node7", "0123456789", silent, "tinkbox")[1:] == [
        "what to do: `tinkbox workflow retry 01234567`",
        "once more: tinkbox workflow retry 01234567",
    ]
    bare = {**state, "current_task": "", "current_action": "", "reason": "", "message": "", "hint": ""}
    assert refusal_of("node7", "0123456789", bare, "tinkbox")[0] == "node7: the workflow: failed"
