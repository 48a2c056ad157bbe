"""`tinkbox rollout`, and the rollouts that `workflow create` makes."""

import csv
import io
import json
from collections.abc import Callable
from threading import Event
from typing import Any

import pytest
import yaml

from tests.unit.cli.conftest import FakeAppliance, Printed
from tests.unit.cli.rollout_documents import ID, member, plan, reached, standing
from tinkbox.cli.nouns import rollout as noun
from tinkbox.cli.output import progress_line
from tinkbox.cli.output.progress_line import ProgressLine
from tinkbox.cli.output.tables import listing
from tinkbox.cli.terminal import questions
from tinkbox.client.operator import quick_connection
from tinkbox.model.errors import Unavailable

Tinkbox = Callable[..., Printed]
AT = "2026-11-27T16:00:00+00:00"


@pytest.fixture
def rollouts(appliance: FakeAppliance) -> FakeAppliance:
    """Has two machines for a template, and answers what is made of them."""
    made = standing("WAITING", counts={"WAITING": 2})

    def answer() -> object:
        asked = json.loads(appliance.asked[-1][1])
        return plan("node7", "node8") if asked.get("dry_run") else made

    appliance.answers = {"POST /v1/rollouts": answer, "POST /v1/workflows": {"id": "w1"}}
    return appliance


def asked(appliance: FakeAppliance) -> list[dict[str, Any]]:
    return [json.loads(body) for _, body in appliance.asked]


def test_who_may_not_look_is_told_that_actions_and_disks_are_not_shown(
    tinkbox: Tinkbox, rollouts: FakeAppliance
) -> None:
    shown = {**plan("node7", "node8"), "actions": None, "wipes": None, "warnings": None}
    made = rollouts.answers["POST /v1/rollouts"]
    assert callable(made)
    rollouts.answers["POST /v1/rollouts"] = lambda: (
        shown if json.loads(rollouts.asked[-1][1]).get("dry_run") else made()
    )
    told = tinkbox("workflow", "create", "-t", "ubuntu", "node7", "node8", "--dry-run").out
    assert "Actions, disks" in told
    assert "not shown: for that you need the right to look" in told
    assert "none that the template names" not in told
    assert tinkbox("workflow", "create", "-t", "ubuntu", "node7", "node8", "--yes").status == 0


def test_several_machines_are_a_rollout_of_exactly_what_was_shown(tinkbox: Tinkbox, rollouts: FakeAppliance) -> None:
    words = [
        "-t",
        "ubuntu",
        "-l",
        "rack=r1",
        "--max-parallel",
        "2",
        "--on-failure",
        "continue",
        "--require-images",
        "--strict",
    ]
    made = tinkbox("workflow", "create", *words, "-r", '{"a": "1"}', "--set", "b=3", "--confirm-wipe", "--yes")
    assert made.status == 0, made.err
    assert made.out.splitlines()[0] == f"Created Rollout:  {ID}"
    assert "tinkbox rollout watch 5d3f0a11" in made.out
    looked, created = asked(rollouts)
    assert looked == {
        "template": "ubuntu",
        "machines": [],
        "selector": "rack=r1",
        "hardware": {"a": "1", "b": "3"},
        "max_parallel": 2,
        "on_failure": "continue",
        "confirm_wipe": True,
        "require_images": True,
        "strict": True,
        "dry_run": True,
    }
    kept = {name: value for name, value in looked.items() if name not in ("selector", "dry_run")}
    assert created == {**kept, "machines": ["id-of-node7", "id-of-node8"]}


def test_a_check_that_takes_long_is_told_and_waited_for(
    tinkbox: Tinkbox, rollouts: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: dict[bool, Event] = {True: Event(), False: Event()}  # by whether it is a look only
    answer, tell = rollouts.answers["POST /v1/rollouts"], ProgressLine.__call__

    def told(line: ProgressLine[float], seconds: float) -> None:
        tell(line, seconds)
        heard["rack=r1" in line._worded(seconds)].set()

    def late() -> object:
        assert heard["dry_run" in asked(rollouts)[-1]].wait(30)
        assert callable(answer)
        return answer()

    monkeypatch.setattr(ProgressLine, "__call__", told)
    monkeypatch.setattr(progress_line, "ELSEWHERE", 0.0)
    monkeypatch.setattr(quick_connection, "TICK", 0.01)
    rollouts.answers["POST /v1/rollouts"] = late
    made = tinkbox("workflow", "create", "-t", "ubuntu", "-l", "rack=r1", "--yes")
    assert (made.status, made.out.splitlines()[0]) == (0, f"Created Rollout:  {ID}")
    first, *_, last = made.err.splitlines()
    assert first == "checking ubuntu for the machines with rack=r1: the appliance works, 0 s"
    assert last == "checking ubuntu for 2 machines: the appliance works, 0 s"


def test_a_connection_that_breaks_says_what_may_be_made(tinkbox: Tinkbox, rollouts: FakeAppliance) -> None:
    def go_away() -> object:
        rollouts.away = True
        return plan("node7", "node8")

    words = ("workflow", "create", "-t", "ubuntu", "node7", "node8", "--yes")
    rollouts.answers["POST /v1/rollouts"] = go_away
    broken = tinkbox(*words)
    assert (broken.status, broken.err.count("\n")) == (1, 1)
    assert "the rollout may be made all the same: `tinkbox rollout list` shows it" in broken.err
    broken = tinkbox(*words)
    assert (broken.status, broken.err.count("\n")) == (1, 1)
    assert "nothing was begun, for this was a look only: type it again" in broken.err


def test_a_dry_run_makes_nothing(tinkbox: Tinkbox, rollouts: FakeAppliance) -> None:
    shown = tinkbox("workflow", "create", "-t", "ubuntu", "node7", "node8", "--dry-run")
    assert (shown.status, shown.err) == (0, "")
    assert "Wiped disks:  smallest (2 machines)" in shown.out
    assert "node7, node8" in shown.out
    assert [each["dry_run"] for each in asked(rollouts)] == [True]
    documents = tinkbox("workflow", "create", "-t", "ubuntu", "node7", "node8", "--dry-run", "-o", "json")
    assert json.loads(documents.out)["machines"][0]["name"] == "node7"


def test_what_keeps_machines_from_beginning_is_told_before_they_begin(
    tinkbox: Tinkbox, appliance: FakeAppliance
) -> None:
    warnings = ("image x is not\x1b in the registry", "there is no OSIE")
    told = "tinkbox: image x is not  in the registry\ntinkbox: there is no OSIE\n"
    two, one = plan("node7", "node8", warnings=warnings), plan("node7", warnings=warnings)
    appliance.answers = {"POST /v1/rollouts": two, "POST /v1/workflows": {"id": "w1"}}
    words = ("workflow", "create", "-t", "ubuntu", "node7")
    shown = tinkbox(*words, "node8", "--dry-run")
    assert "Warnings:     image x is not  in the registry\n" in shown.out
    assert (shown.status, shown.err) == (0, "")
    appliance.answers["POST /v1/rollouts"] = lambda: standing() if len(appliance.asked) == 3 else two
    assert tinkbox(*words, "node8", "--yes").err == told
    appliance.answers["POST /v1/rollouts"] = one
    assert tinkbox(*words).err == told


def test_without_a_terminal_a_rollout_needs_a_yes(tinkbox: Tinkbox, rollouts: FakeAppliance) -> None:
    refused = tinkbox("workflow", "create", "-t", "ubuntu", "node7", "node8")
    assert (refused.status, refused.out) == (1, "")
    assert "2 machines would begin, and there is no terminal to ask on" in refused.err
    assert len(rollouts.asked) == 1


@pytest.mark.parametrize(("typed", "status", "made"), [("yes", 0, 2), ("no", 1, 1), ("", 1, 1)])
def test_a_person_at_a_terminal_is_asked(
    tinkbox: Tinkbox, rollouts: FakeAppliance, monkeypatch: pytest.MonkeyPatch, typed: str, status: int, made: int
) -> None:
    monkeypatch.setattr(questions.Questions, "can_ask", True)
    monkeypatch.setattr(questions, "_line", lambda _: typed)
    answered = tinkbox("workflow", "create", "-t", "ubuntu", "node7", "node8")
    assert answered.status == status
    assert "smallest (2 machines)" in answered.out
    assert len(rollouts.asked) == made


@pytest.mark.parametrize("flags", [[], ["--yes"]])
@pytest.mark.parametrize("earlier", [False, True])
def test_a_yes_that_was_asked_for_is_for_what_was_shown(
    tinkbox: Tinkbox, appliance: FakeAppliance, monkeypatch: pytest.MonkeyPatch, flags: list[str], earlier: bool
) -> None:
    """Without a question nothing was shown; an earlier release tells nothing that stands for it, and takes nothing."""
    monkeypatch.setattr(questions.Questions, "can_ask", True)
    monkeypatch.setattr(questions, "_line", lambda _: "yes")
    shown = {name: value for name, value in plan("node7", "node8").items() if not (earlier and name == "digest")}
    appliance.answers = {"POST /v1/rollouts": lambda: shown if len(appliance.asked) == 1 else standing("WAITING")}
    assert tinkbox("workflow", "create", "-t", "ubuntu", "node7", "node8", *flags).status == 0
    assert asked(appliance)[1].get("digest") == (None if flags or earlier else "d" * 32)


def test_one_machine_is_a_workflow_without_a_question(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers = {"POST /v1/rollouts": plan("node7"), "POST /v1/workflows": {"id": "w1"}}
    made = tinkbox("workflow", "create", "-t", "ubuntu", "node7", "--breakpoint", "on-failure")
    assert (made.status, made.out) == (0, "Created Workflow:  w1\n")
    assert asked(appliance)[1] == {
        "template": "ubuntu",
        "hardware": {"image": "x"},
        "machine": "id-of-node7",
        "breakpoints": {"on_failure": True},
    }


@pytest.mark.parametrize(
    "flags", [["-l", "rack=r1"], ["--max-parallel", "1"], ["--on-failure", "stop"], ["--skip-refused"]]
)
def test_one_machine_is_a_rollout_where_that_is_asked(
    tinkbox: Tinkbox, appliance: FakeAppliance, flags: list[str]
) -> None:
    made = standing("WAITING", counts={"WAITING": 1})
    appliance.answers = {"POST /v1/rollouts": lambda: plan("node7") if len(appliance.asked) == 1 else made}
    named = [] if "-l" in flags else ["node7"]
    assert tinkbox("workflow", "create", "-t", "ubuntu", *named, *flags, "--yes").out.startswith("Created Rollout:")


def test_machines_that_are_refused_are_told_with_their_reasons(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers = {"POST /v1/rollouts": plan("node7", refused=("node8",))}
    words = ("workflow", "create", "-t", "ubuntu", "node7", "node8", "--yes")
    refused = tinkbox(*words)
    assert refused.status == 1
    assert refused.err == (
        "tinkbox: nothing was begun: 1 machine of 2 cannot begin; --skip-refused goes on without them\n"
        "  node8: it is  [31mretired\n"
    )
    assert len(appliance.asked) == 1
    dry = tinkbox(*words, "--dry-run")
    assert (dry.status, "\x1b" in dry.out) == (1, False)
    assert tinkbox(*words, "--dry-run", "--skip-refused").status == 0
    assert "Machines:     1 of 2; 2 at a time" in dry.out
    appliance.answers = {"POST /v1/rollouts": plan(refused=("node8",))}
    assert "nothing was begun" in tinkbox("workflow", "create", "-t", "ubuntu", "node8", "--skip-refused", "--yes").err


def test_who_is_left_out_is_told_before_the_question_and_behind_the_answer(
    tinkbox: Tinkbox, rollouts: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, refused = rollouts.answers["POST /v1/rollouts"], tuple(f"node{number}" for number in range(20, 60))
    assert callable(made)
    rollouts.answers["POST /v1/rollouts"] = lambda: (
        plan("node7", "node8", refused=refused) if json.loads(rollouts.asked[-1][1]).get("dry_run") else made()
    )
    words = ("workflow", "create", "-t", "ubuntu", "-l", "rack=r1", "--skip-refused")
    left_out = f"Left out {', '.join(refused)}: it is  [31mretired"
    answered = tinkbox(*words, "--yes")
    assert (answered.status, answered.out.splitlines()[:2]) == (0, [f"Created Rollout:  {ID}", left_out])
    assert answered.out.splitlines()[2].startswith("2 of 42 machines, ")
    for_programs = tinkbox(*words, "--yes", "-o", "name")
    assert (for_programs.out, left_out in for_programs.err) == (f"{ID}\n", True)
    questioned: list[str] = []

    def no(question: str) -> str:
        questioned.append(question)
        return "no"

    monkeypatch.setattr(questions.Questions, "can_ask", True)
    monkeypatch.setattr(questions, "_line", no)
    shown = tinkbox(*words)
    assert "2 of 42; " in shown.out
    assert "node20, node21, node22, node23, node24 and 35 more: " in shown.out
    assert "Begin ubuntu on 2 machines, without 40 that cannot begin" in questioned[0]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["node7"], "-t TEMPLATE"),
        (["-t", "ubuntu", "-r", "{}", "--wait"], "--wait is for machines that you name"),
        (["-t", "ubuntu", "-r", "{}", "--max-parallel", "2"], "--max-parallel is for machines"),
        (["-t", "ubuntu", "-r", "{}", "--set", "a=b"], "--set is for machines"),
        (["-t", "ubuntu", "-r", "{}", "--dry-run"], "--dry-run is for machines"),
        (["-t", "ubuntu", "a", "--max-parallel", "0"], "is no number of machines"),
        (["-t", "ubuntu", "a", "--max-parallel", "9" * 5000], "is no number of machines"),
        (["-t", "ubuntu", "a", "--on-failure", "retry"], "'retry'"),
        (["-t", "ubuntu", "a", "-l", "="], "label"),
        (["-t", "ubuntu"], "MACHINE or -r JSON is missing"),
    ],
)
def test_a_wrong_command_line_is_told_before_the_appliance_is_asked(
    tinkbox: Tinkbox, rollouts: FakeAppliance, words: list[str], said: str
) -> None:
    wrong = tinkbox("workflow", "create", *words)
    assert wrong.status == 2
    assert said in wrong.err
    assert rollouts.asked == []


def test_the_list_says_how_many_machines_stand_where(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers["GET /v1/rollouts?sort=-created_at"] = [
        standing(
            counts={
                "SUCCESS": 12,
                "FAILED": 1,
                "TIMEOUT": 1,
                "CANCELED": 2,
                "LEFT": 1,
                "RUNNING": 3,
                "PENDING": 5,
                "STOPPING": 1,
                "WAITING": 14,
            },
            held=2,
        )
    ]
    heading, line = tinkbox("rollout", "list").out.splitlines()
    named = ["ID", "TEMPLATE", "STATE", "DONE", "FAILED", "CANCELED", "ACTIVE", "HELD", "NOT", "BEGUN"]
    assert heading.split()[:10] == named
    assert line.split()[:9] == ["5d3f0a11", "ubuntu", "RUNNING", "12/40", "2", "3", "9", "2", "14"]
    assert 12 + 2 + 3 + 9 + 14 == 40, "each machine is counted once"
    heading, line = tinkbox("rollout", "list", "-o", "wide").out.splitlines()
    wide = dict(zip(heading.replace("NOT BEGUN", "NOT-BEGUN").split(), line.split(), strict=False))
    assert (wide["PENDING"], wide["RUNNING"], wide["HELD"], wide["LEFT"]) == ("5", "2", "2", "1")
    (row,) = csv.DictReader(io.StringIO(tinkbox("rollout", "list", "-o", "csv").out))
    assert (row["done"], row["total"], row["held"]) == ("12", "40", "2"), "spreadsheets make dates of 1/2"
    appliance.answers["GET /v1/rollouts?state=FAILED&sort=-created_at"] = []
    appliance.answers["GET /v1/rollouts?sort=-created_at&state=FAILED"] = []
    assert tinkbox("rollout", "list", "--state", "failed").status == 0


def test_on_a_narrow_screen_a_list_names_the_template_and_cuts_no_heading() -> None:
    columns = [each for each in noun.COLUMNS if not each.wide]
    row = [each.value(standing("CANCELED", template="debian-13-with-raid", counts={"SUCCESS": 40})) for each in columns]
    (heading, line) = listing([each.title for each in columns], [row], [each.fit for each in columns], 60).splitlines()
    assert heading.split() == ["ID", "TEMPLATE", "STATE", "DONE", "FAILED", "NOT", "BEGUN", "AGE"]
    assert line.split()[1].startswith("debian-")


def test_get_shows_what_failed_and_what_waits(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    waiting = [member(f"node{number}") for number in range(1, 31)]
    appliance.answers[f"GET /v1/rollouts/{ID}"] = standing(
        counts={"SUCCESS": 1, "FAILED": 1, "RUNNING": 1, "WAITING": 30},
        failures=[member("bad", "FAILED", workflow="a" * 36, reason="NoDisk", message="no \x1bdisk")],
        under_way=[{**member("busy", "RUNNING", workflow="b" * 36), **reached("os/image")}],
        waiting=waiting,
    )
    shown = tinkbox("rollout", "get", ID).out
    assert "Progress:  1/33 done, 1 failed, 1 running, 30 waiting" in shown
    assert "node20, and 10 more" in shown
    assert "NoDisk: no  disk" in shown
    assert "os/image, 2 of 3\n" in shown
    assert tinkbox("rollout", "get", ID, "-q").out == f"{ID}\n"
    appliance.answers[f"GET /v1/rollouts/{ID}/machines"] = waiting
    assert len(tinkbox("rollout", "get", "--machines", ID).out.splitlines()) == 31
    assert len(json.loads(tinkbox("rollout", "get", "--machines", ID, ID, "-o", "json").out)) == 60


@pytest.mark.parametrize("state", ["STOPPING", "FAILED", "CANCELED"])
def test_machines_that_did_not_begin_before_the_end_do_not_wait(
    tinkbox: Tinkbox, appliance: FakeAppliance, state: str
) -> None:
    unbegun = [member("node7"), member("node8")]
    appliance.answers[f"GET /v1/rollouts/{ID}"] = standing(
        state, counts={"FAILED": 1, "WAITING": 2}, failures=[member("bad", "FAILED")], waiting=unbegun
    )
    shown = tinkbox("rollout", "get", ID).out
    assert "Progress:   0/3 done, 1 failed, 2 not begun\n" in shown
    assert "Not begun:  node7, node8\n" in shown
    assert "aiting" not in shown


def test_watch_ends_with_the_rollout_and_succeeds_only_with_every_machine(
    tinkbox: Tinkbox, appliance: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(noun, "SECONDS", 0.0)
    for state, status in (("SUCCESS", 0), ("FAILED", 1), ("CANCELED", 1)):
        under_way = [{**member("node7", "RUNNING", workflow="w1"), **reached("os/image")}]
        failures = [member("node7", "FAILED", workflow="w1", message="no disk")] if state == "FAILED" else []
        steps = iter(
            [
                standing("PAUSED", counts={"RUNNING": 1}, under_way=under_way),
                standing("RUNNING", counts={"RUNNING": 1}, under_way=under_way),
                standing(state, counts={state: 1}, failures=failures),
            ]
        )
        appliance.answers = {"GET /v1/rollouts/ubuntu": lambda steps=steps: next(steps)}
        appliance.answers[f"GET /v1/rollouts/{ID}"] = appliance.answers["GET /v1/rollouts/ubuntu"]
        watched = tinkbox("rollout", "watch", "ubuntu")
        assert watched.status == status
        lines = watched.out.splitlines()
        assert lines[0] == "rollout 5d3f0a11 PAUSED: 0/1 done, 1 running"
        assert lines.count("  node7  RUNNING   os/image, 2 of 3") == 1, "it is printed when it changes"
        if state == "FAILED":
            assert "  node7  FAILED    no disk" in lines
            assert lines[-1] == "try them again:  tinkbox rollout retry 5d3f0a11"


def test_watch_waits_for_machines_that_are_retried_by_themselves(
    tinkbox: Tinkbox, appliance: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(noun, "SECONDS", 0.0)
    steps = iter(
        [
            standing("FAILED", counts={"SUCCESS": 1, "RUNNING": 1}, under_way=[member("node7", "RUNNING")]),
            standing("FAILED", counts={"SUCCESS": 2}),
            standing("SUCCESS", counts={"SUCCESS": 2}),
        ]
    )
    appliance.answers[f"GET /v1/rollouts/{ID}"] = lambda: next(steps)
    watched = tinkbox("rollout", "watch", ID)
    assert watched.status == 0
    assert watched.out.splitlines()[0] == "rollout 5d3f0a11 FAILED: 1/2 done, 1 running"
    assert watched.out.splitlines()[-1] == "rollout 5d3f0a11 SUCCESS: 2/2 done"


def test_an_appliance_that_is_away_is_waited_for(
    tinkbox: Tinkbox, appliance: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(noun, "SECONDS", 0.0)
    steps: Any = iter([standing(counts={"RUNNING": 1}), {"status": 503, "detail": "the disk is full"}, None])

    def answer() -> object:
        step = next(steps)
        if step is None:
            appliance.problem = None
            return standing("SUCCESS", counts={"SUCCESS": 1})
        if "status" in step:
            appliance.problem = step
        return step

    appliance.answers[f"GET /v1/rollouts/{ID}"] = answer
    watched = tinkbox("rollout", "watch", ID)
    assert watched.status == 0
    assert "tinkbox: the disk is full; trying again" in watched.err


def test_a_machine_that_was_left_out_is_no_success_of_every_machine(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    left = [member("node3", "LEFT", message="no disk")]
    appliance.answers[f"GET /v1/rollouts/{ID}"] = standing("SUCCESS", counts={"SUCCESS": 1, "LEFT": 1}, failures=left)
    watched = tinkbox("rollout", "watch", ID)
    assert (watched.status, watched.out.splitlines()[0]) == (1, "rollout 5d3f0a11 SUCCESS: 1/2 done, 1 left out")


def test_that_the_appliance_is_away_and_that_it_is_back_is_told_once(
    tinkbox: Tinkbox, appliance: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(noun, "SECONDS", 0.0)
    away = {"status": 503, "detail": "no appliance answers"}
    steps = iter([standing(counts={"RUNNING": 1}), *[away] * 5, standing(counts={"RUNNING": 1}), *[away] * 5])
    end = standing("SUCCESS", counts={"SUCCESS": 1})
    appliance.answers[f"GET /v1/rollouts/{ID}"] = lambda: next(steps, end)
    watched = tinkbox("rollout", "watch", ID)
    told = "tinkbox: no appliance answers; trying again\ntinkbox: the appliance answers again\n"
    assert (watched.status, watched.err) == (0, told * 2), "anew after it answered"


def test_what_is_held_is_told_with_how_to_go_on(
    tinkbox: Tinkbox, appliance: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(noun, "SECONDS", 0.0)
    hold = {"since": AT, "deadline": "2026-11-27T16:30:00+00:00", "on_expiry": "fail", "verdicts": ["fail", "retry"]}
    on = reached("os/image")
    busy = {**member("node8", "RUNNING", workflow="b" * 36), **on, "held": None}
    held = {**member("node7", "RUNNING", workflow="a" * 36), **on, "held": hold}
    later = {**held, "held": {**hold, "deadline": "2026-11-27T16:31:00+00:00"}}
    rollout = standing(counts={"RUNNING": 2}, held=1, under_way=[held, busy])
    end = standing("SUCCESS", counts={"SUCCESS": 2})
    steps = iter([rollout, rollout, {**rollout, "under_way": [later, busy]}])
    appliance.answers[f"GET /v1/rollouts/{ID}"] = lambda: next(steps, end)
    lines = tinkbox("rollout", "get", ID).out.splitlines()
    assert "Progress:  0/2 done, 1 running, 1 held" in lines
    assert [line.split()[:2] for line in lines[-2:]] == [["node7", "HELD"], ["node8", "RUNNING"]]
    assert tinkbox("rollout", "watch", ID).out.splitlines() == [
        "rollout 5d3f0a11 RUNNING: 0/2 done, 1 running, 1 held",
        "  node7  HELD      os/image, 2 of 3",
        "         until 2026-11-27 16:30:00 UTC, then fail: tinkbox breakpoint fail|retry aaaaaaaa",
        "  node8  RUNNING   os/image, 2 of 3",
        "rollout 5d3f0a11 SUCCESS: 2/2 done",
    ], "not anew when somebody works in its container"


def test_what_is_to_be_typed_is_shown_whole_on_a_terminal(
    tinkbox: Tinkbox, appliance: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold = {"since": AT, "deadline": AT, "on_expiry": "fail", "verdicts": ["continue", "fail", "retry"]}
    on = reached("os/image", held=hold)
    held = {**member("node7", "RUNNING", workflow="a" * 36), **on}
    steps = iter([standing(counts={"RUNNING": 1}, held=1, under_way=[held])])
    appliance.answers[f"GET /v1/rollouts/{ID}"] = lambda: next(steps, standing("SUCCESS", counts={"SUCCESS": 1}))
    for name, value in (("TERM", "xterm"), ("COLUMNS", "80"), ("LINES", "24")):
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(noun, "SECONDS", 0.0)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert "tinkbox breakpoint continue|fail|retry aaaaaaaa" in tinkbox("rollout", "watch", ID).out


def test_watching_ends_when_nothing_reads_it_any_more(
    tinkbox: Tinkbox, appliance: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while nothing changes, so that nothing is printed."""

    def has_gone() -> None:
        raise Unavailable("the reader has gone")

    monkeypatch.setattr(noun, "SECONDS", 0.0)
    monkeypatch.setattr(noun, "check_reader", has_gone)
    appliance.answers[f"GET /v1/rollouts/{ID}"] = standing(counts={"RUNNING": 1})
    assert tinkbox("rollout", "watch", ID).err == "tinkbox: the reader has gone\n"


def test_ctrl_c_leaves_the_rollout_alone_and_says_how_to_go_on(
    tinkbox: Tinkbox, rollouts: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(noun, "_followed", interrupted)
    rollouts.answers[f"GET /v1/rollouts/{ID}"] = standing(counts={"WAITING": 2})
    stopped = tinkbox("workflow", "create", "-t", "ubuntu", "node7", "node8", "--yes", "--wait")
    assert stopped.status == 130
    for verb in ("watch", "pause", "cancel"):
        assert f"tinkbox rollout {verb} 5d3f0a11" in stopped.err
    assert [request for request, _ in rollouts.asked] == ["POST /v1/rollouts"] * 2 + [f"GET /v1/rollouts/{ID}"]


def test_ctrl_c_names_the_rollout_that_was_watched_and_not_what_its_name_means_by_then(
    tinkbox: Tinkbox, appliance: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(noun, "_followed", interrupted)
    appliance.answers["GET /v1/rollouts/ubuntu"] = standing(counts={"RUNNING": 1})
    stopped = tinkbox("rollout", "watch", "ubuntu")
    assert stopped.status == 130
    assert [line.split("  ")[-1].strip() for line in stopped.err.splitlines()[2:]] == [
        f"tinkbox rollout {verb} 5d3f0a11" for verb in ("watch", "pause", "cancel")
    ]


@pytest.mark.parametrize(
    ("verb", "said"),
    [("pause", "Paused"), ("resume", "Resumed"), ("cancel", "Canceling"), ("retry", "Retried")],
)
def test_each_of_several_is_changed_though_one_is_refused(
    tinkbox: Tinkbox, appliance: FakeAppliance, verb: str, said: str
) -> None:
    appliance.answers[f"POST /v1/rollouts/{ID}/{verb}"] = {**standing(), "refused": []}
    changed = tinkbox("rollout", verb, "nosuch", ID)
    assert (changed.status, changed.out) == (1, f"{said} Rollout:  {ID}\n")
    assert "no such thing here" in changed.err


def test_a_rollout_is_deleted(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers["DELETE /v1/rollouts/ubuntu"] = {"id": ID}
    assert tinkbox("rollout", "delete", "ubuntu").out == f"Deleted Rollout:  {ID}\n"


def test_a_retry_names_the_machines_that_it_leaves_out(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    left = [member("node3", "LEFT", message="no disk"), member("node4", "FAILED")]
    refused = [{"name": "node4", "id": "id-4", "why": "it waits in rollout 12345678"}]
    retried = standing(counts={"LEFT": 1, "FAILED": 1}, failures=left)
    appliance.answers["POST /v1/rollouts/ubuntu/retry"] = {**retried, "refused": refused}
    assert tinkbox("rollout", "retry", "ubuntu", "--skip-refused").out.splitlines() == [
        f"Retried Rollout:  {ID}",
        "Left out node4: it waits in rollout 12345678",
        "Left out, because they are retired, deleted or registered anew: node3",
    ]
    assert asked(appliance) == [{"skip_refused": True}]


@pytest.mark.parametrize(("format_", "first"), [("json", "["), ("yaml", "-"), ("name", ID)])
def test_who_waits_for_a_document_gets_it_once_as_it_ends_and_progress_beside_it(
    tinkbox: Tinkbox, rollouts: FakeAppliance, monkeypatch: pytest.MonkeyPatch, format_: str, first: str
) -> None:
    monkeypatch.setattr(noun, "SECONDS", 0.0)
    steps = iter([standing("RUNNING", counts={"RUNNING": 2}), standing("FAILED", counts={"SUCCESS": 1, "FAILED": 1})])
    rollouts.answers[f"GET /v1/rollouts/{ID}"] = lambda: next(steps)
    waited = tinkbox("workflow", "create", "-t", "ubuntu", "node7", "node8", "--yes", "--wait", "-o", format_)
    assert waited.status == 1
    assert waited.out.startswith(first)
    if format_ == "name":
        assert waited.out == f"{ID}\n"
    else:
        (told,) = yaml.safe_load(waited.out)  # JSON is YAML as well
        assert (told["id"], told["state"]) == (ID, "FAILED")
    assert "rollout 5d3f0a11 RUNNING: 0/2 done, 2 running" in waited.err
    assert f"tinkbox rollout retry {ID[:8]}" in waited.err


def test_a_dry_run_prints_for_scripts_what_means_each_machine(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    shown = plan("node7", "node8", "a b", "old")
    for machine, key in zip(shown["machines"], ("node7", "id-of-node8", "a b"), strict=False):
        machine["key"] = key
    appliance.answers = {"POST /v1/rollouts": shown}
    named = tinkbox("workflow", "create", "-t", "ubuntu", "-l", "rack=r1", "--dry-run", "-o", "name").out.splitlines()
    assert named == ["node7", "id-of-node8", "id-of-a b", "id-of-old"], "an earlier release tells no key"


@pytest.mark.parametrize("format_", ["name", "json", "yaml", "table"])
def test_a_dry_run_tells_what_is_refused_on_standard_error_in_every_format(
    tinkbox: Tinkbox, appliance: FakeAppliance, format_: str
) -> None:
    words = ("workflow", "create", "-t", "ubuntu", "node7", "node8", "--dry-run", "-o", format_)
    appliance.answers = {"POST /v1/rollouts": plan("node7", refused=("node8",))}
    dry = tinkbox(*words)
    assert dry.status == 1
    assert dry.err == (
        "tinkbox: nothing was begun: 1 machine of 2 cannot begin; --skip-refused goes on without them\n"
        "  node8: it is  [31mretired\n"
    )
    skipped = tinkbox(*words, "--skip-refused")
    assert skipped.status == 0
    if format_ == "name":
        assert (dry.out, skipped.out) == ("", "id-of-node7\n"), "without --skip-refused nothing begins"
    if format_ != "table":  # which shows it
        assert skipped.err == "Left out node8: it is  [31mretired\n"


def test_every_machine_is_shown_as_where_the_rollout_stands(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    hold = {"since": AT, "deadline": AT, "on_expiry": "fail", "verdicts": ["fail"]}
    on = reached("os/wipe", 1)
    members = [
        {**member("node7", "RUNNING", workflow="a" * 36), **on, "held": hold},
        {**member("node8", "PENDING", workflow="b" * 36), **on, "held": None},
    ]
    appliance.answers[f"GET /v1/rollouts/{ID}"] = standing(counts={"RUNNING": 1, "PENDING": 1}, under_way=members)
    appliance.answers[f"GET /v1/rollouts/{ID}/machines"] = members
    table = tinkbox("rollout", "get", ID, "--machines").out
    assert tinkbox("rollout", "get", ID).out.endswith(f"\n\n{table}")
    assert [line.split() for line in table.splitlines()[1:]] == [
        ["node7", "HELD", "aaaaaaaa", "os/wipe,", "1", "of", "3"],
        ["node8", "PENDING", "bbbbbbbb", "os/wipe,", "1", "of", "3"],
    ]
    rows = csv.DictReader(io.StringIO(tinkbox("rollout", "get", ID, "--machines", "-o", "csv").out))
    assert [(each["state"], each["workflow"]) for each in rows] == [("HELD", "a" * 36), ("PENDING", "b" * 36)]
    assert "a" * 36 in tinkbox("rollout", "get", ID, "--machines", "-o", "wide").out


def test_scripts_get_what_means_each_machine_and_no_other(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    members = [
        member("node7", key="node7"),
        member("node8", key="id-of-node8"),
        member("a b", key="a b"),
        member("old"),
    ]
    appliance.answers[f"GET /v1/rollouts/{ID}/machines"] = members
    named = tinkbox("rollout", "get", ID, "--machines", "-o", "name").out.splitlines()
    assert named == ["node7", "id-of-node8", "id-of-a b", "id-of-old"], "an earlier release tells no key"
    assert tinkbox("rollout", "get", ID, "--machines", "-q").out.splitlines()[0] == "id-of-node7"


@pytest.mark.parametrize("words", [("get",), ("watch",), ("get", "--machines"), ("cancel", "--yes")])
def test_the_noun_may_stand_before_a_rollouts_name(
    tinkbox: Tinkbox, appliance: FakeAppliance, words: tuple[str, ...]
) -> None:
    end = standing("SUCCESS", counts={"SUCCESS": 1})
    appliance.answers |= {"GET /v1/rollouts/ubuntu": end, "GET /v1/rollouts/ubuntu/machines": []}
    appliance.answers["POST /v1/rollouts/ubuntu/cancel"] = end
    assert tinkbox("rollout", *words, "rollout/ubuntu").status == 0


def test_the_machines_of_several_rollouts_are_one_list_that_says_whose_they_are(
    tinkbox: Tinkbox, appliance: FakeAppliance
) -> None:
    ids = {key: key[-1] * 36 for key in ("r1", "r2")}
    for key, rollout_id in ids.items():
        appliance.answers[f"GET /v1/rollouts/{key}"] = {**standing("RUNNING"), "id": rollout_id}
        appliance.answers[f"GET /v1/rollouts/{rollout_id}/machines"] = [member(f"node-of-{key}")]
    words = ("rollout", "get", "--machines", "r1", "r2")
    lines = tinkbox(*words, "-o", "csv").out.splitlines()
    assert [line.split(",")[:2] for line in lines] == [
        ["rollout", "name"],
        [ids["r1"], "node-of-r1"],
        [ids["r2"], "node-of-r2"],
    ]
    assert [each["rollout"] for each in json.loads(tinkbox(*words, "-o", "json").out)] == list(ids.values())
    assert [line.split()[0] for line in tinkbox(*words).out.splitlines()] == ["ROLLOUT", "1" * 8, "2" * 8]
    assert ids["r1"] in tinkbox(*words, "-o", "wide").out
