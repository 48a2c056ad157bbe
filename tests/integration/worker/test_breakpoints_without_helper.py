"""An action whose command is process 1 of its container: held in a copy, and told apart from others by nothing else."""

import re

import pytest

from tests.integration.docker_engine import HEARD
from tests.integration.worker.machine import BUSYBOX, Lab, Refused, until
from tinkbox.worker.containers.salvage import MAX_BYTES

ON_FAILURE = ("on-failure",)
# Everything that a command can find out about itself, in lines that come in any order.
PROBE = f"""
echo to the log; echo to the log as well >&2
/bin/busybox id; /bin/busybox pwd; echo "$0 $#"
/bin/busybox tr '\\0' '\\n' </proc/$$/environ
/bin/busybox readlink /proc/$$/fd/0
/bin/busybox cat
/bin/busybox grep -E '^(Sig(Blk|Ign|Cgt)|Cap|Umask|NoNewPrivs|Seccomp:)' /proc/$$/status
cd /proc/$$/fd; /bin/busybox ls; cd /; /bin/busybox ls
{HEARD}
exit 9
"""
OWN = re.compile(
    r"^(HOSTNAME|TINKBOX_WORKFLOW|TINKBOX_ATTEMPT|TINKBOX_METADATA)=.*\n|^(tinkbox|tekton)\n", re.MULTILINE
)
PROBED = ("to the log\n", "to the log as well\n", "uid=1000 gid=1001", "/work\n", "MODE=rough\n", "OWN=of the image\n")
TRAP = "trap 'echo heard {0}; exit 5' {0}; : >/marks/{1}; while :; do /bin/busybox sleep 0.05; done"


@pytest.fixture(scope="module", autouse=True)
def _images(machine_of_module: Lab) -> None:
    changes = ("USER 1000:1001", "WORKDIR /work", "ENV OWN='of the image' MODE=smooth")
    machine_of_module.image("tools/probe:v1", {"bin/busybox": BUSYBOX}, *changes)


def copies(machine: Lab) -> list[str]:
    """The images that were made to hold what is over."""
    return machine.engine.cli("images", "-q", "--filter", "reference=tinkbox-breakpoint").stdout.split()


def test_what_it_left_is_held_in_a_copy_of_which_nothing_stays(machine: Lab) -> None:
    workflow = machine.workflow("echo kept >/left; exit 7", breakpoints=ON_FAILURE, helper=False)
    held = machine.held(workflow)
    assert (held["exit_code"], machine.stands(workflow)["held"]["in_place"]) == (7, False)
    assert len(copies(machine)) == 1
    assert machine.inside(workflow, "cat", "/left") == "kept\n"
    machine.breakpoint("continue", workflow, "-m", "seen")
    assert machine.finished(workflow) == "SUCCESS"
    assert machine.told(workflow)["exit_code"] == 7
    until(lambda: (copies(machine), machine.containers()) == ([], []), "the copy to be removed")


def test_a_retry_happens_in_a_new_container(machine: Lab) -> None:
    script = "[ -e /repaired ] && exit 8; echo run >>/marks/runs; exit 7"
    workflow = machine.workflow(script, breakpoints=ON_FAILURE, helper=False)
    machine.held(workflow)
    machine.inside(workflow, "touch", "/repaired")
    assert "in a new container" in machine.breakpoint("retry", workflow)
    assert machine.held(workflow, times=2)["exit_code"] == 7
    assert (machine.marks / "runs").read_text().split() == ["run", "run"]
    assert len(copies(machine)) == 1


def test_what_is_too_large_to_be_copied_is_held_without_a_container(machine: Lab) -> None:
    # A file of holes: it takes no room, but a copy of it would.
    script = f"/bin/busybox truncate -s {MAX_BYTES + 1} /large; exit 7"
    workflow = machine.workflow(script, breakpoints=ON_FAILURE, helper=False)
    held = machine.held(workflow)
    assert f"the action wrote {MAX_BYTES // 1024**2} MiB into its container" in held["message"]
    assert (held["exit_code"], machine.stands(workflow)["held"]["container"]) == (7, False)
    assert copies(machine) == []
    with pytest.raises(Refused):
        machine.inside(workflow, "true")
    machine.breakpoint("fail", workflow)
    assert machine.finished(workflow) == "FAILED"


def test_an_action_finds_the_same_with_and_without_a_helper(machine: Lab) -> None:
    def told(helper: bool) -> tuple[object, ...]:
        options = {"image": "tools/probe:v1", "environment": {"MODE": "rough"}, "helper": helper}
        workflow = machine.workflow(PROBE, **options)
        assert machine.finished(workflow) == "FAILED"
        end = machine.told(workflow)
        printed = OWN.sub("", machine.tinkbox("workflow", "logs", workflow))
        return sorted(printed.splitlines(keepends=True)), end["exit_code"], end["signal"], end["reason"]

    helped, bare = told(helper=True), told(helper=False)
    assert helped == bare
    lines, *how = bare
    assert how == [9, "", "NonZeroExit"]
    assert isinstance(lines, list)
    assert all(any(line.startswith(wanted) for line in lines) for wanted in PROBED), lines
    assert "/dev/null\n" in lines


@pytest.mark.parametrize("helper", [True, False])
@pytest.mark.parametrize("signal", ["TERM", "USR1"])
def test_a_signal_to_its_container_reaches_it(machine: Lab, signal: str, helper: bool) -> None:
    mark = f"{signal}-{helper}"
    workflow = machine.workflow(TRAP.format(signal, mark), helper=helper)
    until(lambda: machine.marked(mark), "the action")
    machine.engine.cli("kill", f"--signal={signal}", *machine.containers())
    assert machine.finished(workflow) == "FAILED"
    assert machine.told(workflow)["exit_code"] == 5
    assert machine.tinkbox("workflow", "logs", workflow) == f"heard {signal}\n"
