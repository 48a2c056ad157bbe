"""Conditions of the appliance as events."""

from datetime import UTC, datetime, timedelta

from tinkbox.model.condition_events import BEGAN, EVIDENCE, LONGEST, OVER, began, lasting, over
from tinkbox.model.diagnosis import Diagnosis, Gravity
from tinkbox.model.workflow import Event

AT = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)


def found(rule: str, **changes: object) -> Diagnosis:
    told = {"gravity": Gravity.FAULT, "cause": f"{rule}.", "evidence": ("seen",), "remedy": "Mend it.", **changes}
    return Diagnosis(rule=rule, **told)  # type: ignore[arg-type]  # any field


def events(*facts: tuple[str, dict[str, object]]) -> list[Event]:
    return [
        Event(workflow_id="", number=number, at=AT + timedelta(seconds=number), kind=kind, data=data)
        for number, (kind, data) in enumerate(facts, 1)
    ]


def test_what_began_and_is_not_over_lasts_since_it_began_last() -> None:
    told = events(
        (BEGAN, began(found("A"), "x")),
        (BEGAN, began(found("A"), "y")),
        (OVER, over("A", "x", Gravity.FAULT, "A.", 1)),
        (BEGAN, began(found("A"), "x")),
        (BEGAN, began(found("B"), "")),
        (OVER, over("B", "", Gravity.FAULT, "B.", 1)),
        (OVER, over("C", "", Gravity.FAULT, "C.", 1)),
    )
    assert {known: each.at for known, each in lasting(told).items()} == {
        ("A", "x"): told[3].at,
        ("A", "y"): told[1].at,
    }


def test_events_of_another_kind_and_of_a_later_release_are_no_condition() -> None:
    assert lasting(events(("condition.muted", {"rule": "A"}), ("x", {}))) == {}


def test_an_event_is_of_bounded_length() -> None:
    long = found("A", cause="x" * 9999, evidence=("y" * 9999,) * 99, remedy="z" * 9999)
    told = began(long, "")
    assert len(str(told)) < LONGEST * (EVIDENCE + 3)
