"""The page for Prometheus, read by Prometheus' own parser for Python."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tinkbox.api.metrics import MAX_REASONS, page
from tinkbox.engine.views.metrics import Figures, Tally, Waiting
from tinkbox.model.boot import Stage
from tinkbox.model.breakpoint import Kind
from tinkbox.model.disk_usage import DiskUsage, EarlyDeletion, Share, Stored
from tinkbox.model.limits import NODE_CONNECTIONS
from tinkbox.model.limits import Standing as Taken
from tinkbox.model.reasons import Reason
from tinkbox.model.services import Phase
from tinkbox.model.workflow import Event, State
from tinkbox.store.counts import Standing

AT = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
REPORT = "/worker/attempts/{token}/report"
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


EMPTY = DiskUsage(free=7, keep_free=5, database=4096, shares={})


def figures(**changes: object) -> Figures:
    fields = {
        "workflows": [], "actions": [], "queues": [], "stages": {}, "parked": 0, "held": {}, "services": {},
        "disk": EMPTY, "tally": Tally(), "offers": 0,
    }  # fmt: skip
    return Figures(**{**fields, **changes})


def parsed(text: str) -> Samples:
    """Every sample by name and labels, each there once, each of a family that says its type."""
    samples: Samples = {}
    for family in text_string_to_metric_families(text):
        assert family.type in ("gauge", "counter", "histogram"), family
        assert family.documentation
        for sample in family.samples:
            key = sample.name, frozenset(sample.labels.items())
            assert key not in samples, key
            samples[key] = sample.value
    return samples


def value(samples: Samples, name: str, **labels: str) -> float:
    return samples[name, frozenset(labels.items())]


def standing(state: State, number: int, reason: str = "") -> Standing:
    return Standing(state=state, reason=reason, number=number)


def test_workflows_and_actions_are_counted_by_state_and_reason() -> None:
    samples = parsed(
        page(
            figures(
                workflows=[
                    standing(State.FAILED, 2, "DiskNotFound"),
                    standing(State.FAILED, 1),
                    standing(State.RUNNING, 3),
                ],
                actions=[standing(State.SKIPPED, 4), standing(State.TIMEOUT, 5, "Timeout")],
            ),
            {},
        )
    )
    assert value(samples, "tinkbox_workflows", state="FAILED", reason="DiskNotFound") == 2
    assert value(samples, "tinkbox_workflows", state="FAILED", reason="") == 1
    assert value(samples, "tinkbox_workflows", state="RUNNING", reason="") == 3
    assert value(samples, "tinkbox_workflows", state="CANCELED", reason="") == 0
    assert value(samples, "tinkbox_actions", state="SKIPPED", reason="") == 4
    assert value(samples, "tinkbox_actions", state="TIMEOUT", reason="Timeout") == 5


def test_own_reasons_are_always_named() -> None:
    invented = [standing(State.FAILED, 9, f"Reason{number:04}") for number in range(MAX_REASONS)]
    ours = [standing(State.FAILED, 1, reason.value) for reason in Reason]
    samples = parsed(page(figures(actions=[*invented, *ours]), {}))
    assert all(value(samples, "tinkbox_actions", state="FAILED", reason=reason.value) == 1 for reason in Reason)
    assert not any(dict(labels).get("reason") == "Other" for _, labels in samples)


def test_actions_cannot_make_up_labels_without_end() -> None:
    invented = [standing(State.FAILED, 1, f"Reason{number:04}") for number in range(MAX_REASONS * 3)]
    samples = parsed(page(figures(actions=[*invented, standing(State.FAILED, 9, "Frequent")]), {}))
    named = [dict(labels)["reason"] for name, labels in samples if name == "tinkbox_actions" and dict(labels)["reason"]]
    assert len(named) == MAX_REASONS + 1
    assert value(samples, "tinkbox_actions", state="FAILED", reason="Frequent") == 9
    assert value(samples, "tinkbox_actions", state="FAILED", reason="Other") == 2 * MAX_REASONS + 1


@pytest.mark.parametrize("reason", ['quo"te', "back\\slash", "two\nlines", "\x00", "\udcff", "tägl", "a b", "9", "}"])
def test_a_reason_that_is_none_spoils_nothing(reason: str) -> None:
    samples = parsed(page(figures(actions=[standing(State.FAILED, 1, reason)]), {}).encode().decode())
    assert value(samples, "tinkbox_actions", state="FAILED", reason="Other") == 1


def test_a_label_may_be_any_text() -> None:
    queue = Waiting(hardware_id='m"1\\n\n}', length=2, seconds=7.5)
    samples = parsed(page(figures(queues=[queue]), {}))
    assert value(samples, "tinkbox_queue_workflows", machine='m"1\\n\n}') == 2
    assert value(samples, "tinkbox_queue_age_seconds", machine='m"1\\n\n}') == 7.5


def event(kind: str, seconds: float = 0, at: float = 0, **data: object) -> Event:
    told = {"seconds": seconds, **data}
    return Event(workflow_id="w", number=1, at=AT + timedelta(seconds=at), kind=kind, data=told)


def test_durations_are_histograms_whose_buckets_add_up() -> None:
    tally = Tally()
    for seconds in (0.2, 1.0, 1.1, 59, 100_000):
        tally.note(event("action.started"))
        tally.note(event("action.succeeded", seconds))
    tally.note(event("action.failed", 2, reason="DiskNotFound", next="PENDING"))
    tally.note(event("workflow.started", at=10))
    tally.note(event("workflow.canceled", at=40))
    samples = parsed(page(figures(tally=tally), {}))
    buckets = {
        dict(labels)["le"]: number
        for (name, labels), number in samples.items()
        if name == "tinkbox_action_seconds_bucket" and ("state", "SUCCESS") in labels
    }
    assert [buckets[bound] for bound in ("1", "5", "15", "60", "300", "14400", "+Inf")] == [2, 3, 3, 4, 4, 4, 5]
    assert value(samples, "tinkbox_action_seconds_count", state="SUCCESS") == 5
    assert value(samples, "tinkbox_action_seconds_sum", state="SUCCESS") == pytest.approx(100_061.3)
    assert value(samples, "tinkbox_workflow_seconds_sum", state="CANCELED") == 30
    assert value(samples, "tinkbox_attempts_started_total") == 5
    assert value(samples, "tinkbox_attempts_ended_total", state="SUCCESS", reason="") == 5
    assert value(samples, "tinkbox_attempts_ended_total", state="FAILED", reason="DiskNotFound") == 1


def test_holds_and_verdicts_are_counted_and_their_time_counts_nowhere_else() -> None:
    tally = Tally()
    tally.note(event("workflow.started", at=0))
    for kind in ("failure", "failure", "before"):
        tally.note(event("action.held", breakpoint=kind))
    tally.note(event("breakpoint.verdict", verb="retry"))
    tally.note(event("action.resumed", held=100.5))
    tally.note(event("breakpoint.expired", verb="fail"))
    tally.note(event("action.failed", 7, held=20, reason="NonZeroExit"))
    tally.note(event("workflow.failed", at=150.5))
    samples = parsed(page(figures(tally=tally, held={Kind.FAILURE: 2}), {}))
    assert value(samples, "tinkbox_actions_held", kind="failure") == 2
    assert value(samples, "tinkbox_actions_held", kind="after") == 0
    assert value(samples, "tinkbox_holds_total", kind="failure") == 2
    assert value(samples, "tinkbox_holds_total", kind="before") == 1
    assert value(samples, "tinkbox_verdicts_total", verb="retry") == 1
    assert value(samples, "tinkbox_verdicts_total", verb="fail") == 1
    assert value(samples, "tinkbox_verdicts_total", verb="abort") == 0
    assert value(samples, "tinkbox_held_seconds_total") == 120.5
    assert value(samples, "tinkbox_workflow_seconds_sum", state="FAILED") == 30
    assert value(samples, "tinkbox_action_seconds_sum", state="FAILED") == 7


def test_what_the_node_door_answered_tells_of_offers_and_reports() -> None:
    answers = {
        ("POST", "/worker/next", 200): 7, ("POST", "/worker/next", 204): 40,
        ("POST", REPORT, 200): 5, ("POST", REPORT, 409): 2, ("POST", REPORT, 404): 1,
    }  # fmt: skip
    samples = parsed(page(figures(offers=7), answers))
    assert value(samples, "tinkbox_offers_total") == 7
    reports = {
        dict(labels)["answer"]: number for (name, labels), number in samples.items() if name == "tinkbox_reports_total"
    }
    assert reports == {
        "accepted": 5,
        "stale": 2,
        "unknown": 1,
        "denied": 0,
        "invalid": 0,
        "too large": 0,
        "unavailable": 0,
    }
    assert value(samples, "tinkbox_node_requests_total", method="POST", route="/worker/next", status="204") == 40


def test_every_stage_of_a_machine_is_there() -> None:
    samples = parsed(page(figures(stages={Stage.WORKER: 2, "": 1}, parked=1), {}))
    stages = {dict(labels)["stage"]: number for (name, labels), number in samples.items() if name == "tinkbox_machines"}
    assert stages == {**{stage.value: 0 for stage in Stage}, "the worker is in touch": 2, "never seen": 1}
    assert value(samples, "tinkbox_machines_parked") == 1


def test_what_takes_room_is_there_by_kind() -> None:
    shares = {Stored.OUTPUT: Share(octets=5, number=2), Stored.IMAGES: Share(octets=6, number=1)}
    early = EarlyDeletion(workflows=35, octets=9, since=AT, until=AT)
    disk = DiskUsage(free=100, keep_free=50, database=4096, shares=shares, early=early)
    samples = parsed(page(figures(disk=disk), {}))
    assert (value(samples, "tinkbox_disk_free_bytes"), value(samples, "tinkbox_database_bytes")) == (100, 4096)
    assert [value(samples, "tinkbox_stored_bytes", kind=kind) for kind in ("output", "images")] == [5, 6]
    assert [value(samples, "tinkbox_stored", kind=kind) for kind in ("output", "images")] == [2, 1]
    assert value(samples, "tinkbox_workflows_deleted_early") == 35
    assert value(parsed(page(figures(), {})), "tinkbox_workflows_deleted_early") == 0


def test_every_phase_of_services_is_there() -> None:
    samples = parsed(page(figures(services={Phase.READY: 3, Phase.FAILED: 1}), {}))
    counted = {
        dict(labels)["phase"]: number for (name, labels), number in samples.items() if name == "tinkbox_services"
    }
    assert counted == {
        "PENDING": 0, "STARTING": 0, "READY": 3, "UNHEALTHY": 0, "RESTARTING": 0, "EXITED": 0, "FAILED": 1, "STOPPING": 0,
        "STOPPED": 0,
    }  # fmt: skip


def test_refused_tokens_are_counted() -> None:
    assert value(parsed(page(figures(), {}, refused_tokens=3)), "tinkbox_refused_tokens_total") == 3


def test_what_is_taken_of_each_limit_is_told() -> None:
    taken = Taken(limit=NODE_CONNECTIONS, used=130, refused=7)
    samples = parsed(page(figures(), {}, [taken]))
    assert value(samples, "tinkbox_limit_used", limit="node_connections") == 130
    assert value(samples, "tinkbox_limit", limit="node_connections") == NODE_CONNECTIONS.all
    assert value(samples, "tinkbox_limit_refusals_total", limit="node_connections") == 7


def test_every_metric_is_explained_to_the_operator() -> None:
    shown = (Path(__file__).parents[3] / "docs" / "operating.md").read_text()
    names = {line.split()[2] for line in page(figures(), {}).splitlines() if line.startswith("# TYPE")}
    assert len(names) > 12
    assert sorted(name for name in names if f"`{name}`" not in shown) == []
    assert set(re.findall(r"`(tinkbox_\w+)`", shown)) == names
