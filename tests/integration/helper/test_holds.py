"""Where the container goes on though its command does not: until the worker says how."""

import pytest

from tests.integration.helper.container import (
    BUSYBOX_SH,
    ON_FAILURE,
    SH,
    WITHOUT_SHELL,
    ActionContainer,
)
from tests.integration.worker.machine import until
from tinkbox.model.breakpoint import Armed, Kind

SITUATIONS = {
    "an image without a shell": (),
    "a user": ("--user=1000",),
    "nothing writable": ("--read-only",),
    "no capabilities": ("--cap-drop=ALL", "--security-opt=no-new-privileges"),
    "the machine's processes": ("--pid=host",),
}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_a_failure_is_held_and_tried_again_and_given_up(action: ActionContainer, situation: str) -> None:
    action.start(*BUSYBOX_SH, "exit 7", armed=ON_FAILURE, image=WITHOUT_SHELL, options=SITUATIONS[situation])
    assert action.held(Kind.FAILURE).exited == 7
    action.retry(*BUSYBOX_SH, "exit 8")
    assert action.held(Kind.FAILURE, 2).exited == 8
    action.kill("TERM")
    assert action.ended() == 143
    assert action.facts[3:] == ["command 1", "started 2", "exited 2 8 exit", "held 2 failure"]


@pytest.mark.parametrize(
    ("script", "armed", "kind"),
    [
        ("exit 0", Armed(after=True), Kind.AFTER),
        ("exit 3", Armed(after=True), Kind.FAILURE),
        ("exit 0", Armed(after=True, on_failure=True), Kind.AFTER),
        ("exit 3", Armed(before=True), None),
        ("exit 0", Armed(on_failure=True), None),
        ("exit 3", Armed(), None),
    ],
)
def test_what_is_held_is_what_is_armed(action: ActionContainer, script: str, armed: Armed, kind: Kind | None) -> None:
    # Its hold before the command is of no interest here, but shows that leaving it does not end the others.
    action.shell(script, armed)
    if armed.before:
        action.files.command("run")
    if kind is not None:
        assert action.held(kind).exited == int(script.split()[1])
        action.kill("TERM")
    assert action.ended() == (int(script.split()[1]) if kind is None else 143)
    assert (f"held 1 {kind}" in action.facts) == (kind is not None)


def test_a_command_is_held_before_it_begins(action: ActionContainer) -> None:
    action.shell("echo ran", Armed(before=True))
    status = action.held(Kind.BEFORE, 0)
    assert (status.pid, status.exited) == (None, None)
    assert action.printed == ""
    action.files.command("run")
    assert action.ended() == 0
    assert action.facts == ["held 1 before", "command 1", "started 1", "exited 1 0 exit"]


def test_a_command_that_was_held_before_it_began_may_never_begin(action: ActionContainer) -> None:
    action.shell("echo ran", Armed(before=True)).held(Kind.BEFORE, 0)
    action.kill("TERM")
    assert action.ended() == 143
    assert action.printed == ""


def test_what_is_armed_while_the_command_runs_counts(action: ActionContainer) -> None:
    action.shell("while [ ! -e /go ]; do sleep 0.01; done; exit 4", Armed()).running()
    action.files.set_policy(ON_FAILURE)
    action.script("touch /go")
    assert action.held(Kind.FAILURE).exited == 4


def test_what_is_cleared_while_the_command_runs_does_not(action: ActionContainer) -> None:
    action.shell("while [ ! -e /go ]; do sleep 0.01; done; exit 4", ON_FAILURE).running()
    action.files.set_policy(Armed())
    action.script("touch /go")
    assert action.ended() == 4


def test_clearing_does_not_end_a_hold(action: ActionContainer) -> None:
    action.shell("exit 4", ON_FAILURE).held(Kind.FAILURE)
    action.files.set_policy(Armed())
    # Were it to end by this, the command would find nobody.
    action.files.command("retry")
    assert action.ended() == 4
    assert action.facts[-2:] == ["started 2", "exited 2 4 exit"]


def test_a_command_is_carried_out_once_however_often_it_is_given(action: ActionContainer) -> None:
    action.shell("echo ran; exit 4", ON_FAILURE).held(Kind.FAILURE)
    number = action.files.command("retry")
    action.held(Kind.FAILURE, 2)
    assert action.files.command("retry", sequence=number) == number
    action.files.command("retry", sequence=number)
    action.kill("TERM")
    assert action.ended() == 143
    assert action.printed == "ran\nran\n"


def test_what_would_leave_a_hold_before_the_command_runs_nothing_after_it(action: ActionContainer) -> None:
    action.shell("echo ran; exit 4", ON_FAILURE).held(Kind.FAILURE)
    action.files.command("run")
    action.script("true")
    action.kill("TERM")
    assert action.ended() == 143
    assert action.printed == "ran\n"


def test_nonsense_is_no_command(action: ActionContainer) -> None:
    action.shell("exit 4", ON_FAILURE).held(Kind.FAILURE)
    control = action.files.mounts(action.files.run, 0)["/tinkbox/control"]
    for content in ("", "x", "5", "5 ", "5 dance", "-3 retry", "retry", "\0" * 5_000, " 5 retry", "5  retry"):
        with open(f"{control}/command", "w") as file:  # noqa: PTH123
            file.write(content)
        action.script("true")
    action.files.command("retry", sequence=6)
    action.held(Kind.FAILURE, 2)
    assert action.facts[2:] == ["held 1 failure", "command 6", "started 2", "exited 2 4 exit", "held 2 failure"]


def test_what_the_command_left_running_runs_on_while_it_is_held(action: ActionContainer) -> None:
    action.shell("(while :; do tick=$((tick + 1)); echo $tick >/tick; done) & mkdir /made; exit 1", ON_FAILURE)
    action.held(Kind.FAILURE)
    before = action.script("cat /tick; ls -d /made")
    until(lambda: action.script("cat /tick; ls -d /made") != before, "what runs on to do something")


def test_a_retry_finds_what_was_repaired(action: ActionContainer) -> None:
    action.shell("cat /etc/wanted", ON_FAILURE).held(Kind.FAILURE)
    action.script("echo repaired >/etc/wanted")
    action.retry()
    assert action.ended() == 0
    assert "repaired\n" in action.printed


@pytest.mark.parametrize(("signal", "code"), [("TERM", 143), ("INT", 130), ("HUP", 129), ("QUIT", 131)])
def test_a_held_container_ends_at_once_when_it_is_told_to(action: ActionContainer, signal: str, code: int) -> None:
    action.shell("exit 4", ON_FAILURE).held(Kind.FAILURE)
    action.kill("USR1")
    action.kill(signal)
    assert action.ended() == code


def test_an_action_that_writes_what_it_likes_fools_nobody_for_long(action: ActionContainer) -> None:
    nonsense = (
        "cd /tinkbox/run; head -c 300000 /dev/urandom >>status; printf 'started 9\\nheld x y\\nexited 1' >>status;"
        "echo x >/tinkbox/control/policy; rm /tinkbox/bin/entrypoint; exit 6"
    )
    action.shell(nonsense, ON_FAILURE)
    assert action.held(Kind.FAILURE).exited == 6
    action.prints("Read-only")
    action.retry(*SH, "rm /tinkbox/run/status; mkfifo /tinkbox/run/status; exit 8")
    action.kill("TERM")
    assert action.ended() == 143
