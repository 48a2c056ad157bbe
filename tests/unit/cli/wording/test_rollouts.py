"""Rollouts in a person's words."""

from typing import Any

import pytest

from tests.unit.cli.rollout_documents import member, plan, reached, standing
from tinkbox.cli.wording.rollouts import (
    REFUSED,
    detail,
    last_words,
    left_out,
    left_out_now,
    pace,
    plan_fields,
    progress,
    watched_lines,
)


def failed(number: int) -> list[dict[str, Any]]:
    return [member(f"node{each}", "FAILED", workflow="w" * 36, message="no disk") for each in range(number)]


def test_the_pace_says_what_a_failure_does_where_that_matters() -> None:
    assert pace(standing()) == "8 at a time; a failure stops it"
    assert pace(standing(on_failure="continue")) == "8 at a time; it goes on when one fails"
    assert pace(standing(max_parallel=0)) == "all at once"


def test_progress_names_only_what_there_is() -> None:
    assert progress(standing(counts={"SUCCESS": 3})) == "3/3 done"
    assert progress(standing(counts={"SUCCESS": 3, "TIMEOUT": 1, "FAILED": 1, "CANCELED": 1, "STOPPING": 1})) == (
        "3/7 done, 2 failed, 1 canceled, 1 running"
    )


def test_machines_that_were_left_out_are_named() -> None:
    one = member("node3", "LEFT", workflow="w" * 36, message="no disk")
    rollout = standing("FAILED", counts={"SUCCESS": 3, "LEFT": 1, "FAILED": 1}, failures=[one, *failed(1)])
    assert progress(rollout) == "3/5 done, 1 failed, 1 left out"
    assert left_out(rollout) == "Left out, because they are retired, deleted or registered anew: node3"
    assert left_out(standing()) == ""


def test_a_plan_of_many_refused_machines_ends() -> None:
    names = tuple(f"node{number}" for number in range(REFUSED + 7))
    refused = [{"name": name, "id": "", "why": f"{name} is retired"} for name in names]
    told = plan_fields({**plan(), "refused": refused})
    assert told[1] == ("Machines", "none")
    assert told[-1] == ("", "and 7 more")
    assert len(told) == 4 + REFUSED
    assert ("Wiped disks", "none that the template names") in plan_fields({**plan("a"), "wipes": []})


def test_of_many_that_are_left_out_the_first_reasons_are_told() -> None:
    refused = [{"name": f"node{each}", "id": "", "why": f"workflow {each // 2} is not over"} for each in range(90)]
    told = left_out_now({**plan("a"), "refused": refused}, whole=False)
    assert told[0] == "Left out node0, node1: workflow 0 is not over"
    first = ", ".join(f"node{each}" for each in range(40, 60))
    assert told[-1] == f"Left out 50 more machines, which a pipe gets with their reasons: {first}, and 30 more"
    assert len(told) == 21


def test_a_pipe_gets_every_machine_that_is_left_out() -> None:
    refused = [{"name": f"node{each}", "id": "", "why": f"workflow {each // 30} is not over"} for each in range(900)]
    told = left_out_now({**plan("a"), "refused": refused}, whole=True)
    named = [name for line in told for name in line.removeprefix("Left out ").partition(":")[0].split(", ")]
    assert (len(told), named) == (30, [each["name"] for each in refused])


def test_a_reason_is_told_once_for_all_its_machines() -> None:
    every = tuple(f"node{number}" for number in range(40))
    assert plan_fields(plan(refused=every))[-1] == ("Refused", "all 40 machines: it is \x1b[31mretired")
    some = plan_fields(plan("a", refused=every))[-1]
    assert some == ("Refused", "node0, node1, node2, node3, node4 and 35 more: it is \x1b[31mretired")
    assert plan_fields(plan(refused=("node8",)))[-1] == ("Refused", "node8: it is \x1b[31mretired")


def test_what_is_watched_fits_into_the_room_there_is() -> None:
    rollout = standing(counts={"FAILED": 30}, failures=failed(30))
    assert len(watched_lines(rollout, "tinkbox")) == 31
    shown = watched_lines(rollout, "tinkbox", 80, 12)
    assert len(shown) == 10
    assert str(shown[-1]) == "  and 22 more machines"
    many = standing(counts={"FAILED": 130}, failures=failed(100))
    assert str(watched_lines(many, "tinkbox", 80, 300)[-1]) == "  and 30 more machines", "not all are listed"


def test_a_machine_is_told_by_which_action_of_how_many_it_is_at_and_how_far_that_says_it_is() -> None:
    busy = {**member("node7", "RUNNING"), **reached("os/image", 1)}
    assert detail(busy) == "os/image, 1 of 3"
    far = {"done": 41, "total": 100, "unit": "bytes", "rate": 38e6, "seconds_left": 72}
    assert detail({**busy, "action_progress": far}) == "os/image, 1 of 3: 41 %  38 MB/s  1:12 left"
    earlier = {**member("node7", "RUNNING"), "action": "os/image", "progress": 66}
    assert detail(earlier) == "os/image", "the share of the workflow is none of the action"


def test_how_far_an_action_is_is_drawn_on_a_terminal_and_no_news_elsewhere() -> None:
    def watched(done: int, columns: int) -> tuple[str, str]:
        far = {"done": done, "total": 100, "unit": "", "rate": None, "seconds_left": None}
        busy = {**member("node7", "RUNNING"), **reached("os/image", action_progress=far)}
        line = watched_lines(standing(counts={"RUNNING": 1}, under_way=[busy]), "tinkbox", columns, columns)[-1]
        return line.change, line.text

    assert watched(41, 0) == watched(42, 0)
    assert watched(41, 80)[1] == "  node7  RUNNING   os/image, 2 of 3: 41 %"


def held(name: str) -> dict[str, Any]:
    hold = {
        "since": "2026-11-27T16:00:00+00:00",
        "deadline": "2026-11-27T16:30:00+00:00",
        "on_expiry": "fail",
        "verdicts": ["continue", "fail", "retry"],
    }
    return {**member(name, "RUNNING", workflow="a" * 36), **reached("os/image", held=hold)}


@pytest.mark.parametrize("columns", [40, 60, 80, 100])
@pytest.mark.parametrize("program", ["tinkbox", "tinkbox --data '/var/lib/tinkbox of the laboratory/second floor'"])
def test_what_is_to_be_typed_is_never_cut(program: str, columns: int) -> None:
    rollout = standing(counts={"RUNNING": 1}, held=1, under_way=[held("node7")])
    lines = [str(each) for each in watched_lines(rollout, program, columns, 24)]
    typed = f"{program} breakpoint continue|fail|retry aaaaaaaa"
    assert max(len(each) for each in lines) <= columns
    assert typed in " ".join(" ".join(lines).split())
    assert "until 2026-11-27 16:30:00 UTC, then fail:" in " ".join(" ".join(lines).split())
    assert str(watched_lines(rollout, program)[-1]).endswith(typed), "nothing is wrapped into a pipe"


def test_a_machine_that_is_held_is_shown_with_its_command_before_others_or_counted() -> None:
    rollout = standing(
        counts={"FAILED": 5, "RUNNING": 4},
        held=3,
        failures=failed(5),
        under_way=[member("busy", "RUNNING"), held("node7"), held("node8"), held("node9")],
    )
    lines = [str(each) for each in watched_lines(rollout, "tinkbox", 80, 10)]
    assert [each.split()[0] for each in lines] == [
        "rollout",
        *["node7", "until", "tinkbox"],
        *["node8", "until", "tinkbox"],
        "and",
    ]
    assert lines[-1] == "  and 7 more machines, 1 of them held"
    assert [str(each) for each in watched_lines(rollout, "tinkbox", 80, 4)][1:] == [
        "  and 9 more machines, 3 of them held"
    ]
    assert len(watched_lines(rollout, "tinkbox", 80, 40)) == 1 + 5 + 1 + 3 * 3


def test_a_workflow_that_was_deleted_is_not_to_be_looked_into() -> None:
    gone, there = failed(2)
    gone, there = {**gone, "workflow_deleted": True}, {**there, "workflow": "a" * 36}
    rollout = standing("FAILED", counts={"FAILED": 2}, failures=[gone, there])
    assert last_words(rollout, "tinkbox")[0] == "look into one:   tinkbox workflow state aaaaaaaa"
    assert last_words({**rollout, "failures": [gone]}, "tinkbox") == ["try them again:  tinkbox rollout retry 5d3f0a11"]


def test_the_last_words_say_what_to_type() -> None:
    assert last_words(standing("SUCCESS", counts={"SUCCESS": 1}), "tinkbox") == []
    said = last_words(standing("FAILED", counts={"FAILED": 1, "WAITING": 3}, failures=failed(1)), "tinkbox")
    assert [each.split(":")[1].strip() for each in said] == [
        "tinkbox workflow state wwwwwwww",
        "tinkbox rollout retry 5d3f0a11",
        "tinkbox rollout resume 5d3f0a11",
    ]
