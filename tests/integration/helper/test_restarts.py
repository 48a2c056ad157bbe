"""A container that is started again: what its command did is not done twice."""

import pytest

from tests.integration.helper.container import ON_FAILURE, ActionContainer
from tests.integration.worker.machine import until
from tinkbox.model.breakpoint import Armed, Kind


def test_it_ends_as_it_had_ended(action: ActionContainer) -> None:
    assert action.shell("echo ran; exit 7").ended() == 7
    action.files.set_policy(Armed(before=True, after=True, on_failure=True))
    action.start_again()
    assert action.ended() == 7
    assert action.printed == "ran\n"


def test_it_ends_as_it_had_failed_to_start(action: ActionContainer) -> None:
    assert action.start("/bin/nothing").ended() == 127
    action.files.set_command_line(["/bin/sh", "-c", "echo ran"])
    action.start_again()
    assert action.ended() == 127
    assert action.printed == ""


def test_it_is_held_where_the_worker_wants_it_held(action: ActionContainer) -> None:
    assert action.shell("echo ran; exit 7").ended() == 7
    action.files.set_policy(Armed(), again=True)
    action.start_again()
    status = action.held(Kind.FAILURE)
    assert status.exited == 7
    action.files.set_policy(ON_FAILURE)
    action.retry("/bin/sh", "-c", "echo anew; exit 8")
    assert action.held(Kind.FAILURE, 2).exited == 8
    action.prints("ran\nanew\n")


@pytest.mark.parametrize("hold", [True, False])
def test_a_command_that_was_killed_with_its_container_counts_as_killed(action: ActionContainer, hold: bool) -> None:
    action.shell("echo ran; sleep 1000", ON_FAILURE).prints("ran\n")
    action.kill("KILL")
    assert action.ended() == 137
    if hold:
        action.files.set_policy(Armed(), again=True)
        action.start_again()
        assert action.held(Kind.FAILURE).exited == 137
    else:
        action.start_again()
        assert action.ended() == 137
    assert action.facts[:2] == ["started 1", "exited 1 137 unseen"]
    assert action.printed == "ran\n"


def test_a_hold_before_the_command_is_held_again_and_can_be_left(action: ActionContainer) -> None:
    action.shell("echo ran", Armed(before=True)).held(Kind.BEFORE, 0)
    for times in (2, 3):
        action.kill("KILL")
        action.ended()
        action.start_again()
        until(lambda: action.facts == ["held 1 before"] * times, "the next hold")  # noqa: B023
        action.files.set_policy(Armed(), again=True)
    action.files.command("run")
    assert action.ended() == 0
    assert action.printed == "ran\n"


def test_a_hold_before_the_command_that_nobody_wants_any_more_does_not_run_it(action: ActionContainer) -> None:
    action.shell("echo ran", Armed(before=True)).held(Kind.BEFORE, 0)
    action.kill("TERM")
    assert action.ended() == 143
    action.files.set_policy(Armed())
    action.start_again()
    assert action.ended() == 137
    assert action.printed == ""


def test_a_verdict_that_was_given_before_the_container_died_is_carried_out_once(action: ActionContainer) -> None:
    action.shell("echo ran; exit 7", ON_FAILURE).held(Kind.FAILURE)
    number = action.files.command("retry")
    action.held(Kind.FAILURE, 2)
    action.kill("KILL")
    action.ended()
    action.files.set_policy(Armed(), again=True)
    action.files.command("retry", sequence=number)
    action.start_again()
    until(lambda: action.facts.count("held 2 failure") == 2, "the hold")
    action.kill("TERM")
    assert action.ended() == 143
    assert action.printed == "ran\nran\n"


def test_a_container_that_is_only_to_be_held_never_ran_anything(action: ActionContainer) -> None:
    """So it is with the files of a container that had no helper, brought into a new one."""
    action.files.set_policy(Armed(), again=True)
    action.start()
    action.held(Kind.FAILURE, 0)
    action.kill("TERM")
    assert action.ended() == 143
    assert action.facts == ["held 0 failure"]
