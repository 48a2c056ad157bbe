"""Conditions of the appliance as events."""

from datetime import UTC, datetime

from tinkbox.model.condition_events import EVIDENCE, LONGEST, LONGEST_REMEDY, began, came_and_went, over, recalled
from tinkbox.model.diagnosis import Diagnosis, Gravity

AT = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)


def found(rule: str, **changes: object) -> Diagnosis:
    told = {"gravity": Gravity.FAULT, "cause": f"{rule}.", "evidence": ("seen",), "remedy": "Mend it.", **changes}
    return Diagnosis(rule=rule, **told)  # type: ignore[arg-type]  # any field


def test_a_condition_is_recalled_as_it_began_with_how_old_that_is() -> None:
    again = recalled(began(found("A"), "x"))
    assert (again.rule, again.subject, again.gravity, again.cause, again.remedy) == (
        "A", "x", Gravity.FAULT, "A.", "Mend it.",
    )  # fmt: skip
    assert again.evidence == ("seen", "that was before tinkbox started anew; it was not examined since")


def test_what_a_later_release_told_is_recalled_as_far_as_it_is_understood() -> None:
    told = recalled({"rule": "A", "gravity": "grim", "evidence": "text"})
    assert (told.rule, told.gravity, told.cause, len(told.evidence)) == ("A", Gravity.SUSPECT, "", 1)


def test_an_event_is_of_bounded_length() -> None:
    long = found("A", cause="x" * 9999, evidence=("y" * 9999,) * 99, remedy="z" * 9999)
    told = began(long, "")
    assert len(str(told)) < LONGEST * (EVIDENCE + 3) + LONGEST_REMEDY


def test_how_often_it_came_and_went_stands_behind_its_cause() -> None:
    assert came_and_went(0, AT) == ""
    before = came_and_went(1, AT)
    assert before == "It came and went 1 time since 2026-11-21 03:00:00 UTC."
    assert began(found("A"), "", before)["message"] == f"A. {before}"
    assert over("A", "", Gravity.FAULT, "x" * 9999, 7, before)["message"] == f"{'x' * (LONGEST - 1)}… {before}"
