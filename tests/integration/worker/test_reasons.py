"""Every way to fail, provoked for real: what the appliance knows of it afterwards, and shows."""

import asyncio
import json
import platform
import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.integration.cli.serving import configure, serving
from tests.integration.docker_engine import HEARD, DockerEngine
from tests.integration.runtime.test_engine_messages import bad_registry
from tests.integration.worker.machine import BUSYBOX, Lab, until
from tinkbox.model.reasons import Reason

# As Docker names it: one that this machine is not.
OTHER = "amd64" if platform.machine() == "aarch64" else "arm64"
WAIT = "while [ ! -e /marks/{0} ]; do /bin/busybox sleep 0.02; done\n"
FLOOD = '/bin/busybox yes "a very long message" | /bin/busybox head -c 300000000 >/dev/message; '


@pytest.fixture(scope="module", params=["helped", "bare"])
def lab(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, docker_engine: DockerEngine
) -> Iterator[Lab]:
    """A machine at work, with an appliance that is on: nobody can tell whether actions have a helper."""
    folder = tmp_path_factory.mktemp("lab")
    lab = Lab(folder, configure(folder), docker_engine)
    with serving(lab.configuration):
        lab.prepare()
        lab.image("tools/user:v1", {"bin/busybox": BUSYBOX}, "USER 1000:1000")
        lab.image("tools/scratch:v1", {"echo": BUSYBOX, "false": BUSYBOX}, 'ENTRYPOINT ["/false"]')
        lab.image("tools/alien:v1", {"alien": b"\0\1 not for this machine"}, 'CMD ["/alien"]')
        lab.image("tools/arm:v1", {"alien": b"\0\1 an ARM program"}, 'CMD ["/alien"]', architecture=OTHER)
        with lab.working(debug=request.param == "helped"):
            yield lab


@dataclass(frozen=True)
class Case:
    """An action, and what is told of its end."""

    script: str
    reason: str
    message: str
    options: dict[str, object]
    state: str = "FAILED"
    exit_code: int | None = None
    signal: str = ""
    hint: str | None = None  # None: not looked at


def case(script: str, reason: str, message: str, **options: object) -> Case:
    known = {name: options.pop(name) for name in ("state", "exit_code", "signal", "hint") if name in options}
    return Case(script, reason, message, options, **known)  # type: ignore[arg-type]


def succeeds(script: str, message: str, **options: object) -> Case:
    return case(script, "", message, state="SUCCESS", exit_code=0, **options)


HOSTILE = "printf 'a\\000b\\033[31mred\\033]0;title\\007\\377' >/dev/message; "
CASES = {
    "another exit status": case(
        f"echo because; {HEARD}; exit 3", "NonZeroExit", "3; the last it printed: because", exit_code=3
    ),
    "its own words": case(
        "echo DiskTooSmall >/dev/reason; echo needs 8 GB >/tinkerbell/failure-message; exit 4",
        "DiskTooSmall", "needs 8 GB", exit_code=4,
    ),
    "a reason with spaces": case(
        "echo disk too small >/dev/reason; exit 1", "InvalidReason", "'disk too small' is not one CamelCase word, of at most", exit_code=1
    ),
    "a reason moved over the file": case(
        "echo First >/dev/reason; echo Second >/new; /bin/busybox mv /new /dev/reason; exit 1", "First", "", exit_code=1
    ),
    "a hint that steers terminals": case(
        HOSTILE.replace("/dev/message", "/dev/hint") + "echo Own >/dev/reason; exit 1", "Own", "exit code 1", exit_code=1
    ),
    "bytes that steer terminals": case(
        HOSTILE + "exit 1", "NonZeroExit", "ab\x1b[31mred\x1b]0;title\x07\ufffd", exit_code=1
    ),
    "a message of 300 MB": case(
        "echo Flooded >/dev/reason; " + FLOOD + "exit 1", "Flooded", "(cut: it wrote 300000000 bytes, the first 6144 are kept",
        exit_code=1,
    ),
    "words and success": succeeds("echo wrote 8 GB >/dev/message; echo Ignored >/dev/reason", "wrote 8 GB"),
    "an empty command": case("", "BadCommand", "the command is empty", command=[""]),
    "no such program": case("", "BadCommand", "the image has no program /bin/nothing", command=["/bin/nothing"]),
    "no executable": case("", "BadCommand", "/bin may not be executed", command=["/bin"]),
    "another processor's program": case(
        "", "BadCommand", "/alien is made for another processor", image="tools/alien:v1", command=[]
    ),
    "an image for another processor": case(
        "", "WrongPlatform", f"the image is for {OTHER}, and this machine is ", image="tools/arm:v1", command=[]
    ),
    "a hint of its own": case(
        "echo DiskTooSmall >/dev/reason; echo use a larger disk >/dev/hint; exit 4", "DiskTooSmall", "exit code 4", exit_code=4,
        hint="use a larger disk",
    ),
    "a word that tinkbox has as well": case(
        "echo ImageNotFound >/dev/reason; echo 404 >/dev/message; echo correct the address >/tinkerbell/failure-hint; exit 1",
        "ImageNotFound", "404", exit_code=1, hint="correct the address",
    ),
    "such a word without a hint": case(
        "echo looked; echo ImageNotFound >/dev/reason; exit 1", "ImageNotFound", "exit code 1", exit_code=1,
        hint=Reason.NON_ZERO_EXIT.hint,
    ),
    "a hint without a reason": case(
        "echo look at the cable >/dev/hint; exit 1", "NonZeroExit", "exit code 1", exit_code=1, hint="look at the cable"
    ),
    "a source that cannot be": case(
        "true", "MountFailed", "mkdir /proc/no: no such file", volumes=["/proc/no/such:/x"]
    ),
    "a place that cannot be": case("true", "MountFailed", "not a directory", volumes=["/etc/passwd:/bin"]),
    "a volume over our own": case(
        "true", "MountFailed", "takes the place of tinkbox's own /dev/reason", volumes=["/tmp:/dev/reason"]
    ),
    "no such image": case(
        "true", "ImageNotFound", "tools/nothing", image="tools/nothing:v9", hint=Reason.IMAGE_NOT_FOUND.hint
    ),
    "too much data": case(
        "/bin/busybox dd if=/dev/zero of=/workflow/huge.img bs=1M count=11 2>/dev/null",
        "DataTooLarge", "largest: huge.img (11534336 bytes)", exit_code=0,
    ),
    "an image of one file": case(
        "", "NonZeroExit", "exit code 1", image="tools/scratch:v1", command=[], exit_code=1
    ),
    "words of a user who is not root": case(
        "echo NotRoot >/dev/reason; /bin/busybox id -u >/dev/message; echo 1 >/workflow/mine; exit 1",
        "NotRoot", "1000", image="tools/user:v1", exit_code=1,
    ),
    "the appliance's authority, for any user": case(
        '/bin/busybox grep -q BEGIN "$TINKBOX_CA" && ! (echo x >>"$TINKBOX_CA") 2>/dev/null && echo "$TINKBOX_HTTPS_SERVER" >/dev/message; exit 7',
        "NonZeroExit", "https://127.0.0.1:", image="tools/user:v1", exit_code=7,
    ),
    "words under the machine's dev": case(
        "echo InDev >/dev/reason; exit 1", "InDev", "exit code 1", volumes=["/dev:/dev"], exit_code=1
    ),
    "words under the machine's dev, read-only": case(
        "echo InDev >/dev/reason; echo still >/dev/message; exit 1", "InDev", "still", volumes=["/dev:/dev:ro"],
        exit_code=1,
    ),
    "time that is up": case(
        "echo Slow >/dev/reason; echo stuck; " + WAIT.format("never"), "Timeout",
        "the action did not end within 15 seconds; the action said: Slow", state="TIMEOUT", timeout=15,
    ),
}  # fmt: skip


FOLDER = re.compile(r" --data \S+")  # of the appliance, in commands


@pytest.mark.parametrize("name", CASES)
def test_each_end_has_its_own_reason_and_a_message_for_people(lab: Lab, name: str) -> None:
    wanted = CASES[name]
    workflow = lab.workflow(wanted.script, **wanted.options)
    assert lab.finished(workflow) == wanted.state
    told = lab.told(workflow)
    assert (told["reason"], told["exit_code"], told["signal"]) == (wanted.reason, wanted.exit_code, wanted.signal)
    assert wanted.message in told["message"]
    if wanted.hint is not None:
        assert FOLDER.sub("", told["hint"]) == wanted.hint
        # Where its output is, stands there with the workflow's key.
        shown = "workflow logs" if wanted.hint == Reason.NON_ZERO_EXIT.hint else wanted.hint.partition(";")[0]
        assert shown in FOLDER.sub("", lab.tinkbox("workflow", "state", workflow))
    for shown in (lab.tinkbox("workflow", "state", workflow), lab.tinkbox("status")):
        assert wanted.reason in shown
        assert "\x1b" not in shown


def test_a_registry_that_accepts_and_says_nothing(lab: Lab) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        host = f"127.0.0.1:{silent.getsockname()[1]}"
        workflow = lab.workflow("true", image=f"{host}/tools/x:v1", timeout=3)
        assert lab.finished(workflow) == "TIMEOUT"
    told = lab.told(workflow)
    assert told["reason"] == "Timeout"
    assert f"waiting for: pulling {host}/tools/x:v1 from {host}, no answer for " in told["message"]


def test_an_exit_and_a_signal_are_told_apart_by_the_helper(lab: Lab, request: pytest.FixtureRequest) -> None:
    helped = "helped" in request.node.name
    crash = "/bin/busybox sh -c 'kill -SEGV $$'"
    exits = {"exit 143": (143, "SIGTERM"), f"{crash}; exit $?": (139, "SIGSEGV")}
    # Process 1 of a container does not end itself so.
    signals = {f"exec {crash}": (139, "SIGSEGV")} if helped else {}
    for script, (code, signal) in (exits | signals).items():
        workflow = lab.workflow(script)
        assert lab.finished(workflow) == "FAILED"
        told = lab.told(workflow)
        wanted = ("NonZeroExit", "") if helped and script in exits else ("Signal", signal)
        assert (told["exit_code"], told["reason"], told["signal"]) == (code, *wanted), script


def test_namespaces_and_volumes_are_given_as_the_engine_takes_them(lab: Lab) -> None:
    alone = "test $(/bin/busybox tail -n +3 /proc/net/dev | /bin/busybox wc -l) = 1 && "
    written = "echo kept >/kept/file && echo gone >/gone/file && "
    options = {"volumes": ["kept:/kept", "/gone", "/tmp:/ro:ro,z"], "namespaces": {"network": "none", "pid": "host"}}
    first = alone + written + "! echo x >/ro/file 2>/dev/null && test $$ != 1"
    second = "/bin/busybox grep -q kept /kept/file && test ! -e /gone/file"
    workflow = lab.workflow(first.replace("test $(", "/bin/busybox test $("), second, **options)
    assert lab.finished(workflow) == "SUCCESS", lab.told(workflow)
    lab.engine.cli("volume", "rm", "kept")
    assert lab.engine.cli("volume", "ls", "-q").stdout == ""


def test_a_network_that_the_engine_does_not_have(lab: Lab) -> None:
    for network, reason, message in (
        ("bridge", "CreateFailed", "this machine's Docker engine runs without a bridge"),
        ("nowhere", "StartFailed", "network nowhere not found"),
    ):
        workflow = lab.workflow("true", namespaces={"network": network})
        assert lab.finished(workflow) == "FAILED"
        told = lab.told(workflow)
        assert (told["reason"], message in told["message"]) == (reason, True), told


def test_memory_that_runs_out(lab: Lab) -> None:
    script = "echo Greedy >/dev/reason; echo >/marks/greedy\n" + WAIT.format("eat") + "exec /bin/busybox tail /dev/zero"
    workflow = lab.workflow(script)
    until(lambda: lab.marked("greedy"), "the action")
    (container,) = running(lab)
    lab.engine.cli("update", "--memory", "16m", "--memory-swap", "16m", container)
    lab.allow("eat")
    assert lab.finished(workflow) == "FAILED"
    told = lab.told(workflow)
    assert (told["reason"], told["signal"]) == ("OutOfMemory", "SIGKILL")
    assert "memory ran out; the action said: Greedy" in told["message"]


def test_a_kill_from_outside(lab: Lab) -> None:
    workflow = lab.workflow("echo >/marks/target\n" + WAIT.format("never"))
    until(lambda: lab.marked("target"), "the action")
    lab.engine.cli("kill", *running(lab))
    assert lab.finished(workflow) == "FAILED"
    told = lab.told(workflow)
    assert (told["reason"], told["signal"], told["exit_code"]) == ("Signal", "SIGKILL", 137)
    assert "somebody on the machine had its Docker engine do that" in told["message"]


NAMED = """\
fail() {{ echo "$1" >/dev/message; exit 1; }}
list() {{ /bin/busybox find /workflow -mindepth 1; }}
own=/workflow/$TINKBOX_WORKFLOW
{}
"""
FIRST = """
test -z "$(list)" || fail "not empty: $(list)"
echo one >$own/file && test "$(/bin/busybox cat /workflow/file)" = one || fail "not the same"
/bin/busybox mkdir /workflow/folder && echo two >/workflow/folder/file
/bin/busybox rm -rf /workflow/* || fail "not removed"
test -z "$(/bin/busybox ls -A $own)" || fail "not gone"
echo kept >/workflow/kept
"""
SECOND = """
test "$(list)" = /workflow/kept || fail "$(list)"
test "$(/bin/busybox cat $own/kept)" = kept || fail "not kept"
"""


@pytest.mark.parametrize("image", ["tools/sh:v1", "tools/user:v1"])
def test_the_data_has_two_names_and_lists_none_of_them(lab: Lab, image: str) -> None:
    workflow = lab.workflow(NAMED.format(FIRST), NAMED.format(SECOND), NAMED.format(SECOND), image=image)
    assert lab.finished(workflow) == "SUCCESS", lab.told(workflow)
    listed = lab.tinkbox("workflow", "data", workflow, "--list")
    assert "kept" in listed
    assert workflow not in listed


def test_a_path_of_the_machine_that_is_not_there_is_made_as_an_empty_folder(lab: Lab) -> None:
    workflow = lab.workflow('test -z "$(/bin/busybox ls -A /x)"', volumes=[f"{lab.marks}/made:/x"])
    assert lab.finished(workflow) == "SUCCESS"
    (lab.marks / "made").rmdir()


def test_a_container_that_somebody_removes(lab: Lab) -> None:
    workflow = lab.workflow("echo Own >/dev/reason; echo >/marks/removed\n" + WAIT.format("never"))
    until(lambda: lab.marked("removed"), "the action")
    lab.engine.cli("rm", "-f", *running(lab))
    assert lab.finished(workflow) == "FAILED"
    told = lab.told(workflow)
    assert (told["reason"], told["signal"], told["exit_code"]) == ("ContainerLost", "", None)
    # The engine says it in two ways: it may be gone before it is asked.
    assert told["message"].startswith("its container was removed while it ran")
    assert told["message"].endswith("; the action said: Own")


def test_an_image_that_was_damaged_on_the_appliances_disk(lab: Lab) -> None:
    content = b"will be damaged"
    lab.image("tools/damaged:v1", {"file": content}, 'CMD ["/file"]')
    blobs = [path for path in lab.configuration.data.rglob("*") if path.is_file() and "sha256" in path.parts]
    (blob,) = [path for path in blobs if content in path.read_bytes()]
    blob.write_bytes(blob.read_bytes().replace(content, content.upper()))
    workflow = lab.workflow("", image="tools/damaged:v1", command=[])
    assert lab.finished(workflow) == "FAILED"
    assert lab.told(workflow)["reason"] == "ImageCorrupt"


@pytest.mark.parametrize(
    ("kind", "reason"), [("403", "ImageNotAllowed"), ("alien", "WrongPlatform"), ("503", "RegistryUnreachable")]
)
async def test_what_another_registry_does_not_give(lab: Lab, kind: str, reason: str) -> None:
    async with bad_registry() as host:
        workflow = await asyncio.to_thread(lab.workflow, "true", image=f"{host}/{kind}/image:v1")
        assert await asyncio.to_thread(lab.finished, workflow) == "FAILED"
    told = await asyncio.to_thread(lab.told, workflow)
    assert told["reason"] == reason


def test_too_much_data_leaves_the_version_before_it(lab: Lab) -> None:
    fill = "/bin/busybox dd if=/dev/zero of=/workflow/huge.img bs=1M count=11 2>/dev/null; exit 5"
    workflow = lab.workflow("echo one >/workflow/small", fill)
    assert lab.finished(workflow) == "FAILED"
    told = lab.told(workflow)
    assert (told["reason"], told["exit_code"]) == ("NonZeroExit", 5)
    assert "its data was not kept" in told["message"]
    assert "huge.img" in told["message"]
    assert "version: 1" in lab.tinkbox("workflow", "data", workflow, "-l")


def test_every_reason_met_here_has_a_hint(lab: Lab) -> None:
    own = {"DiskTooSmall", "First", "Flooded", "NotRoot", "InDev", "Own", ""}
    met = {each.reason for each in CASES.values()} - own
    assert met <= set(Reason)
    listed = json.loads(lab.tinkbox("workflow", "list", "--format", "json"))
    assert len(listed) >= len(CASES)


def running(lab: Lab) -> list[str]:
    """The containers that run, as soon as the engine says so: what runs in one may leave its mark before."""
    found = list[str]()

    def look() -> bool:
        found[:] = lab.engine.cli("ps", "-q").stdout.split()
        return bool(found)

    until(look, "the engine to say that the action runs")
    return found


def test_beside_the_engine_a_flood_of_words_is_stopped_at_64_kib_and_the_data_has_its_names(
    tmp_path: Path, docker_engine: DockerEngine
) -> None:
    lab = Lab(tmp_path, configure(tmp_path), docker_engine)
    with serving(lab.configuration):
        lab.prepare()
        with lab.working(beside_engine=True):
            workflow = lab.workflow(FLOOD + "echo StillHere >/dev/reason; exit 1", "true")
            assert lab.finished(workflow) == "FAILED"
            told = lab.told(workflow)
            named = lab.workflow(NAMED.format(FIRST), NAMED.format(SECOND))
            assert lab.finished(named) == "SUCCESS", lab.told(named)
    assert told["reason"] == "StillHere"
    assert "(cut: it wrote 65536 bytes" in told["message"]
