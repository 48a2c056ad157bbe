"""What the worker starts for people who look into a container, and how it is ended."""

import pytest

from tests.integration.docker_engine import DockerEngine
from tests.integration.helper.container import (
    BUSYBOX_SH,
    NOT_EXECUTABLE,
    NOT_FOUND,
    ON_FAILURE,
    WITH_BASH,
    WITHOUT_SHELL,
    ActionContainer,
)
from tests.integration.helper.terminal import Terminal
from tests.integration.worker.machine import until
from tests.unit.worker.files.test_shell_welcome import OFFER
from tinkbox import __version__
from tinkbox.model.breakpoint import Kind
from tinkbox.model.workflow import Outcome, State
from tinkbox.worker.files.helper_files import ENTRYPOINT

SHELL = (ENTRYPOINT, "shell", "s1")


@pytest.fixture
def scratch(action: ActionContainer) -> ActionContainer:
    """One of an image without a shell, held."""
    action.start(*BUSYBOX_SH, "exit 7", armed=ON_FAILURE, image=WITHOUT_SHELL).held(Kind.FAILURE)
    return action


def test_a_program_runs_where_the_action_ran(held: ActionContainer) -> None:
    done = held.inside(*SHELL, "--", "sh", "-c", 'echo "$TINKBOX_SHELL|$OF|$PWD|$*"; exit 5', "x", "--", "")
    assert (done.returncode, done.stdout) == (5, "s1|the action|/bin|-- \n")
    done = held.inside(*SHELL, "own", "words")
    assert (done.returncode, done.stdout) == (3, "own: words\n")


def test_tools_come_behind_the_images_own_in_path(held: ActionContainer) -> None:
    done = held.inside(*SHELL, "sh", "-c", "echo $PATH", options=("--env=PATH=/bin",))
    assert done.stdout == "/bin:/tinkbox/debug/scripts:/tinkbox/busybox\n"
    done = held.inside(*SHELL, "id", "-u")
    assert (done.returncode, done.stdout) == (0, "0\n")
    assert held.inside(*SHELL, "debug-info").returncode == 0


@pytest.mark.parametrize(
    ("program", "code", "said"),
    [
        ("nothing", NOT_FOUND, "nothing: No such file or directory\n"),
        ("/bin", NOT_EXECUTABLE, "/bin: Permission denied\n"),
        ("no-interpreter", NOT_FOUND, "no-interpreter: its interpreter: No such file or directory\n"),
    ],
)
def test_a_program_that_cannot_run_is_told(held: ActionContainer, program: str, code: int, said: str) -> None:
    done = held.inside(*SHELL, program)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", said)


@pytest.mark.parametrize(
    "words",
    [("shell",), ("shell", ""), ("shell", "a b"), ("shell", "x" * 65), ("reap",), ("reap", "a=b"), ("reap", "a", "b"),
     ("dance",), ("version", "x")],
)  # fmt: skip
def test_wrong_usage_does_nothing(held: ActionContainer, words: tuple[str, ...]) -> None:
    done = held.inside(ENTRYPOINT, *words)
    assert (done.returncode, done.stderr[:17]) == (2, "Usage: entrypoint")


def test_the_images_own_shell_is_taken(engine: DockerEngine, held: ActionContainer) -> None:
    failed = Outcome(state=State.FAILED, exit_code=7)
    held.files.describe(OFFER, Kind.FAILURE, failed)
    with Terminal(engine, held, "s1") as terminal:
        terminal.shows(r"\[os/write exit 7\] /bin # ")
        terminal.type("readlink /proc/$$/exe; echo $TINKBOX_SHELL")
        assert "/bin/sh\r\ns1" in terminal.shows("# ")
        terminal.type("exit 3")


def test_bash_comes_before_sh_and_before_the_prompt_of_its_start_up_files(
    engine: DockerEngine, action: ActionContainer
) -> None:
    action.shell("exit 7", ON_FAILURE, image=WITH_BASH, options=("--workdir=/bin",)).held(Kind.FAILURE)
    with Terminal(engine, action, "s1") as terminal:
        terminal.shows(r"\[tinkbox\] /bin # ")
        terminal.type("readlink /proc/$$/exe; shopt login_shell; echo ${PROMPT_COMMAND-unset}; PS1='mine: '")
        terminal.shows(r"/bin/bash\r\nlogin_shell\s+off\r\nunset\r\n.*mine: ")


def test_without_a_shell_in_the_image_ours_prefers_the_images_tools(
    engine: DockerEngine, scratch: ActionContainer
) -> None:
    with Terminal(engine, scratch, "s2") as terminal:
        terminal.shows(r"\[tinkbox\] / # ")
        terminal.type("readlink /proc/$$/exe; find /app; wget here; ls /proc/$$/fd")
        shown = terminal.shows(r"\] / # ")
        assert "/tinkbox/bin/busybox\r\n/app\r\n/app/busybox\r\nown: here\r\n" in shown
        assert "9" not in shown.split("own: here")[1], "what it read first is closed again"


def test_a_shell_without_a_terminal_takes_a_script(held: ActionContainer, scratch: ActionContainer) -> None:
    for container in (held, scratch):
        done = container.inside(*SHELL, stdin=b"echo $TINKBOX_SHELL; exit 4\n")
        assert (done.returncode, done.stdout, done.stderr) == (4, "s1\n", "")


def test_a_name_in_the_prompt_steers_nothing(engine: DockerEngine, held: ActionContainer) -> None:
    control = held.files.mounts(held.files.run, 0)["/tinkbox/control"]
    with open(f"{control}/info/prompt", "w") as file:  # noqa: PTH123
        file.write("a'b$(echo x)`echo y`\x1b[2J\\w\nsecond")
    with Terminal(engine, held, "s1") as terminal:
        terminal.shows(r"\[a\?b\?\?echo x\?\?echo y\?\?\?2J\?w\] /bin # ")


def test_the_end_of_a_session_is_the_end_of_all_it_left(engine: DockerEngine, held: ActionContainer) -> None:
    sleepers = "for each in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <$each; echo; done | grep ^/tinkbox/busybox/s | sort"

    def sleeping(*numbers: int) -> bool:
        return held.script(sleepers) == "".join(f"/tinkbox/busybox/sleep {number} \n" for number in numbers)

    with Terminal(engine, held, "s1") as mine, Terminal(engine, held, "s10") as other:
        for terminal in (mine, other):
            terminal.shows("# ")
            terminal.type("S=/tinkbox/busybox/sleep")
        mine.type("setsid sh -c \"trap '' HUP; $S 1111\" & $S 1112 &")
        mine.type("A=$(seq 2000) setsid $S 1113 & (trap '' HUP TERM; exec $S 1114) & $S 1115 &")
        mine.type("(setsid sh -c \"trap '' HUP TERM; setsid $S 1116 & exit\" &)  # its parents are gone")
        other.type("$S 2222 &")
        until(lambda: sleeping(1111, 1112, 1113, 1114, 1115, 1116, 2222), "everything to run")
        mine.type("kill -STOP $!; echo stopped; echo it")
        mine.shows("stopped\r\nit")
        assert held.inside(ENTRYPOINT, "reap", "s1").returncode == 0
        assert sleeping(2222)
        other.type("echo still; echo here")
        other.shows("still\r\nhere")
    assert held.inside(ENTRYPOINT, "reap", "unknown").returncode == 0
    assert held.files.status().held is Kind.FAILURE


@pytest.mark.parametrize("signal", ["HUP", "TERM"])
def test_whoever_belongs_to_a_session_is_asked_to_end_first(held: ActionContainer, signal: str) -> None:
    others = "trap '' HUP TERM" if signal == "HUP" else "trap '' HUP"
    script = f"{others}; trap 'echo asked; exit 6' {signal}; echo ready >/{signal}; while :; do sleep 0.01; done"
    with held.begin_inside(*SHELL, "sh", "-c", script) as process:
        until(lambda: held.inside("/tinkbox/busybox/test", "-e", f"/{signal}").returncode == 0, "it to be ready")
        assert held.inside(ENTRYPOINT, "reap", "s1").returncode == 0
        assert process.communicate(timeout=60)[0] == "asked\n"
    assert process.returncode == 6


def test_the_version_is_the_programs(held: ActionContainer) -> None:
    assert held.inside(ENTRYPOINT, "version").stdout == f"tinkbox {__version__}\n"
