"""What people arm while a workflow runs, what they decide, and what comes of it on the machine."""

import time
from collections import Counter

import pytest

from tests.integration.docker_engine import HEARD
from tests.integration.worker.machine import Lab, Refused, until

ON_FAILURE = ("on-failure",)
WAIT = "/bin/busybox touch /marks/{0}; while [ ! -e /marks/{0}-on ]; do /bin/busybox sleep 0.02; done; "
FAILS = "echo DiskTooSmall >/dev/reason; echo needs 8 GB >/dev/message; exit 7"
# Each run is told of, and what it leaves in its container decides the next.
REPAIRED = "[ -e /repaired ] && exec /bin/busybox cat /repaired; echo broken; exit 7"
HOURS = "exec /bin/busybox sleep 3600"


def begun(machine: Lab, name: str) -> None:
    until(lambda: machine.marked(name), "the action")


def policy(machine: Lab) -> str:
    """What the helper of the only attempt there is goes by."""
    (file,) = (machine.folder / "worker" / "holds").glob("*/control/policy")
    return file.read_text().strip()


def happened(machine: Lab, workflow: str) -> Counter[str]:
    return Counter(str(event["kind"]) for event in machine.events(workflow))


def attempts(machine: Lab, workflow: str) -> list[str]:
    return [str(event["attempt"]) for event in machine.events(workflow) if event["kind"] == "action.started"]


def stays_held(machine: Lab, workflow: str, seconds: float) -> None:
    """Look for so long: that nothing happens is what is promised."""
    end = time.monotonic() + seconds
    until(lambda: not held_now(machine, workflow) or time.monotonic() > end, "time to pass")
    assert held_now(machine, workflow)


def held_now(machine: Lab, workflow: str) -> bool:
    return machine.stands(workflow)["current_action_state"] == "HELD"


def test_what_is_armed_while_it_runs_holds_it(machine: Lab) -> None:
    workflow = machine.workflow(WAIT.format("arm") + "exit 7")
    begun(machine, "arm")
    machine.breakpoint("arm", workflow)
    until(lambda: policy(machine) == "on-failure", "the helper to know")
    machine.allow("arm-on")
    assert machine.held(workflow)["exit_code"] == 7


def test_what_is_cleared_while_it_runs_holds_it_no_more(machine: Lab) -> None:
    workflow = machine.workflow(WAIT.format("clear") + "exit 7", breakpoints=["on-failure", "after=action-1"])
    begun(machine, "clear")
    assert policy(machine) == "after on-failure"
    machine.breakpoint("clear", workflow)
    until(lambda: policy(machine) == "", "the helper to know")
    machine.allow("clear-on")
    assert machine.finished(workflow) == "FAILED"
    assert happened(machine, workflow)["action.held"] == 0


def test_what_is_held_stays_held_when_nothing_is_armed_any_more(machine: Lab) -> None:
    workflow = machine.workflow("exit 7", breakpoints=ON_FAILURE)
    machine.held(workflow)
    machine.breakpoint("clear", workflow)
    until(lambda: policy(machine) == "", "the helper to know")
    assert held_now(machine, workflow)
    machine.breakpoint("retry", workflow)
    assert machine.finished(workflow) == "FAILED"
    assert happened(machine, workflow)["action.held"] == 1


@pytest.mark.parametrize("helper", [True, False])
def test_an_action_is_held_before_it_begins_and_after_its_end(machine: Lab, helper: bool) -> None:
    name = f"around-{helper}"
    places = ["before=action-1", "after=task/action-1"]
    workflow = machine.workflow(
        f": >/marks/{name}; echo done; {HEARD}", f": >/marks/{name}-2", breakpoints=places, helper=helper
    )
    before = machine.held(workflow)
    assert (before["breakpoint"], "exit_code" in before, machine.marked(name)) == ("before", False, False)
    machine.breakpoint("continue", workflow)
    after = machine.held(workflow, times=2)
    assert (after["breakpoint"], after["ended"], after["exit_code"]) == ("after", "SUCCESS", 0)
    assert (machine.marked(name), machine.marked(f"{name}-2")) == (True, False)
    machine.breakpoint("continue", workflow)
    assert machine.finished(workflow) == "SUCCESS"
    assert machine.marked(f"{name}-2")
    assert machine.tinkbox("workflow", "logs", workflow).count("done") == 1


@pytest.mark.parametrize("helper", [True, False])
def test_what_is_held_before_it_begins_can_be_left_out(machine: Lab, helper: bool) -> None:
    name = f"skip-{helper}"
    scripts = (f": >/marks/{name}", f": >/marks/{name}-2")
    workflow = machine.workflow(*scripts, breakpoints=["before=action-1"], helper=helper)
    machine.held(workflow)
    machine.breakpoint("skip", workflow, "-m", "it is there")
    assert machine.finished(workflow) == "SUCCESS"
    assert (machine.marked(name), machine.marked(f"{name}-2")) == (False, True)


def test_what_is_held_before_it_begins_can_fail_and_never_runs(machine: Lab) -> None:
    workflow = machine.workflow(": >/marks/never", breakpoints=["before=action-1"])
    machine.held(workflow)
    machine.breakpoint("fail", workflow)
    assert machine.finished(workflow) == "FAILED"
    assert machine.told(workflow)["reason"] == "FailedAtBreakpoint"
    assert not machine.marked("never")


@pytest.mark.parametrize(
    ("verb", "state", "ran"),
    [("continue", "SUCCESS", {"second"}), ("fail", "FAILED", {"hook"}), ("abort", "CANCELED", set())],
)
def test_each_verdict_has_its_end_and_none_loses_how_the_process_ended(
    machine: Lab, verb: str, state: str, ran: set[str]
) -> None:
    marks = {each: f"{verb}-{each}" for each in ("hook", "second")}
    hook = ["/bin/busybox", "touch", f"/marks/{marks['hook']}"]
    workflow = machine.workflow(FAILS, f": >/marks/{marks['second']}", breakpoints=ON_FAILURE, **{"on-failure": hook})
    held = machine.held(workflow)
    assert not machine.marked(marks["hook"])
    machine.breakpoint(verb, workflow, "-m", "for a test")
    assert machine.finished(workflow) == state
    assert {each for each, mark in marks.items() if machine.marked(mark)} == ran
    ended = {name: held[name] for name in ("exit_code", "reason", "message")}
    assert ended == {"exit_code": 7, "reason": "DiskTooSmall", "message": "needs 8 GB"}
    (end,) = [each for each in machine.events(workflow) if each["kind"].startswith("action.") and "seconds" in each][:1]
    assert end["state"] == state
    if verb != "abort":
        assert (end["exit_code"], end["reason"]) == (7, "DiskTooSmall")
        assert "needs 8 GB" in end["message"]
    until(lambda: machine.containers() == [], "the containers' removal")


def test_a_retry_in_place_finds_what_was_repaired(machine: Lab) -> None:
    workflow = machine.workflow(REPAIRED, breakpoints=ON_FAILURE)
    machine.held(workflow)
    containers = machine.containers()
    machine.inside(workflow, "sh", "-c", "echo mended >/repaired")
    machine.breakpoint("retry", workflow, "--env", "HOW=gently")
    assert machine.finished(workflow) == "SUCCESS"
    assert [line for line in machine.tinkbox("workflow", "logs", workflow).split() if line in ("broken", "mended")] == [
        "broken", "mended",
    ]  # fmt: skip
    assert (len(containers), len(attempts(machine, workflow))) == (1, 1)


def test_a_fresh_retry_finds_nothing_of_it(machine: Lab) -> None:
    workflow = machine.workflow(REPAIRED, breakpoints=ON_FAILURE)
    machine.held(workflow)
    first = machine.containers()
    machine.inside(workflow, "sh", "-c", "echo mended >/repaired")
    machine.breakpoint("retry", workflow, "--fresh")
    machine.held(workflow, times=2)
    second = machine.containers()
    assert (len(first), len(second), set(first) & set(second)) == (1, 1, set())
    assert len(set(attempts(machine, workflow))) == 2
    with pytest.raises(Refused):
        machine.inside(workflow, "test", "-e", "/repaired")
    machine.breakpoint("fail", workflow)
    assert machine.finished(workflow) == "FAILED"
    assert machine.tinkbox("workflow", "logs", workflow).count("broken") == 2


@pytest.mark.parametrize("fresh", [True, False])
@pytest.mark.parametrize("helper", [True, False])
def test_a_retry_runs_what_the_verdict_changed(machine: Lab, fresh: bool, helper: bool) -> None:
    options = {"environment": {"HOW": "roughly", "OWN": "kept"}, "helper": helper}
    workflow = machine.workflow("exit 7", breakpoints=ON_FAILURE, **options)
    machine.held(workflow)
    words = ["--fresh"] if fresh else []
    script = f'echo "$HOW, $OWN, $1"; {HEARD}; exit $2'
    command = ["/bin/busybox", "sh", "-c", script, "0", "two  words"]
    machine.breakpoint("retry", workflow, *words, "--env", "HOW=gently", "--", *command, "5")
    held = machine.held(workflow, times=2)
    assert held["exit_code"] == 5
    assert "gently, kept, two  words" in machine.tinkbox("workflow", "logs", workflow)
    # A retry without words in the same container repeats those; in a new one the template counts again.
    machine.breakpoint("retry", workflow, *words)
    again = machine.held(workflow, times=3)
    assert again["exit_code"] == (5 if helper and not fresh else 7)


def test_no_clock_runs_while_it_is_held_and_both_do_again_behind_it(machine: Lab) -> None:
    action, whole = 8, 14  # less than twice the action's: the second action meets the end of the whole
    assert machine.finished(machine.workflow("true")) == "SUCCESS"  # the image is there from now on
    workflow = machine.workflow("exit 7", HOURS, breakpoints=ON_FAILURE, timeout=action, global_timeout=whole)
    machine.held(workflow)
    stays_held(machine, workflow, whole + 2)
    machine.breakpoint("retry", workflow, "--", "/bin/busybox", "sleep", "3600")
    held = machine.held(workflow, times=2)
    assert (held["ended"], held["reason"]) == ("TIMEOUT", "Timeout")
    assert f"within {action} seconds" in held["message"]
    machine.breakpoint("continue", workflow, "-m", "it had its time")
    assert machine.finished(workflow) == "TIMEOUT"
    assert f"global_timeout of {whole} seconds" in machine.told(workflow)["message"]
