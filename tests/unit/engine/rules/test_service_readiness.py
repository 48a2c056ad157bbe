"""Whether a service lets its workflow begin."""

from dataclasses import replace

import pytest

from tests.unit.model.flows import NOW, service
from tinkbox.engine.rules.service_readiness import not_ready
from tinkbox.model.services import Phase
from tinkbox.model.workflow import State
from tinkbox.wire.messages.worker import MAX_MESSAGE


@pytest.mark.parametrize("phase", Phase)
def test_nothing_that_becomes_of_a_service_after_it_was_ready_ends_its_workflow(phase: Phase) -> None:
    assert not_ready(service(phase, begun_at=NOW, ready_at=NOW), 10_000) is None


@pytest.mark.parametrize("phase", [Phase.STARTING, Phase.RESTARTING, Phase.UNHEALTHY])
def test_it_has_its_time_to_become_ready_and_no_more(phase: Phase) -> None:
    status = service(phase, begun_at=NOW, timeout=60)
    assert not_ready(status, 59.9) is None
    why = not_ready(status, 60)
    assert why is not None
    assert (why.state, why.reason) == (State.FAILED, "ServiceNotReady")
    assert why.message == f"service boot was not ready within 60 seconds, but {phase.lower()}"


def test_what_no_host_was_told_of_is_waited_for() -> None:
    assert not_ready(service(Phase.PENDING), 10_000) is None


def test_one_that_is_given_up_fails_the_workflow_at_once_in_its_own_words() -> None:
    status = service(
        Phase.FAILED, begun_at=NOW, reason="ImageNotFound", message="no image boot:v1", exit_code=3, signal="SIGHUP",
        tail=("1", "2", "3", "4", "5", "6"),
    )  # fmt: skip
    why = not_ready(status, 0)
    assert why is not None
    assert (why.state, why.reason, why.exit_code, why.signal) == (State.FAILED, "ImageNotFound", 3, "SIGHUP")
    assert why.message == "service boot: no image boot:v1; its last lines: 2 | 3 | 4 | 5 | 6"
    assert why.tail == status.standing.tail


def test_one_that_says_nothing_is_explained_all_the_same() -> None:
    why = not_ready(service(Phase.FAILED, begun_at=NOW), 0)
    assert why is not None
    assert (why.reason, why.message) == ("ServiceFailed", "service boot: it ended")


def test_why_it_is_not_ready_yet_is_told_and_never_too_long() -> None:
    status = service(Phase.STARTING, begun_at=NOW, timeout=1, message="the engine is away")
    why = not_ready(status, 1)
    assert why is not None
    assert why.message == "service boot was not ready within 1 second, but starting: the engine is away"
    endless = replace(status, standing=replace(status.standing, tail=("x" * 10_000,)))
    why = not_ready(endless, 1)
    assert why is not None
    assert len(why.message) == MAX_MESSAGE
