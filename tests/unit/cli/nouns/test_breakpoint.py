"""`tinkbox breakpoint`: what is asked of the appliance, and what is said of its answers."""

import csv
import io
import json
import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from tests.unit.cli.conftest import FakeAppliance, Printed
from tests.unit.cli.documents import ARMED, HOLD, STANDING, WORKFLOW_ID
from tinkbox.cli import main
from tinkbox.cli.nouns import breakpoint as breakpoint_list
from tinkbox.cli.output import printable

Tinkbox = Callable[..., Printed]
ONE = f"/v1/workflows/{WORKFLOW_ID}/breakpoints"
SUCCEEDED = {"state": "SUCCESS", "exit_code": 0, "signal": "", "reason": "", "message": ""}
LASTS = "30m after the last activity a hold ends by itself: fail"


def decided(verb: str, kind: str = "failure", **verdict: object) -> dict[str, object]:
    given = {"verb": verb, "who": "anna", "why": "", "fresh": False, "command": None, "environment": {}, **verdict}
    outcome = {"before": None, "failure": HOLD["outcome"], "after": SUCCEEDED}[kind]
    return {**HOLD, "kind": kind, "outcome": outcome, "verdict": given, "verdicts": []}


@pytest.fixture
def held(appliance: FakeAppliance) -> FakeAppliance:
    appliance.answers = {
        "GET /v1/breakpoints": [STANDING, {**STANDING, "name": "armed", "held": None}],
        f"GET {ONE}?to_change=held": STANDING,
        f"POST {ONE}/arm": STANDING,
        f"POST {ONE}/clear": {**STANDING, "armed": {**ARMED, "on_failure": False, "before": []}},
        f"POST {ONE}/verdict": decided("fail"),
        f"POST {ONE}/extend": HOLD,
    }
    return appliance


def asked(appliance: FakeAppliance) -> object:
    """What the newest request asked for."""
    return json.loads(appliance.asked[-1][1])


def test_the_list_says_what_is_held_how_it_ended_and_what_is_armed(
    tinkbox: Tinkbox, held: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = datetime(2020, 7, 8, 15, 22, 3, tzinfo=UTC)
    monkeypatch.setattr(printable, "now", lambda: at)
    monkeypatch.setattr(breakpoint_list, "now", lambda: at)
    lines = [re.split("  +", line) for line in tinkbox("breakpoint", "list").out.splitlines()]
    assert lines == [
        ["ID", "WORKFLOW", "MACHINE", "HELD", "WHERE", "ENDED", "AGE", "THEN", "ARMED"],
        ["a8984b09", "hello", "machine-1", "disk/wipe", "failure", "exit 3, DiskNotFound", "5m", "fail in 24m",
         "on failure, before disk/image"],
        ["a8984b09", "armed", "machine-1", "on failure, before disk/image"],
    ]  # fmt: skip
    assert "2020-07-08 15:47:02 UTC, then fail" in tinkbox("breakpoint", "list", "-o", "wide").out
    assert tinkbox("breakpoint", "list", "-q").out == f"{WORKFLOW_ID}\n"
    assert json.loads(tinkbox("breakpoint", "list", "--format", "json").out)[0] == STANDING


@pytest.mark.parametrize(
    ("flags", "change"),
    [
        ("", {"on_failure": True}),
        ("--on-failure", {"on_failure": True}),
        (
            "--before disk/image --before net --after disk/wipe",
            {"before": ["disk/image", "net"], "after": ["disk/wipe"]},
        ),
        ("--timeout 1h30m --on-expiry abort", {"on_failure": True, "timeout": 5400, "on_expiry": "abort"}),
        ("--on-failure --before a --timeout 90", {"on_failure": True, "before": ["a"], "timeout": 90}),
    ],
)
def test_arming_says_what_is_armed_then(tinkbox: Tinkbox, held: FakeAppliance, flags: str, change: object) -> None:
    done = tinkbox("breakpoint", "arm", WORKFLOW_ID, *flags.split())
    assert asked(held) == change
    assert done.out == f"Armed hello (a8984b09): armed on failure, before disk/image; {LASTS}\n"


@pytest.mark.parametrize(
    ("flags", "change"), [("", {}), ("--before a --on-failure", {"on_failure": True, "before": ["a"]})]
)
def test_clearing_says_what_is_left(tinkbox: Tinkbox, held: FakeAppliance, flags: str, change: object) -> None:
    done = tinkbox("breakpoint", "clear", WORKFLOW_ID, *flags.split())
    assert asked(held) == change
    assert done.out == "Cleared hello (a8984b09): nothing is armed\n"


@pytest.mark.parametrize(
    ("verb", "hold", "said"),
    [
        ("continue", decided("continue"), "Continued disk/wipe: it counts as success, and the workflow goes on"),
        ("continue", decided("continue", "before"), "Continued disk/wipe: it starts now"),
        ("continue", decided("continue", "after"), "Continued disk/wipe: the workflow goes on"),
        (
            "continue",
            {**decided("continue", "after"), "outcome": HOLD["outcome"]},
            "Continued disk/wipe: it counts as success, and the workflow goes on",
        ),
        ("skip", decided("skip", "before"), "Skipped disk/wipe: it is left out, and the workflow goes on"),
        ("fail", decided("fail"), "Failed disk/wipe: it fails as it ended, and the workflow with it"),
        (
            "fail",
            decided("fail", "before"),
            "Failed disk/wipe: it fails without having started, and the workflow with it",
        ),
        ("fail", decided("fail", "after"), "Failed disk/wipe: it fails though it succeeded, and the workflow with it"),
        ("retry", decided("retry"), "Retried disk/wipe: it runs again in the same container"),
        ("retry", decided("retry", "after", fresh=True), "Retried disk/wipe: it runs again in a new container"),
        ("abort", decided("abort"), "Aborted disk/wipe: the workflow is being canceled"),
        ("abort", decided("abort", "before"), "Aborted disk/wipe: the workflow is being canceled"),
    ],
)
def test_each_verdict_says_what_follows(
    tinkbox: Tinkbox, held: FakeAppliance, verb: str, hold: object, said: str
) -> None:
    held.answers[f"POST {ONE}/verdict"] = hold
    done = tinkbox("breakpoint", verb, WORKFLOW_ID, "-m", "the disk is there")
    assert (done.status, done.out, done.err) == (0, f"{said}\n", "")
    verdict = asked(held)
    assert isinstance(verdict, dict)
    assert (verdict["verb"], verdict["why"]) == (verb, "the disk is there")


def test_a_retry_takes_a_fresh_container_variables_and_a_command(tinkbox: Tinkbox, held: FakeAppliance) -> None:
    held.answers[f"POST {ONE}/verdict"] = decided("retry", fresh=True)
    flags = ["--fresh", "--env", "DISK=/dev/sdb", "--env", "A=b=c", "--env", "EMPTY="]
    assert tinkbox("breakpoint", "retry", WORKFLOW_ID, *flags, "--", "sh", "-c", "exit 0", "--fresh").status == 0
    assert asked(held) == {
        "verb": "retry", "why": "", "fresh": True, "environment": {"DISK": "/dev/sdb", "A": "b=c", "EMPTY": ""},
        "command": ["sh", "-c", "exit 0", "--fresh"],
    }  # fmt: skip
    assert tinkbox("breakpoint", "retry", WORKFLOW_ID).status == 0
    assert asked(held) == {"verb": "retry", "why": "", "fresh": False, "environment": {}}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("typed", "status"), [("the disk is there\n", 0), ("the disk is there", 0), ("\n", 1), ("", 1), ("   \n", 1)]
)
def test_why_a_failure_counts_as_success_is_asked_on_a_terminal(
    held: FakeAppliance,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    typed: str,
    status: int,
) -> None:
    held.answers[f"POST {ONE}/verdict"] = decided("continue")
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    assert main(["breakpoint", "continue", WORKFLOW_ID]) == status
    printed = capsys.readouterr()
    failure = "workflow a8984b09 (hello on machine-1): disk/wipe failed (exit 3, DiskNotFound)."
    assert printed.err.startswith(f"Continue {failure} Why does it count as success? ")
    if status == 0:
        verdict = asked(held)
        assert isinstance(verdict, dict)
        assert (verdict["why"], verdict["hold"]) == ("the disk is there", HOLD["id"])
        assert printed.out == "Continued disk/wipe: it counts as success, and the workflow goes on\n"
    else:
        assert "--why" in printed.err
        assert [request for request, _ in held.asked] == [f"GET {ONE}?to_change=held"]


def test_without_a_terminal_a_failure_does_not_become_a_success_without_a_reason(
    tinkbox: Tinkbox, held: FakeAppliance
) -> None:
    failed = tinkbox("breakpoint", "continue", WORKFLOW_ID, stdin=b"yes\n")
    assert (failed.status, failed.out, failed.err.count("\n")) == (1, "", 1)
    assert "--why TEXT" in failed.err
    assert [request for request, _ in held.asked] == [f"GET {ONE}?to_change=held"]


@pytest.mark.parametrize(
    "hold", [{**HOLD, "kind": "before", "outcome": None}, {**HOLD, "kind": "after", "outcome": SUCCEEDED}]
)
def test_what_did_not_fail_goes_on_without_a_reason(
    tinkbox: Tinkbox, held: FakeAppliance, hold: dict[str, object]
) -> None:
    held.answers[f"GET {ONE}?to_change=held"] = {**STANDING, "held": hold}
    held.answers[f"POST {ONE}/verdict"] = decided("continue", str(hold["kind"]))
    assert tinkbox("breakpoint", "continue", WORKFLOW_ID).status == 0
    assert asked(held) == {"verb": "continue", "why": "", "hold": HOLD["id"]}


def test_a_failure_that_is_held_after_its_end_wants_a_reason_as_well(tinkbox: Tinkbox, held: FakeAppliance) -> None:
    held.answers[f"GET {ONE}?to_change=held"] = {**STANDING, "held": {**HOLD, "kind": "after"}}
    assert "--why TEXT" in tinkbox("breakpoint", "continue", WORKFLOW_ID).err


def test_whoever_comes_second_is_told_who_won(tinkbox: Tinkbox, held: FakeAppliance) -> None:
    held.problem = {"status": 409, "detail": "bert decided already: fail"}
    late = tinkbox("breakpoint", "retry", WORKFLOW_ID)
    assert (late.status, late.out, late.err) == (1, "", "tinkbox: bert decided already: fail\n")


@pytest.fixture
def several(held: FakeAppliance) -> FakeAppliance:
    """Two that are held in rack r1, and w9, which is not there."""
    found = [{**STANDING, "id": "w1"}, {**STANDING, "id": "w2"}]
    held.answers["GET /v1/breakpoints?state=HELD&label=rack%3Dr1"] = found
    held.answers["GET /v1/breakpoints?label=rack%3Dr1"] = found
    held.answers["GET /v1/workflows?state=PENDING%2CRUNNING&label=rack%3Dr1"] = found
    for each in found:
        one = f"/v1/workflows/{each['id']}/breakpoints"
        held.answers |= {
            f"GET {one}?to_change=held": each,
            f"POST {one}/arm": each,
            f"POST {one}/clear": each,
            f"POST {one}/verdict": decided("retry"),
            f"POST {one}/extend": HOLD,
        }
    return held


def changes(appliance: FakeAppliance) -> list[str]:
    """What was asked for beyond looks."""
    return [request for request, _ in appliance.asked if not request.startswith("GET ")]


@pytest.mark.parametrize(
    ("words", "action", "said"),
    [
        (["arm"], "arm", "Armed hello (w1): armed on failure, before disk/image"),
        (["clear"], "clear", "Cleared hello (w1): armed on failure, before disk/image"),
        (["retry"], "verdict", "Retried disk/wipe of w1 (hello on machine-1): it runs again in the same container"),
        (["continue", "-m", "ok"], "verdict", "Continued disk/wipe of w1 (hello on machine-1): it runs again"),
        (["abort", "--yes"], "verdict", "Aborted disk/wipe of w1 (hello on machine-1): it runs again"),
        (["extend"], "extend", "Extended disk/wipe of w1 (hello on machine-1): held until"),
    ],
)
def test_a_verb_is_carried_out_for_each_that_is_named_or_selected_and_goes_on_after_a_refusal(
    tinkbox: Tinkbox, several: FakeAppliance, words: list[str], action: str, said: str
) -> None:
    done = tinkbox("breakpoint", *words, "w9", "w1", "w2", *(["2h"] if words == ["extend"] else []))
    assert (done.status, len(done.out.splitlines()), done.err.count("tinkbox: ")) == (1, 2, 1)
    assert changes(several) == [f"POST /v1/workflows/{each}/breakpoints/{action}" for each in ("w1", "w2")]
    selected = tinkbox("breakpoint", *words, "-l", "rack=r1")
    assert selected.status == 0
    assert selected.out.startswith(said)


def test_nothing_held_with_such_labels_is_told(tinkbox: Tinkbox, held: FakeAppliance) -> None:
    held.answers["GET /v1/breakpoints?state=HELD&label=rack%3Dr1"] = []
    held.answers["GET /v1/workflows?label=rack%3Dr1&limit=1"] = []
    none = tinkbox("breakpoint", "fail", "-l", "rack=r1")
    assert (none.status, none.out) == (1, "")
    assert "no held workflow has the labels rack=r1: `tinkbox breakpoint list --state HELD` shows which" in none.err


def test_who_won_is_told_with_the_workflow_where_several_are_decided(tinkbox: Tinkbox, several: FakeAppliance) -> None:
    for each in ("w1", "w2"):
        several.answers[f"GET /v1/workflows/{each}/state"] = {"workflow_id": each, "name": "hello"}
        for action in ("verdict", "extend"):
            several.answers[f"POST /v1/workflows/{each}/breakpoints/{action}"] = {
                "status": 409,
                "detail": "bert decided already: fail",
            }
    late = tinkbox("breakpoint", "retry", "w1", "w2")
    told = "tinkbox: w1: bert decided already: fail\ntinkbox: w2: bert decided already: fail\n"
    assert late.err == told
    assert tinkbox("breakpoint", "extend", "w1", "w2", "10m").err == told


def test_why_several_failures_count_as_success_is_asked_once(
    several: FakeAppliance, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal("all disks are there\n"))
    assert main(["breakpoint", "continue", "w9", "w1", "w2"]) == 1  # w9 is not there
    failed = "2 workflows: w1 (hello on machine-1), w2 (hello on machine-1): disk/wipe failed (exit 3, DiskNotFound)."
    assert capsys.readouterr().err.startswith(f"Continue {failed} Why do they count as success? tinkbox: ")
    whys = [json.loads(body)["why"] for request, body in several.asked if request.startswith("POST")]
    assert whys == ["all disks are there"] * 2


def test_the_question_why_names_what_did_not_fail_as_well(
    several: FakeAppliance, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    others = {
        "w2": {**HOLD, "kind": "before", "outcome": None},
        "w3": None,
        "w4": decided("fail"),
    }
    for each, hold in others.items():
        several.answers[f"GET /v1/workflows/{each}/breakpoints?to_change=held"] = {
            **STANDING,
            "id": each,
            "held": hold,
        }
        several.answers[f"POST /v1/workflows/{each}/breakpoints/verdict"] = decided("continue")
    monkeypatch.setattr(sys, "stdin", Terminal("\n"))
    assert main(["breakpoint", "continue", "w1", *others]) == 1
    told = [
        "workflow w1 (hello on machine-1): disk/wipe failed (exit 3, DiskNotFound).",
        "workflow w2 (hello on machine-1): disk/wipe is held before it starts.",
        "workflow w3 (hello on machine-1): nothing is held.",
        "workflow w4 (hello on machine-1): disk/wipe is decided: fail (anna).",
    ]
    question = f"Continue {'; '.join(each.rstrip('.') for each in told)}. Why does it count as success? "
    assert capsys.readouterr().err.startswith(question)
    assert changes(several) == []


def test_how_much_longer_is_said_behind_several_workflows(tinkbox: Tinkbox, several: FakeAppliance) -> None:
    assert tinkbox("breakpoint", "extend", "w1", "w2", "2h").status == 0
    assert tinkbox("breakpoint", "extend", "-l", "rack=r1").status == 0
    asked_for = [json.loads(body)["seconds"] for request, body in several.asked if request.startswith("POST")]
    assert asked_for == [7200, 7200, 1800, 1800]
    several.asked.clear()
    assert tinkbox("breakpoint", "extend", "-l", "rack=r1", "3h").status == 0
    assert [json.loads(body)["seconds"] for request, body in several.asked if request.startswith("POST")] == [10800] * 2
    several.asked.clear()
    wrong = tinkbox("breakpoint", "extend", "w1", "w2", "w8")
    assert (wrong.status, changes(several)) == (2, [])
    assert "behind the workflows say how much longer they are held, such as 30m" in wrong.err


@pytest.mark.parametrize(("words", "seconds"), [([], 1800), (["2h"], 7200), (["45"], 45)])
def test_extending_says_until_when(tinkbox: Tinkbox, held: FakeAppliance, words: list[str], seconds: int) -> None:
    done = tinkbox("breakpoint", "extend", WORKFLOW_ID, *words, "-m", "waiting for a part")
    assert asked(held) == {"seconds": seconds, "why": "waiting for a part"}
    assert done.out == "Extended disk/wipe: held until 2020-07-08 15:47:02 UTC, then fail\n"


def test_what_a_machine_said_does_not_steer_the_terminal(tinkbox: Tinkbox, held: FakeAppliance) -> None:
    hostile = {**HOLD, "task": "\x1b[2J", "outcome": {**HOLD["outcome"], "reason": "\x1b]0;x\x07"}}
    held.answers["GET /v1/breakpoints"] = [{**STANDING, "name": "\x1bc", "held": hostile}]
    held.answers[f"POST {ONE}/extend"] = hostile
    for words in (["list"], ["list", "--format", "csv"], ["extend", WORKFLOW_ID]):
        assert "\x1b" not in tinkbox("breakpoint", *words).out


def test_programs_get_the_deadline_and_what_follows_it(tinkbox: Tinkbox, held: FakeAppliance) -> None:
    held.answers["GET /v1/breakpoints"] = [STANDING, {**STANDING, "held": decided("retry")}]
    rows = list(csv.DictReader(io.StringIO(tinkbox("breakpoint", "list", "-o", "csv").out)))
    assert [(row["then"], row["deadline"]) for row in rows] == [
        ("fail", HOLD["deadline"]),
        ("retry", HOLD["deadline"]),
    ]


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        ({"exit_code": 3, "reason": "DiskNotFound", "signal": ""}, "exit 3, DiskNotFound"),
        ({"exit_code": 137, "reason": "OutOfMemory", "signal": "SIGKILL"}, "SIGKILL, OutOfMemory"),
        ({"exit_code": None, "reason": "Timeout", "signal": ""}, "Timeout"),
        ({"exit_code": 0, "reason": "", "signal": ""}, "exit 0"),
        ({"exit_code": None, "reason": "", "signal": ""}, "FAILED"),
        (None, "not started yet"),
    ],
)
def test_an_end_is_told_in_few_words(
    tinkbox: Tinkbox, held: FakeAppliance, outcome: dict[str, object] | None, said: str
) -> None:
    shown = {**HOLD, "outcome": outcome and {"state": "FAILED", **outcome}}
    held.answers["GET /v1/breakpoints"] = [{**STANDING, "held": shown}]
    assert f"  {said} " in tinkbox("breakpoint", "list").out
