"""What people read who look into a held container."""

import pytest

from tinkbox.model.actions.action import Action
from tinkbox.model.breakpoint import Kind
from tinkbox.model.workflow import Outcome, PlannedAction, State
from tinkbox.wire.messages.worker import Offer
from tinkbox.worker.files.shell_welcome import about, prompt

ACTION = PlannedAction(
    index=0,
    task="os",
    worker="m1",
    address="08:00:27:00:00:01",
    spec=Action(name="write", image="write:v1", timeout=60),
)
OFFER = Offer(workflow_id="w1", attempt="a1", remaining=60, action=ACTION)
FAILED = Outcome(
    state=State.FAILED, exit_code=7, reason="DiskTooSmall", message="8 GB\nare wanted", hint="use another disk"
)


def test_a_failure_is_told_with_all_that_is_known_of_it() -> None:
    assert about(OFFER, Kind.FAILURE, FAILED) == (
        "Action os/write is held after it failed.\n"
        "workflow  w1\n"
        "attempt   a1\n"
        "image     write:v1\n"
        "ended     exit 7\n"
        "reason    DiskTooSmall\n"
        "message   8 GB\nare wanted\n"
        "hint      use another disk\n"
        "\n"
        "What can be done:\n"
        "  debug-continue [WHY]            let it count as success, and go on\n"
        "  debug-continue-failure [WHY]    let it fail, as the template says\n"
        "  debug-retry [--fresh] [WHY]     run it again here as things are now, or in a new container\n"
        "  debug-abort [WHY]               cancel the workflow\n"
        "\n"
        "Its command line and what surrounds it are in /tinkbox/debug/info.\n"
    )


def test_what_has_not_begun_can_be_skipped_and_not_tried_again() -> None:
    text = about(OFFER, Kind.BEFORE, None)
    assert text.startswith("Action os/write is held before it begins.\n")
    assert (
        "What can be done:\n"
        "  debug-continue [WHY]            run it\n"
        "  debug-skip [WHY]                do not run it, and go on as if it had succeeded\n"
        "  debug-continue-failure [WHY]    do not run it, and let it fail\n"
        "  debug-abort [WHY]               cancel the workflow\n"
        "\n"
    ) in text
    assert "ended" not in text


@pytest.mark.parametrize(
    ("outcome", "shown"),
    [
        (None, "os/write not begun"),
        (FAILED, "os/write exit 7"),
        (Outcome(state=State.FAILED, exit_code=137, signal="SIGKILL"), "os/write SIGKILL"),
        (Outcome(state=State.TIMEOUT, reason="Timeout"), "os/write Timeout"),
        (Outcome(state=State.SUCCESS, exit_code=0), "os/write exit 0"),
        (Outcome(state=State.FAILED), "os/write FAILED"),
    ],
)
def test_the_prompt_names_the_action_and_its_end(outcome: Outcome | None, shown: str) -> None:
    assert prompt(ACTION, outcome) == shown


def test_nothing_in_it_steers_a_terminal() -> None:
    outcome = Outcome(state=State.FAILED, reason="\x1b]0;x\x07", message="a\x1b[31mred\x9b2J\rb\u202e")
    text = about(OFFER, Kind.FAILURE, outcome)
    assert not set(text) & set("\x1b\x07\x9b\r\u202e")
    assert "ared" in text
