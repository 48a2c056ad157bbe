import asyncio
import errno
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

import pytest

from tests.unit.worker.actions import CREDENTIAL, HOOKED, IMAGE, OFFER, machine, tells
from tests.unit.worker.fakes import AWAY, FakeDoor, FakeRuntime, Faults, Finished, Killed, lives_until_finished
from tests.unit.worker.programs import Program
from tinkbox.model.errors import Conflict, Denied, Invalid, NotFound, TooLarge
from tinkbox.model.reasons import Reason
from tinkbox.model.workflow import Outcome, State
from tinkbox.runtime import Container, ContainerFailed, ContainerSpec
from tinkbox.wire.messages.worker import Credential, Offer, Report, encode
from tinkbox.worker.files.credential_file import read_credential
from tinkbox.worker.main import serve, serve_and_host, work

STORIES = {
    "success": (Program(output=b"one\ntwo\nthree\n"), Program()),
    "failure": (Program(output=b"one\n", exit_code=3, work=tells("Broken", "why")), Program(output=b"repaired\n")),
    "refused": (Program(error="no such file"), Program(output=b"repaired\n")),
}
EXPECTED = {"success": b"one\ntwo\nthree\n", "failure": b"one\nrepaired\n", "refused": b"repaired\n"}


@dataclass
class Told:
    """How a story went; `lives` counts the workers it took."""

    outcome: Outcome
    runtime: FakeRuntime
    door: FakeDoor
    lives: int

    def calls(self, where: str) -> int:
        return len((self.runtime if where == "engine" else self.door).faults.calls)


async def tell(story: str, folder: Path, where: str, faults: Faults) -> Told:
    """A story in which something goes wrong at the engine or at the appliance; a killed worker is started again."""
    program, repair = STORIES[story]
    runtime = FakeRuntime({IMAGE: program, f"{IMAGE} repair": repair})
    door = FakeDoor([replace(OFFER, attempt=attempt, action=HOOKED) for attempt in ("a1", "a2")])
    (runtime if where == "engine" else door).faults = faults
    lives = await lives_until_finished(lambda: serve(machine(runtime, door, folder), door))
    outcome = door.reports["a1"].outcome
    assert replace(door.reports["a2"].outcome, tail=()) == replace(outcome, tail=())
    return Told(outcome, runtime, door, lives)


@pytest.mark.parametrize("story", STORIES)
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("where", ["engine", "appliance"])
async def test_a_worker_killed_at_any_call_goes_on_and_the_action_runs_once(
    story: str, after: bool, where: str, tmp_path: Path
) -> None:
    undisturbed = await tell(story, tmp_path / "undisturbed", where, Faults())
    assert undisturbed.calls(where) >= 4
    for at in range(undisturbed.calls(where)):
        told = await tell(story, tmp_path / str(at), where, Faults(Killed(), at, after))
        assert told.calls(where) > at
        assert replace(told.outcome, tail=()) == replace(undisturbed.outcome, tail=())
        assert_ran_once(story, told)


@pytest.mark.parametrize("story", STORIES)
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("where", "error"), [("engine", AWAY[0]), ("appliance", AWAY[1])])
async def test_an_engine_or_appliance_away_at_any_call_changes_nothing(
    story: str, after: bool, where: str, error: Exception, tmp_path: Path
) -> None:
    undisturbed = await tell(story, tmp_path / "undisturbed", where, Faults())
    for at in range(undisturbed.calls(where)):
        told = await tell(story, tmp_path / str(at), where, Faults(error, at, after))
        assert (told.lives, told.outcome) == (1, undisturbed.outcome)
        assert told.runtime.containers == {}
        assert_ran_once(story, told)


def assert_ran_once(story: str, told: Told) -> None:
    assert told.runtime.starts() == (0 if story == "refused" else 2)
    assert told.runtime.starts("on-failure") == (0 if story == "success" else 2)
    assert told.door.printed == {"a1": EXPECTED[story], "a2": EXPECTED[story]}


async def test_without_an_engine_nothing_is_begun_and_the_engine_is_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tinkbox.worker.main.BEGIN_SECONDS", 0.05)
    monkeypatch.setattr("tinkbox.worker.attempts.retrying.BEGIN_SECONDS", 0.0)
    runtime = FakeRuntime({IMAGE: Program(), f"{IMAGE} repair": Program()})
    runtime.away = True
    door = FakeDoor([replace(OFFER, attempt=attempt, action=HOOKED) for attempt in ("a1", "a2")])
    with pytest.raises(Finished):
        await serve(machine(runtime, door, tmp_path), door)
    told = [report.outcome for report in door.reports.values()]
    assert [(each.state, each.reason) for each in told] == [(State.FAILED, Reason.ENGINE_GONE)] * 2
    assert [each.message for each in told] == ["the action was not begun: the engine is away"] * 2, (
        "what is seen of it is named"
    )
    runtime.away = False
    door.offers = [replace(OFFER, attempt="a3", action=HOOKED)]
    with pytest.raises(Finished):
        await serve(machine(runtime, door, tmp_path), door)
    assert door.reports["a3"].outcome.state is State.SUCCESS
    assert (runtime.starts(), runtime.starts("on-failure")) == (1, 0)


async def test_an_engine_that_goes_between_two_actions_is_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tinkbox.worker.attempts.retrying.BEGIN_SECONDS", 0.0)
    runtime = FakeRuntime({IMAGE: Program(), f"{IMAGE} repair": Program()})

    class Breaking(FakeDoor):
        async def data(self, attempt: str) -> bytes:
            runtime.away = True
            return await super().data(attempt)

    door = Breaking([replace(OFFER, action=HOOKED)])
    with pytest.raises(Finished):
        await serve(machine(runtime, door, tmp_path), door)
    outcome = door.reports["a1"].outcome
    assert (outcome.state, outcome.reason) == (State.FAILED, Reason.ENGINE_GONE)
    assert runtime.starts() == 0


async def test_what_runs_without_its_engine_is_waited_for_by_the_next_worker_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime, door = FakeRuntime({IMAGE: Program()}), FakeDoor([OFFER])
    undisturbed = FakeRuntime({IMAGE: Program()})
    with pytest.raises(Finished):
        await serve(machine(undisturbed, FakeDoor([OFFER]), tmp_path / "undisturbed"), FakeDoor([OFFER]))
    runtime.faults = Faults(Killed(), undisturbed.faults.calls.index("start"), after=True)
    with pytest.raises(BaseExceptionGroup):
        await serve(machine(runtime, door, tmp_path), door)
    monkeypatch.setattr("tinkbox.worker.main.BEGIN_SECONDS", 0.0)
    monkeypatch.setattr("tinkbox.worker.attempts.retrying.BEGIN_SECONDS", 0.0)
    runtime.faults = Faults(AWAY[0], 0)
    with pytest.raises(Finished):
        await serve(machine(runtime, door, tmp_path), door)
    assert door.reports["a1"].outcome.state is State.SUCCESS
    assert runtime.starts() == 1


async def test_offers_are_worked_on_one_after_the_other(tmp_path: Path) -> None:
    offers = [replace(OFFER, attempt=f"a{number}") for number in range(1, 4)]
    runtime, door = FakeRuntime({IMAGE: Program(output=b"x")}), FakeDoor(offers)
    with pytest.raises(Finished):
        await serve(machine(runtime, door, tmp_path), door)
    assert list(door.reports) == ["a1", "a2", "a3"]
    assert {(report.workflow_id, report.boot_id) for report in door.reports.values()} == {("w1", "boot-1")}
    assert runtime.starts() == 3


async def test_the_worker_ends_when_an_action_asked_for_a_reboot_and_was_acknowledged(tmp_path: Path) -> None:
    def work(spec: ContainerSpec) -> None:
        (tmp_path / "reboot").touch()

    offers = [OFFER, replace(OFFER, attempt="a2")]
    door = FakeDoor(offers, Faults(AWAY[1], 3))
    await serve(machine(FakeRuntime({IMAGE: Program(work=work)}), door, tmp_path), door)
    assert list(door.reports) == ["a1"]
    assert door.offers == offers[1:]


@pytest.mark.parametrize("error", [Conflict("too late"), NotFound("no such attempt")])
async def test_a_report_that_nobody_wants_is_given_up_and_the_worker_goes_on(error: Exception, tmp_path: Path) -> None:
    class Stale(FakeDoor):
        async def report(self, attempt: str, report: Report) -> Offer | None:
            self.offers = self.offers[1:]
            raise error

    runtime, door = FakeRuntime({IMAGE: Program()}), Stale([OFFER, replace(OFFER, attempt="a2")])
    with pytest.raises(Finished):
        await serve(machine(runtime, door, tmp_path), door)
    assert runtime.starts() == 2
    assert runtime.containers == {}


@pytest.mark.parametrize("error", [Denied("unknown token"), Invalid("?"), TooLarge("?"), AWAY[1]])
async def test_a_report_is_sent_again_until_it_is_answered(error: Exception, tmp_path: Path) -> None:
    class Refusing(FakeDoor):
        refusals = 3

        async def report(self, attempt: str, report: Report) -> Offer | None:
            if self.refusals:
                self.refusals -= 1
                raise error
            return await super().report(attempt, report)

    runtime, door = FakeRuntime({IMAGE: Program()}), Refusing([OFFER])
    with pytest.raises(Finished):
        await serve(machine(runtime, door, tmp_path), door)
    assert door.reports["a1"].outcome.state is State.SUCCESS
    assert runtime.starts() == 1


@pytest.mark.parametrize("error", [Denied("unknown token"), NotFound("?"), Conflict("?"), Invalid("?"), TooLarge("?")])
async def test_whatever_the_appliance_answers_the_worker_asks_again(
    error: Exception, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    door = FakeDoor([OFFER], Faults(error, 0))
    with pytest.raises(Finished), caplog.at_level(logging.WARNING):
        await serve(machine(FakeRuntime({IMAGE: Program()}), door, tmp_path), door)
    assert door.reports["a1"].outcome.state is State.SUCCESS
    assert str(error) in caplog.text


def test_a_credential_is_read_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "worker.json"
    path.write_text(encode(CREDENTIAL))
    assert read_credential(path) == CREDENTIAL


@pytest.mark.parametrize(
    ("server", "used"),
    [(None, CREDENTIAL.server), ("http://other:8080", "http://other:8080"), ("http://other/", "http://other")],
)
def test_another_server_can_be_named_with_or_without_a_slash(
    server: str | None, used: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    identities: list[Credential] = []

    async def note(credential: Credential, docker: str, data: Path, *, privileged: bool, debug: bool) -> int:
        identities.append(credential)
        return 0

    monkeypatch.setattr("tinkbox.worker.main._work", note)
    path = tmp_path / "worker.json"
    path.write_text(encode(CREDENTIAL))
    assert work(server, path, None, tmp_path, privileged=True, debug=True) == 0
    assert identities == [replace(CREDENTIAL, server=used)]


@pytest.mark.parametrize(
    "server", ["172.30.0.1:8080", "172.30.0.1", "http://", "tinkbox.lan", "ftp://a", "http://a:x", "http://[1"]
)
def test_what_names_no_host_is_refused_at_once_with_the_form_of_a_url(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("tinkbox.worker.main._work")
    path = tmp_path / "worker.json"
    path.write_text(encode(CREDENTIAL))
    for given, written in ((server, CREDENTIAL), (None, replace(CREDENTIAL, server=server))):
        path.write_text(encode(written))
        with pytest.raises(Invalid, match=r"is no URL of an appliance: write it as http://HOST:PORT") as refused:
            work(given, path, None, tmp_path, privileged=True, debug=True)
        assert refused.value.args[0].startswith(f"'{server.rstrip('/') if given else server}'")


@pytest.mark.parametrize(("said", "started"), [("kexec\n", 1), ("reboot\n", 0)])
def test_a_kernel_that_an_action_loaded_is_started_when_all_is_told(
    said: str, started: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[str] = []

    async def serve_until_told(*_: object, **__: object) -> int:
        calls.append("told")
        (tmp_path / "reboot").write_text(said)
        return 0

    def refuse() -> None:
        calls.append("started")
        raise OSError(errno.EINVAL, "nothing is loaded")

    monkeypatch.setattr("tinkbox.worker.main._work", serve_until_told)
    monkeypatch.setattr("tinkbox.worker.main.start_loaded_kernel", refuse)
    path = tmp_path / "worker.json"
    path.write_text(encode(CREDENTIAL))
    # The OSIE reboots a machine whose worker returns.
    assert work(None, path, None, tmp_path, privileged=True, debug=True) == 0
    assert calls == ["told", *["started"] * started]
    assert ("nothing is loaded" in caplog.text) == bool(started)


def test_a_missing_or_bad_credential_says_how_to_make_one(tmp_path: Path) -> None:
    path = tmp_path / "worker.json"
    with pytest.raises(NotFound, match="tinkbox hardware credential MAC"):
        read_credential(path)
    for text in ("", "[]", json.dumps({"server": "http://x"}), encode(CREDENTIAL)[:-5]):
        path.write_text(text)
        with pytest.raises(Invalid, match=str(path)):
            read_credential(path)


async def test_nothing_of_an_attempt_that_the_appliance_ended_runs_beside_the_next(tmp_path: Path) -> None:
    def alone(spec: ContainerSpec) -> None:
        assert list(runtime.containers.values()) == [each for each in runtime.containers.values() if each.spec is spec]

    runtime, door = FakeRuntime({IMAGE: Program(lasts=True)}), FakeDoor([OFFER])
    runtime.faults = Faults(Killed(), 5)
    with pytest.raises(BaseExceptionGroup):
        await serve(machine(runtime, door, tmp_path), door)
    assert len(runtime.containers) == 1
    runtime.programs[IMAGE] = Program(work=alone)
    door.offers = [replace(OFFER, attempt="a2")]
    with pytest.raises(Finished):
        await serve(machine(runtime, door, tmp_path), door)
    assert door.reports["a2"].outcome.state is State.SUCCESS
    assert (runtime.containers, machine(runtime, door, tmp_path).folder.notes.unfinished()) == ({}, [])


async def test_a_machine_that_waits_to_reboot_reports_first_however_often_its_worker_is_started(tmp_path: Path) -> None:
    (tmp_path / "reboot").touch()
    runtime, door = FakeRuntime({IMAGE: Program()}), FakeDoor([OFFER])
    place = machine(runtime, door, tmp_path)
    place.folder.notes.begin("a1")
    await serve(place, door)
    assert list(door.reports) == ["a1"]
    assert door.hello is not None
    assert door.hello.finishing
    place.folder.notes.begin("an attempt that nobody wants")
    await serve(place, door)
    assert place.folder.notes.unfinished() == []


async def test_what_an_action_says_steers_no_console(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    words = tells("Broken", "first\n\x1b[31mred" + "x" * 5000)
    runtime, door = FakeRuntime({IMAGE: Program(exit_code=1, work=words)}), FakeDoor([OFFER])
    with pytest.raises(Finished), caplog.at_level(logging.INFO):
        await serve(machine(runtime, door, tmp_path), door)
    (said,) = [record.getMessage() for record in caplog.records if "Broken" in record.getMessage()]
    assert said.startswith("write: FAILED: Broken: first  [31mred")
    assert len(said) < 600


class FakeHost:
    """Runs until it is cancelled, or until `crash` is raised."""

    def __init__(self, crash: Exception | None = None) -> None:
        self.crash = crash
        self.runs = asyncio.Event()
        self.cancelled = False

    async def run(self) -> NoReturn:
        self.runs.set()
        if self.crash is not None:
            raise self.crash
        try:
            while True:
                await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise


async def test_services_are_hosted_beside_the_actions_until_the_machine_goes_away(tmp_path: Path) -> None:
    host = FakeHost()

    def work(spec: ContainerSpec) -> None:
        assert host.runs.is_set()
        assert not host.cancelled
        (tmp_path / "reboot").touch()

    labels = {"tinkbox.host": CREDENTIAL.worker, "tinkbox.run": "r1"}
    runtime, door = FakeRuntime({IMAGE: Program(work=work)}), FakeDoor([OFFER])
    await runtime.pull(IMAGE)
    service = await runtime.create(ContainerSpec(image=IMAGE, labels=labels))
    async with asyncio.timeout(30):
        await serve_and_host(machine(runtime, door, tmp_path), door, host)
    assert host.cancelled
    assert list(door.reports) == ["a1"]
    assert set(runtime.containers) == {service.id}, "a service runs on as long as the machine does"


async def test_a_host_of_services_that_crashes_ends_the_worker_so_that_it_is_started_again(tmp_path: Path) -> None:
    runtime, door = FakeRuntime({IMAGE: Program(lasts=True)}), FakeDoor([OFFER])
    async with asyncio.timeout(30):
        with pytest.raises(ExceptionGroup) as crash:
            await serve_and_host(machine(runtime, door, tmp_path), door, FakeHost(RuntimeError("broken")))
    assert crash.group_contains(RuntimeError, match="broken")


async def test_what_comes_next_is_told_with_the_answer_to_the_report(tmp_path: Path) -> None:
    offers = [replace(OFFER, attempt=f"a{number}") for number in range(1, 4)]
    runtime, door = FakeRuntime({IMAGE: Program()}), FakeDoor(offers)
    with pytest.raises(Finished):
        await serve(machine(runtime, door, tmp_path), door)
    asked = [call for call in door.faults.calls if call in ("next", "report")]
    assert asked[:5] == ["next", "report", "report", "report", "next"]


class Sought(FakeRuntime):
    """Counts how often somebody looked for all containers of the worker; some cannot be removed at first."""

    times, stay = 0, False

    async def find(self, labels: Mapping[str, str]) -> list[Container]:
        self.times += "tinkbox.worker" in labels
        return await super().find(labels)

    async def remove(self, container_id: str) -> None:
        if self.stay:
            self.stay = False
            raise ContainerFailed(Reason.CREATE_FAILED, "it is busy")
        await super().remove(container_id)


@pytest.mark.parametrize(("code", "stay", "times"), [(0, False, 1), (3, False, 2), (0, True, 2)])
async def test_what_others_left_is_looked_for_unless_the_last_attempt_succeeded_and_left_nothing(
    code: int, stay: bool, times: int, tmp_path: Path
) -> None:
    runtime, door = Sought({IMAGE: Program(exit_code=code)}), FakeDoor([OFFER, replace(OFFER, attempt="a2")])
    runtime.stay = stay
    with pytest.raises(Finished):
        await serve(machine(runtime, door, tmp_path), door)
    assert (runtime.times, runtime.containers) == (times, {})


async def test_nothing_is_left_of_an_action_when_the_next_is_prepared(tmp_path: Path) -> None:
    runtime, door = FakeRuntime({IMAGE: Program()}), FakeDoor([OFFER, replace(OFFER, attempt="a2")])
    with pytest.raises(Finished):
        await serve(machine(runtime, door, tmp_path), door)
    calls = [each for each in runtime.faults.calls if each in ("create", "start", "remove")]
    assert calls == ["create", "start", "remove"] * 2
