"""How a command ends is how its container ends, and signals are the command's."""

import errno

import pytest

from tests.integration.helper.container import NOT_EXECUTABLE, NOT_FOUND, ON_FAILURE, SH, ActionContainer
from tests.integration.worker.machine import until
from tinkbox.model.breakpoint import Kind
from tinkbox.worker.files.helper_files import StartFailure

ENDS = {
    "exit 1": 1,
    "exit 7": 7,
    "exit 255": 255,
    "kill -TERM $$": 143,
    "kill -KILL $$": 137,
    "kill -SEGV $$": 139,
    "ulimit -c 0; kill -ABRT $$": 134,
    "kill -34 $$": 128 + 34,
}
READY = "echo ready; while :; do sleep 0.01; done"
TOLD = f"trap 'echo told TERM; exit 5' TERM; {READY}"


@pytest.mark.parametrize(("script", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -KILL $$", 137)])
def test_the_container_ends_as_the_command_does(action: ActionContainer, script: str, code: int) -> None:
    assert action.shell(script).ended() == code
    assert action.facts == ["started 1", f"exited 1 {code} {'signal' if 'kill' in script else 'exit'}"]


@pytest.mark.parametrize("code", [137, 143])
def test_an_exit_is_told_from_a_signal_that_has_the_same_code(action: ActionContainer, code: int) -> None:
    action.shell(f"exit {code}", ON_FAILURE)
    assert (action.held(Kind.FAILURE).exited, action.files.status().killed) == (code, False)
    action.retry(*SH, f"kill -{code - 128} $$")
    assert (action.held(Kind.FAILURE, 2).exited, action.files.status().killed) == (code, True)


def test_every_end_is_told_as_a_shell_would(action: ActionContainer) -> None:
    action.shell("exit 1", ON_FAILURE)
    for run, (script, code) in enumerate(ENDS.items(), 1):
        if run > 1:
            action.retry(*SH, script)
        assert action.held(Kind.FAILURE, run).exited == code, script


def test_every_failure_to_start_is_told_with_its_errno(action: ActionContainer) -> None:
    failures = {
        "nothing": StartFailure(number=errno.ENOENT),
        "/bin/nothing": StartFailure(number=errno.ENOENT),
        "/bin/sh/nothing": StartFailure(number=errno.ENOTDIR),
        "/bin": StartFailure(number=errno.EACCES),
        "/etc/hostname": StartFailure(number=errno.EACCES),
        "hostname": StartFailure(number=errno.EACCES),
        "folder": StartFailure(number=errno.EACCES),
        "no-format": StartFailure(number=errno.ENOEXEC),
        "no-interpreter": StartFailure(number=errno.ENOENT, interpreter=True),
        "/bin/no-interpreter": StartFailure(number=errno.ENOENT, interpreter=True),
        "x" * 5_000: StartFailure(number=errno.ENOENT),
        "/" + "x" * 5_000: StartFailure(number=errno.ENAMETOOLONG),
    }
    (first, _), *_ = failures.items()
    action.start(first, armed=ON_FAILURE, options=("--env=PATH=/etc:/bin",))
    for run, (program, failure) in enumerate(failures.items(), 1):
        if run > 1:
            action.retry(program)
        status = action.held(Kind.FAILURE, run)
        assert (status.failure, status.exited) == (failure, None), program
    assert action.printed == ""


def test_a_command_line_that_is_too_long_does_not_start(action: ActionContainer) -> None:
    assert action.start("/bin/sh", "x" * 200_000).ended() == NOT_EXECUTABLE
    assert action.files.status().failure == StartFailure(number=errno.E2BIG)


def test_without_a_command_line_nothing_starts(action: ActionContainer) -> None:
    assert action.start().ended() == NOT_FOUND
    assert action.files.status().failure == StartFailure(number=errno.ENOENT)


@pytest.mark.parametrize("pid", ["", "host"])
def test_signals_reach_the_command(action: ActionContainer, pid: str) -> None:
    signals = ("USR1", "WINCH", "CONT", "ABRT", "HUP", "INT", "RTMIN+3", "TERM")
    traps = "".join(f"trap 'echo told {signal}' {signal.replace('RTMIN+3', '37')};" for signal in signals)
    action.shell(f"{traps} trap 'echo told TERM; exit 5' TERM; {READY}", options=(f"--pid={pid}",))
    action.prints("ready\n")
    for signal in signals:
        action.kill(signal)
        action.prints(f"told {signal}\n")
    assert action.ended() == 5


def test_a_signal_reaches_the_command_only(action: ActionContainer) -> None:
    child = (
        "(trap 'echo told child' TERM; trap 'echo child lives' WINCH; while :; do sleep 0.01; done) & echo $! >/child;"
    )
    action.shell(f"{child} {TOLD}", ON_FAILURE)
    action.prints("ready\n")
    action.kill("TERM")
    action.held(Kind.FAILURE)
    action.prints("told TERM\n")
    # What it was told earlier it would say first.
    action.script("kill -WINCH $(cat /child)")
    action.prints("child lives\n")
    assert "told child" not in action.printed


def test_the_ends_of_others_are_not_the_commands_business(action: ActionContainer) -> None:
    traps = "trap 'echo told CHLD' CHLD; trap 'echo told WINCH' WINCH"
    action.shell(f"mkfifo /pipe; exec 3<>/pipe; {traps}; echo ready; while :; do read -r _ <&3; done")
    action.prints("ready\n")
    action.script("(sleep 0.01 &) ; (sleep 0.01 &)")
    until(lambda: action.script("cat /proc/[0-9]*/comm | grep -c sleep; true") == "0\n", "the orphans' end")
    # What it was told earlier it would say first.
    action.kill("WINCH")
    action.prints("told WINCH\n")
    assert action.printed == "ready\ntold WINCH\n"


def test_a_signal_of_the_worker_reaches_the_commands_whole_group(action: ActionContainer) -> None:
    child = "(trap 'echo told child; exit' TERM; while :; do sleep 0.01; done) &"
    action.shell(f"{child} {TOLD}", ON_FAILURE)
    action.prints("ready\n")
    number = action.files.command("signal", "15")
    assert action.held(Kind.FAILURE).command == number
    for told in ("told child\n", "told TERM\n"):
        action.prints(told)


def test_a_command_that_heeds_no_signal_is_killed_and_held(action: ActionContainer) -> None:
    action.shell(f"trap '' TERM; {READY}", ON_FAILURE)
    action.prints("ready\n")
    carried_out = action.files.command("signal", "15")
    assert action.told(lambda status: status.command == carried_out, "the signal").pid is not None
    action.files.command("signal", "9")
    assert action.held(Kind.FAILURE).exited == 137


@pytest.mark.parametrize("pid", ["", "host"])
def test_orphans_end_and_leave_nothing(action: ActionContainer, pid: str) -> None:
    orphans = "for each in 1 2 3 4 5; do (sh -c 'exit 3' & sh -c 'sleep 0.05' &) ; done; (sleep 1000 &)"
    wait = "while [ ! -e /go ]; do read -t 0.01 _ <>/pipe; done"
    action.shell(f"mkfifo /pipe; {orphans}; {wait}; exit 1", ON_FAILURE, options=(f"--pid={pid}",)).running()
    helper = action.script("pidof entrypoint").split()[0]
    # Fields of stat: the state is the third, the parent the fourth.
    family = f"cat /proc/[0-9]*/stat 2>/dev/null | awk '$4 == {helper} {{ print $2, $3 }}' | sort"
    until(lambda: action.script(family) == "(sh) S\n(sleep) S\n", "all but what still runs to be reaped")
    action.script("(true &); touch /go")
    action.held(Kind.FAILURE)
    until(lambda: action.script(family) == "(sleep) S\n", "all but what still runs to be reaped")


def test_the_command_gets_its_environment_laid_over(action: ActionContainer) -> None:
    options = ("--env=KEPT=kept", "--env=CHANGED=before")
    laid = {"CHANGED": "after\n*", "NEW": "a=b", "EMPTY": ""}
    script = 'echo "$KEPT|$CHANGED|$NEW|${EMPTY-unset}"; exit 1'
    action.shell(script, ON_FAILURE, options=options, environment=laid)
    action.held(Kind.FAILURE)
    action.prints("kept|after\n*|a=b|\n")
    action.files.change_command_line(None, {"NEW": "newer"})
    action.files.command("retry")
    action.held(Kind.FAILURE, 2)
    action.prints("kept|after\n*|newer|\n")
