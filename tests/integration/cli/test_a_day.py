"""An operator's day: forty machines from a list, installed eight at a time, mended, and carried over to another box."""

import asyncio
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.integration.cli.serving import Configuration, Ended, configure, run_here, serving
from tests.workers import door_of
from tinkbox.model.workflow import Outcome, State
from tinkbox.wire.messages.worker import Credential, Hello, Report

BOOT = "boot-1"
FAILING = {"node3", "node7", "node11"}
TEMPLATE = """\
version: "0.1"
name: ubuntu
global_timeout: 6000
tasks:
  - name: os
    worker: "{{.device_1}}"
    actions:
      - {name: image, image: "actions/image:v1", timeout: 600}
      - {name: configure, image: "actions/configure:v1", timeout: 600}
"""


class Workers:
    """Workers of machines, which take what is offered and report at once; those of `failing` fail at their second action."""

    def __init__(self, failing: set[str]) -> None:
        self.failing = failing
        self.busiest = 0
        self._busy: set[str] = set()

    @contextmanager
    def working(self, credentials: dict[str, Credential]) -> Iterator[None]:
        loop = asyncio.new_event_loop()
        all_of_them = loop.create_task(self._work_all(credentials))
        thread = threading.Thread(target=_run, args=(loop, all_of_them))
        thread.start()
        try:
            yield
        finally:
            loop.call_soon_threadsafe(all_of_them.cancel)
            thread.join()
            loop.close()

    async def _work_all(self, credentials: dict[str, Credential]) -> None:
        async with asyncio.TaskGroup() as group:
            for name, credential in credentials.items():
                group.create_task(self._work(name, credential))

    async def _work(self, name: str, credential: Credential) -> None:
        async with door_of(credential, BOOT) as door:
            while True:
                offer = await door.next(Hello(boot_id=BOOT))
                while offer is not None:
                    self._busy.add(name)
                    self.busiest = max(self.busiest, len(self._busy))
                    index = offer.action.index
                    fails = index == 1 and name in self.failing
                    if index == 1:
                        self._busy.discard(name)
                    offer = await door.report(
                        offer.attempt,
                        Report(workflow_id=offer.workflow_id, boot_id=BOOT, outcome=_outcome(fails=fails)),
                    )


def _run(loop: asyncio.AbstractEventLoop, task: "asyncio.Task[None]") -> None:
    with suppress(asyncio.CancelledError):
        loop.run_until_complete(task)
    # TLS is over when the other side says so as well (RFC 8446 §6.1), and nobody waits for that.
    for each in list(vars(loop)["_transports"].values()):
        each.abort()
    loop.run_until_complete(loop.shutdown_asyncgens())  # they are closed in the next turn


def _outcome(*, fails: bool) -> Outcome:
    if fails:
        return Outcome(state=State.FAILED, exit_code=1, reason="DiskTooSlow", message="the disk answers too slowly")
    return Outcome(state=State.SUCCESS, exit_code=0)


class Box:
    """An appliance, and what is typed for it."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.configuration: Configuration = configure(folder)

    def __call__(self, *words: str, stdin: bytes = b"", status: int = 0) -> str:
        ended: Ended = run_here("--data", str(self.configuration.data), *words, stdin=stdin)
        assert ended.status == status, ended.err
        return ended.out

    def names(self, *words: str) -> list[str]:
        """What a list has, by names."""
        return self(*words, "-o", "name").split()


def rack_list() -> str:
    """Forty machines of two racks."""
    lines = ["name,mac,ip,labels"]
    for number in range(1, 41):
        rack = "r1" if number <= 20 else "r2"
        lines.append(f"node{number},02:00:00:00:00:{number:02x},172.30.0.{number + 10}/24,rack={rack}")
    return "\n".join(lines) + "\n"


def states(box: Box, *words: str) -> dict[str, str]:
    """The states of workflows by the names of their machines."""
    listed = json.loads(box("workflow", "list", "-o", "json", "--limit", "0", *words))
    return {each["machines"][0]["name"]: each["state"] for each in listed}


def test_a_day_with_forty_machines(tmp_path: Path) -> None:
    first, second = Box(tmp_path / "first"), Box(tmp_path / "second")
    machines = tmp_path / "rack.csv"
    machines.write_text(rack_list())
    templates = tmp_path / "templates"
    templates.mkdir()
    data = "".join(f"    {line}\n" for line in TEMPLATE.splitlines())
    (templates / "ubuntu.yaml").write_text(
        "apiVersion: tinkerbell.org/v1alpha1\nkind: Template\nmetadata:\n  name: ubuntu\n  labels: {team: lab}\n"
        f"spec:\n  data: |\n{data}"
    )
    with serving(first.configuration):
        assert "40 machines: 40 made" in first("hardware", "import", str(machines))
        assert "40 machines: 40 unchanged" in first("hardware", "import", str(machines))
        first("hardware", "label", "-l", "rack=r1", "batch=today")
        assert first("apply", "-f", str(templates)) == "template/ubuntu created\n"
        assert first("apply", "-f", str(templates)) == "template/ubuntu unchanged\n"
        selected = first.names("hardware", "list", "-l", "batch=today", "--sort", "name")
        assert selected == [f"node{number}" for number in range(1, 21)], "in the order of their numbers"
        workers = Workers(set(FAILING))
        with workers.working(credentials(first, selected)):
            roll_out(first, workers)
        export = first("export")
    with serving(second.configuration):
        applied = second("apply", "-f", "-", stdin=export.encode())
        assert [line.split()[-1] for line in applied.splitlines()] == ["created"] * 41
        again = second("apply", "-f", "-", stdin=export.encode())
        assert [line.split()[-1] for line in again.splitlines()] == ["unchanged"] * 41
        assert second("export") == export
        assert second.names("hardware", "list", "-l", "batch=today", "--sort", "name") == selected


def credentials(box: Box, names: Sequence[str]) -> dict[str, Credential]:
    return {name: Credential(**json.loads(box("hardware", "credential", name))) for name in names}


def roll_out(box: Box, workers: Workers) -> None:
    """Eight at a time; three fail, and succeed when they are tried again."""
    create = ("workflow", "create", "-t", "ubuntu", "-l", "batch=today", "--max-parallel", "8")
    preview = box(*create, "--dry-run")
    assert "node1, node2, node3" in preview
    box(*create, "--on-failure", "continue", "--yes", "--wait", status=1)
    assert workers.busiest <= 8
    assert states(box) == {
        f"node{number}": "FAILED" if f"node{number}" in FAILING else "SUCCESS" for number in range(1, 21)
    }
    failed = json.loads(box("workflow", "list", "--state", "FAILED", "-o", "json"))
    assert {each["reason"] for each in failed} == {"DiskTooSlow"}
    assert "DiskTooSlow" in box("workflow", "state", "node7")
    (rollout,) = box.names("rollout", "list")
    workers.failing.clear()
    box("rollout", "retry", rollout)
    box("rollout", "watch", rollout)
    assert set(states(box).values()) == {"SUCCESS"}
