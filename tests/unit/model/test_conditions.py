"""Conditions, as Kubernetes users read them."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.unit.model.flows import NOW, service, status, workflow
from tinkbox.model.conditions import conditions, explanation
from tinkbox.model.services import Phase
from tinkbox.model.workflow import State, Workflow

LATER = NOW + timedelta(seconds=5)


@pytest.mark.parametrize(
    ("flow", "started", "succeeded"),
    [
        (workflow(State.PENDING, [status(State.PENDING)]), ("False", "Pending"), ("Unknown", "Pending")),
        (
            workflow(State.RUNNING, [status(State.RUNNING)], started_at=LATER),
            ("True", "Started"),
            ("Unknown", "Running"),
        ),
        (
            workflow(State.STOPPING, [status(State.RUNNING)], started_at=LATER, stop_into=State.CANCELED),
            ("True", "Started"),
            ("Unknown", "Stopping"),
        ),
        (
            workflow(State.SUCCESS, [status(State.SUCCESS)], started_at=LATER),
            ("True", "Started"),
            ("True", "Succeeded"),
        ),
        (
            workflow(State.FAILED, [status(State.SUCCESS), status(State.FAILED, 1)], started_at=LATER),
            ("True", "Started"),
            ("False", "DiskNotFound"),
        ),
        (workflow(State.CANCELED, [status(State.PENDING)]), ("False", "Canceled"), ("False", "Canceled")),
        (
            workflow(
                State.TIMEOUT, [status(State.SUCCESS), status(State.PENDING, 1)], started_at=LATER, global_timeout=9
            ),
            ("True", "Started"),
            ("False", "Timeout"),
        ),
    ],
    ids=lambda value: str(value.state) if isinstance(value, Workflow) else "-".join(value),
)
def test_both_conditions_are_there_in_every_state(
    flow: Workflow, started: tuple[str, str], succeeded: tuple[str, str]
) -> None:
    first, second = conditions(flow)
    assert (first.type, first.status, first.reason) == ("Started", *started)
    assert (second.type, second.status, second.reason) == ("Succeeded", *succeeded)
    assert first.message
    assert second.message
    assert first.at == (LATER if started[0] == "True" else NOW)
    assert second.at == NOW


def test_what_is_held_says_so_since_when_and_where_to_look() -> None:
    stopping = workflow(State.STOPPING, [status(State.HELD, held_at=LATER)], started_at=NOW, stop_into=State.CANCELED)
    assert "Held" not in {each.type for each in conditions(stopping)}
    flow = workflow(State.RUNNING, [status(State.SUCCESS), status(State.HELD, 1, held_at=LATER)], started_at=NOW)
    _, succeeded, held = conditions(flow)
    assert succeeded.status == "Unknown"
    assert (held.type, held.status, held.reason, held.at) == ("Held", "True", "Breakpoint", LATER)
    assert "t/a1" in held.message
    assert "tinkbox breakpoint list" in held.message


def test_a_workflow_that_waits_for_services_says_for_which_and_why() -> None:
    ready = service(Phase.READY, begun_at=NOW, ready_at=NOW, name="ready")
    trouble = service(Phase.RESTARTING, begun_at=NOW, name="boot", message="it ended with status 1")
    slow = service(Phase.STARTING, begun_at=NOW, name="key")
    flow = workflow(State.PENDING, [status(State.PENDING)], services=(ready, trouble, slow))
    started, succeeded = conditions(flow)
    assert (started.status, started.reason) == ("False", "WaitingForServices")
    assert started.message == (
        "waiting for service boot, which is RESTARTING (it ended with status 1); service key, which is STARTING"
    )
    assert (succeeded.status, succeeded.reason) == ("Unknown", "Pending")
    started, _ = conditions(replace(flow, services=(ready,)))
    assert (started.reason, started.message) == ("Pending", "waiting for the worker of its first action")


def test_services_that_nobody_was_told_of_wait_for_their_turn_or_for_their_hosts() -> None:
    flow = workflow(State.PENDING, [status(State.PENDING)], services=(service(Phase.PENDING),))
    started, _ = conditions(flow)
    assert started.reason == "Pending"
    assert "its turn" in started.message
    assert "hosts of its services: boot" in started.message


def test_a_service_that_kept_a_workflow_from_beginning_is_its_explanation() -> None:
    flow = workflow(State.FAILED, [status(State.PENDING)], reason="ServiceNotReady", message="service boot was not")
    assert explanation(flow) == ("ServiceNotReady", "service boot was not")
    started, succeeded = conditions(flow)
    assert (started.status, started.reason, started.message) == ("False", "ServiceNotReady", "service boot was not")
    assert (succeeded.status, succeeded.reason) == ("False", "ServiceNotReady")


def test_a_failure_names_its_action_and_says_its_words() -> None:
    flow = workflow(State.FAILED, [status(State.SUCCESS), status(State.FAILED, 1)])
    assert explanation(flow) == ("DiskNotFound", "t/a1: no /dev/sda")


def test_what_was_stopped_says_on_whose_behalf_whatever_became_of_its_action() -> None:
    ended = [status(State.FAILED)]
    assert explanation(workflow(State.CANCELED, ended, stop_into=State.CANCELED))[0] == "Canceled"
    reason, message = explanation(workflow(State.TIMEOUT, ended, stop_into=State.TIMEOUT, global_timeout=9))
    assert (reason, message) == ("Timeout", "the workflow took longer than its global_timeout of 9 seconds")


def test_an_actions_own_timeout_is_told_as_such() -> None:
    assert explanation(workflow(State.TIMEOUT, [status(State.TIMEOUT)]))[1] == "t/a0: no /dev/sda"


def test_success_needs_no_explanation() -> None:
    assert explanation(workflow(State.SUCCESS, [status(State.SUCCESS)])) == ("", "")


def test_what_it_waits_for_is_told_where_that_is_known_and_the_reason_stays() -> None:
    pending = workflow(State.PENDING, [status(State.PENDING)])
    started, _ = conditions(pending, "node7, never seen")
    assert (started.reason, started.message) == ("Pending", "waiting for node7, never seen")
    running = workflow(State.RUNNING, [status(State.RUNNING)], started_at=LATER)
    assert conditions(running, "node7, never seen") == conditions(running), "an action has begun"
