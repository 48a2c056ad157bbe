"""Commands that stay: they show what happens as it happens, over a restart too, and end when told to."""

import asyncio
import json
import re
import select
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import pytest

from tests.integration.api.door import image_archive
from tests.integration.cli.serving import DEADLINE, PROGRAM, ROOT, Configuration, configure, run_here, serving
from tests.integration.engine.appliance import HELLO, hardware, mac
from tests.workers import door_of
from tinkbox.model.workflow import Outcome, State
from tinkbox.wire.ephemeral_data import Entry, encode
from tinkbox.wire.messages.worker import Hello, Report, decode_credential

MACHINE = str(UUID(int=1))


@pytest.fixture
def appliance(tmp_path: Path) -> Iterator[Configuration]:
    """An appliance of one's own: here workflows run, and a machine runs one after another."""
    configuration = configure(tmp_path)
    with serving(configuration):
        yield configuration


@contextmanager
def following(configuration: Configuration, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    command = [*PROGRAM, "--data", str(configuration.data), *arguments]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def line(process: subprocess.Popen[str]) -> str:
    """The next line it prints."""
    assert process.stdout is not None
    return process.stdout.readline()


def workflow(configuration: Configuration) -> str:
    """Create one more workflow; returns its id."""
    local = ("--data", str(configuration.data))
    if run_here(*local, "template", "get", "hello").status:
        assert run_here(*local, "hardware", "push", stdin=json.dumps(hardware(1)).encode()).status == 0
        assert run_here(*local, "template", "create", "-n", "hello", stdin=HELLO.encode()).status == 0
    created = run_here(*local, "workflow", "create", "-t", "hello", "-r", json.dumps({"device_1": mac(1)}))
    return created.out.split()[-1]


def work(configuration: Configuration, state: State = State.SUCCESS, data: Sequence[Entry] = ()) -> None:
    """Do one action as the worker of the machine."""
    credential = run_here("--data", str(configuration.data), "hardware", "credential", mac(1)).out

    async def worked() -> None:
        async with door_of(decode_credential(credential)) as door:
            offer = await door.next(Hello(boot_id="boot-1"))
            assert offer is not None
            await door.output(offer.attempt, 0, f"{offer.action.spec.name} speaks\n".encode())
            if data:
                await door.keep_data(offer.attempt, encode(data))
            outcome = Outcome(state=state, exit_code=0, reason="" if state is State.SUCCESS else "Broken")
            report = Report(workflow_id=offer.workflow_id, boot_id="boot-1", outcome=outcome)
            await door.report(offer.attempt, report)

    asyncio.run(worked())


def test_events_are_watched_without_loss_over_kill_9(tmp_path: Path) -> None:
    configuration = configure(tmp_path)
    with serving(configuration) as process:
        first = workflow(configuration)
        with following(configuration, "events", "watch") as watch:
            assert watch.stdout is not None
            created = []
            while not select.select([watch.stdout], [], [], 0.1)[0]:  # until it is there to watch
                created.append(workflow(configuration))
            seen = [json.loads(line(watch))["workflow_id"]]
            assert seen[0] in created
            assert first not in seen
            process.kill()
            process.wait(DEADLINE)
            with serving(configuration):
                created += [workflow(configuration), workflow(configuration)]
                while seen[-1] != created[-1]:
                    # What is not of a workflow is that the appliance ended without being told to.
                    seen += filter(None, [json.loads(line(watch))["workflow_id"]])
                assert seen == created[created.index(seen[0]) :]


@pytest.mark.parametrize(("state", "status"), [(State.SUCCESS, 0), (State.FAILED, 1)])
def test_watching_a_workflow_ends_with_it(appliance: Configuration, state: State, status: int) -> None:
    workflow_id = workflow(appliance)
    with following(appliance, "workflow", "watch", workflow_id[:8]) as watch:
        assert "workflow.created" in line(watch)
        work(appliance)
        work(appliance, state)
        out, err = watch.communicate(timeout=DEADLINE)
    assert (watch.returncode, err) == (status, "")
    kinds = [each.split()[3] for each in out.splitlines()]
    last = "succeeded" if state is State.SUCCESS else "failed"
    assert kinds == [
        "workflow.started", "action.started", "action.succeeded", "action.started", f"action.{last}", f"workflow.{last}",
    ]  # fmt: skip


def test_output_is_followed_to_the_end_of_the_workflow(appliance: Configuration) -> None:
    workflow_id = workflow(appliance)
    with following(appliance, "workflow", "logs", "-f", workflow_id) as logs:
        work(appliance)
        assert line(logs) == "hello_world speaks\n"
        work(appliance)
        out, err = logs.communicate(timeout=DEADLINE)
    assert (logs.returncode, out) == (0, "second speaks\n")
    assert err == "==> hello world / hello_world <==\n==> hello world / second <==\n"


def test_output_is_followed_without_loss_or_repetition_over_kill_9(tmp_path: Path) -> None:
    configuration = configure(tmp_path)
    with serving(configuration) as process:
        workflow_id = workflow(configuration)
        with following(configuration, "workflow", "logs", "-f", workflow_id) as logs:
            work(configuration)
            assert line(logs) == "hello_world speaks\n"
            process.kill()
            process.wait(DEADLINE)
            with serving(configuration):
                work(configuration)
                out, err = logs.communicate(timeout=DEADLINE)
    assert (logs.returncode, out) == (0, "second speaks\n")
    assert [each for each in err.splitlines() if not each.endswith("; trying again")] == [
        "==> hello world / hello_world <==", "==> hello world / second <==",
    ]  # fmt: skip


def test_a_workflow_that_failed_is_retried_and_watched_to_its_success(appliance: Configuration) -> None:
    local = ("--data", str(appliance.data))
    workflow_id = workflow(appliance)
    work(appliance, State.FAILED)
    assert run_here(*local, "workflow", "watch", workflow_id).status == 1
    shown = run_here(*local, "workflow", "state", workflow_id).out
    assert re.search(r"^Reason: +Broken$", shown, re.MULTILINE)
    assert run_here(*local, "workflow", "retry", workflow_id, "--from", "hello_world").status == 0
    with following(appliance, "workflow", "watch", workflow_id) as watch:
        work(appliance)
        work(appliance)
        out, _ = watch.communicate(timeout=DEADLINE)
    assert watch.returncode == 0
    assert [each.split()[3] for each in out.splitlines()][-5:] == [
        "action.started", "action.succeeded", "action.started", "action.succeeded", "workflow.succeeded",
    ]  # fmt: skip
    document = json.loads(run_here(*local, "workflow", "get", workflow_id, "--format", "json").out)
    assert [(each["action"], each["number"], each["state"]) for each in document["attempts"]] == [
        ("hello_world", 1, "FAILED"), ("hello_world", 2, "SUCCESS"), ("second", 1, "SUCCESS"),
    ]  # fmt: skip


def test_a_canceled_workflow_lets_the_next_one_begin(appliance: Configuration) -> None:
    local = ("--data", str(appliance.data))
    first, second = workflow(appliance), workflow(appliance)
    assert run_here(*local, "workflow", "cancel", first).out == f"Canceled Workflow:  {first}\n"
    assert run_here(*local, "workflow", "watch", first).status == 1
    work(appliance)
    work(appliance)
    assert run_here(*local, "workflow", "watch", second).status == 0
    again = run_here(*local, "workflow", "cancel", first)
    assert (again.status, again.err.count("\n")) == (1, 1)


def test_data_is_listed_and_saved(appliance: Configuration, tmp_path: Path) -> None:
    local = ("--data", str(appliance.data))
    workflow_id = workflow(appliance)
    work(appliance, data=[Entry(path="bin", mode=0o755), Entry(path="bin/x", content=b"\x00\xff", mode=0o755)])
    listed = run_here(*local, "workflow", "data", workflow_id, "--list", "--format", "csv", "--no-headers").out
    assert [each.split(",")[:4] for each in listed.splitlines()] == [
        ["1", "bin", "", "folder"], ["1", "bin/x", "2", "file"],
    ]  # fmt: skip
    saved = run_here(*local, "workflow", "data", workflow_id, "--save", str(tmp_path / "saved"))
    assert (saved.status, saved.err) == (0, "")
    assert (tmp_path / "saved" / "bin" / "x").read_bytes() == b"\x00\xff"
    again = run_here(*local, "workflow", "data", workflow_id, "--save", str(tmp_path / "saved"))
    assert again.status == 1
    assert "nothing is overwritten" in again.err


@pytest.mark.parametrize(
    "command",
    [["workflow", "logs", "-f"], ["workflow", "watch"], ["hardware", "watch"], ["events", "watch", "--after", "0"]],
)
def test_an_interrupted_command_ends_quietly(appliance: Configuration, command: list[str]) -> None:
    keys = {"workflow": [workflow(appliance)], "hardware": [MACHINE]}.get(command[0], [])
    with following(appliance, *command, *keys) as process:
        if command[1] == "logs":
            work(appliance)
        assert line(process)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == 130
    assert [each for each in err.splitlines() if not each.startswith("==>")] == []


@pytest.mark.parametrize("command", ["workflow watch machine-1", "events watch --after 0"])
def test_a_reader_that_leaves_ends_the_command_quietly(appliance: Configuration, command: str) -> None:
    workflow(appliance)
    with following(appliance, *command.split()) as watch:
        assert line(watch)
        assert watch.stdout is not None
        watch.stdout.close()
        work(appliance)
        assert watch.wait(DEADLINE) == 128 + signal.SIGPIPE, "the workflow is not over"
        assert watch.stderr is not None
        assert watch.stderr.read() == ""


@pytest.mark.parametrize("ends", [signal.SIGPIPE, signal.SIGINT, signal.SIGTERM], ids=lambda each: each.name)
def test_what_changes_many_says_how_many_are_done_when_it_ends_before_them(
    appliance: Configuration, ends: signal.Signals
) -> None:
    local = ("--data", str(appliance.data))
    machines = "".join(f"08:00:27:00:{each // 256:02x}:{each % 256:02x},node{each}\n" for each in range(1, 501))
    imported = run_here(*local, "hardware", "import", "-", "-l", "row=1", stdin=f"mac,name\n{machines}".encode())
    assert imported.status == 0
    with following(appliance, "hardware", "label", "-l", "row=1", "t=x") as labelling:
        assert line(labelling) == "node1: row=1,t=x\n"
        assert labelling.stdout is not None
        if ends is signal.SIGPIPE:
            labelling.stdout.close()
        else:
            labelling.send_signal(ends)
            labelling.stdout.read()
        assert labelling.wait(DEADLINE) == 128 + ends
        assert labelling.stderr is not None
        told = labelling.stderr.read()
    said = re.fullmatch(
        r"tinkbox: (\d+) of 500 (?:was|were) done(?:, and it is uncertain whether node\d+ was)?; "
        r"the others are as they were: type the same again for the rest\n",
        told,
    )
    assert said is not None, told
    labelled = len(run_here(*local, "hardware", "list", "-q", "-l", "t=x").out.splitlines())
    assert labelled - int(said[1]) in ((0, 1) if "uncertain" in told else (0,))


def test_images_are_loaded_listed_and_deleted(appliance: Configuration, tmp_path: Path) -> None:
    local = ("--data", str(appliance.data))
    (tmp_path / "one.tar").write_bytes(image_archive("tools/one:v1"))
    assert run_here(*local, "image", "load", str(tmp_path / "one.tar")).out == "Loaded Image:  tools/one:v1\n"
    assert run_here(*local, "image", "list", "-q").out == "tools/one:v1\n"
    assert "tools/one:v1  container  " in run_here(*local, "image", "list").out
    assert run_here(*local, "image", "delete", "tools/one:v1").status == 0
    assert run_here(*local, "image", "list", "-q").out == ""


def test_the_status_in_a_pipe_is_printed_once(appliance: Configuration) -> None:
    workflow(appliance)
    shown = run_here("--data", str(appliance.data), "status")
    assert shown.status == 0
    assert "machine-1" in shown.out
