"""Every way to fail is held for real: what its process left is there to be looked into, with the shell of the tools.

No image here has a shell of its own.
"""

from dataclasses import dataclass

import pytest

from tests.integration.worker.machine import BUSYBOX, Lab, until

ON_FAILURE = ("on-failure",)
TOOL = "/app/busybox"
LOOK_AROUND = f"{TOOL} pwd; {TOOL} id; {TOOL} tr '\\0' '\\n' </proc/$$/environ; :"
ALONE = ("USER 1000:1001", "WORKDIR /work", "ENV OWN='two words' PATH=/own", f'ENTRYPOINT ["{TOOL}", "sh", "-c"]')
DEAF = "trap '' TERM; echo stuck; /bin/busybox touch /marks/deaf; while :; do /bin/busybox sleep 0.1; done"
MEMORY = 64 * 1024 * 1024


@pytest.fixture(scope="module", autouse=True)
def _images(machine_of_module: Lab) -> None:
    machine_of_module.image("tools/alone:v1", {"app/busybox": BUSYBOX}, *ALONE)
    machine_of_module.image("tools/user:v1", {"bin/busybox": BUSYBOX}, "USER 1000:1000")
    machine_of_module.image("tools/alien:v1", {"alien": b"\0\1 not for this machine"}, 'CMD ["/alien"]')
    machine_of_module.image("tools/nothing:v1", {"bin/busybox": BUSYBOX})


def test_a_shell_opens_where_the_action_was(machine: Lab) -> None:
    script = f"({LOOK_AROUND}) >/marks/seen; exit 7"
    workflow = machine.workflow(script, breakpoints=ON_FAILURE, image="tools/alone:v1", command=[script])
    held = machine.held(workflow)
    assert (held["breakpoint"], held["ended"], held["exit_code"]) == ("failure", "FAILED", 7)
    # What a shell prints is masked, and what a container keeps to itself is not.
    action, masked = (machine.marks / "seen").read_text().splitlines(), "TINKBOX_METADATA="
    assert action[0] == "/work"
    assert action[1].startswith("uid=1000 gid=1001")
    assert {"OWN=two words", "PATH=/own"} <= set(action)
    shell = machine.inside(workflow, TOOL, "sh", "-c", LOOK_AROUND).splitlines()
    assert shell[:2] == action[:2]
    shell, action = ([each for each in both if not each.startswith(masked)] for both in (shell, action))
    own = set(shell) - set(action)
    assert {line.partition("=")[0] for line in own} == {"PATH", "TINKBOX_SHELL"}
    assert "PATH=/own:/tinkbox/debug/scripts:/tinkbox/busybox" in own
    assert {line.partition("=")[0] for line in set(action) - set(shell)} == {"PATH"}


@dataclass(frozen=True)
class Way:
    """How an action is run, and who it is then."""

    options: dict[str, object]
    user: str = "0"


WAYS = {
    "as a user who is not root": Way({"image": "tools/user:v1"}, "1000"),
    "with the machine's devices": Way({"volumes": ["/dev:/dev"]}),
    "with its devices read-only": Way({"volumes": ["/dev:/dev:ro"]}),
    "among the machine's processes": Way({"pid": "host"}),
}


@pytest.mark.parametrize("way", WAYS)
def test_however_it_is_run_it_is_held_and_can_be_looked_into(machine: Lab, way: str) -> None:
    workflow = machine.workflow("echo Own >/dev/reason; exit 9", breakpoints=ON_FAILURE, **WAYS[way].options)
    held = machine.held(workflow)
    assert (held["reason"], held["exit_code"]) == ("Own", 9)
    assert machine.inside(workflow, "cat", "/dev/reason") == "Own\n"
    assert machine.inside(workflow, "id", "-u") == f"{WAYS[way].user}\n"
    machine.breakpoint("fail", workflow)
    assert machine.finished(workflow) == "FAILED"


def test_what_it_kept_in_memory_and_left_running_is_there(machine: Lab) -> None:
    script = "/bin/busybox sleep 7654321 & echo half >/dev/shm/left; echo whole >/left; exit 7"
    workflow = machine.workflow(script, breakpoints=ON_FAILURE)
    machine.held(workflow)
    assert machine.inside(workflow, "cat", "/dev/shm/left", "/left") == "half\nwhole\n"
    assert "sleep 7654321" in machine.inside(workflow, "ps", "-o", "args")


@dataclass(frozen=True)
class Unstarted:
    """An action without a process."""

    options: dict[str, object]
    message: str
    container: bool = True


UNSTARTED = {
    "no such program": Unstarted({"command": ["/bin/nothing"]}, "the image has no program /bin/nothing"),
    "another processor's": Unstarted(
        {"image": "tools/alien:v1", "command": []}, "/alien is made for another processor"
    ),
    "an empty word": Unstarted({"command": [""]}, "the command is empty"),
    "no command at all": Unstarted(
        {"image": "tools/nothing:v1", "command": []}, "neither the template nor its image says", container=False
    ),
}


@pytest.mark.parametrize("what", UNSTARTED)
def test_what_cannot_be_started_is_held_and_runs_with_another_command(machine: Lab, what: str) -> None:
    wanted = UNSTARTED[what]
    workflow = machine.workflow("", breakpoints=ON_FAILURE, **wanted.options)
    held = machine.held(workflow)
    assert (held["reason"], held["exit_code"]) == ("BadCommand", None)
    assert wanted.message in held["message"].lower()
    assert machine.stands(workflow)["held"]["container"] == wanted.container
    image = wanted.options.get("image")
    machine.breakpoint("retry", workflow, "--", "/tinkbox/bin/busybox" if image else "/bin/busybox", "true")
    assert machine.finished(workflow) == "SUCCESS"


def test_what_takes_too_long_is_held_without_its_process_which_heeds_nothing(machine: Lab) -> None:
    workflow = machine.workflow(DEAF, breakpoints=ON_FAILURE, timeout=8)
    held = machine.held(workflow)
    assert (held["ended"], held["reason"]) == ("TIMEOUT", "Timeout")
    assert machine.marked("deaf")
    assert "trap" not in machine.inside(workflow, "ps", "-o", "args")
    machine.breakpoint("fail", workflow)
    assert machine.finished(workflow) == "TIMEOUT"


def test_what_eats_all_memory_is_held_and_the_helper_is_not_killed(machine: Lab) -> None:
    script = (
        "echo Greedy >/dev/reason; /bin/busybox touch /marks/greedy\n"
        "while [ ! -e /marks/eat ]; do /bin/busybox sleep 0.02; done; exec /bin/busybox tail /dev/zero"
    )
    workflow = machine.workflow(script, breakpoints=ON_FAILURE)
    until(lambda: machine.marked("greedy"), "the action")
    with machine.engine.short_of_memory(MEMORY):
        machine.allow("eat")
        held = machine.held(workflow)
        assert (held["reason"], held["exit_code"], held["signal"]) == ("OutOfMemory", 137, "SIGKILL")
        assert machine.inside(workflow, "cat", "/dev/reason") == "Greedy\n"
    machine.breakpoint("continue", workflow, "-m", "enough was eaten")
    assert machine.finished(workflow) == "SUCCESS"
    assert machine.told(workflow)["exit_code"] == 137
