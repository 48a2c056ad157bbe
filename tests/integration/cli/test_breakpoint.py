"""`tinkbox breakpoint` against a serving appliance, with a worker that says what a real one says."""

import asyncio
import getpass
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import pytest

from tests.integration.cli.serving import Configuration, Ended, configure, run, run_here, serving
from tests.integration.engine.appliance import HELLO, hardware, mac
from tests.workers import door_of
from tinkbox.model.breakpoint import Kind, Verb
from tinkbox.model.workflow import Outcome, State
from tinkbox.wire.messages.breakpoints import Held, Resumed, Ruling
from tinkbox.wire.messages.worker import Hello, Offer, Report, decode_credential

BROKEN = Outcome(state=State.FAILED, exit_code=3, reason="DiskNotFound", message="no disk")
ENDED = {
    Kind.BEFORE: None,
    Kind.FAILURE: BROKEN,
    Kind.AFTER: Outcome(state=State.SUCCESS, exit_code=0),
}
ME = getpass.getuser()
machines = count(1)


@dataclass
class Lab:
    """A machine with a workflow of two actions on an appliance; `offer` is what its worker was offered last."""

    appliance: Configuration
    workflow: str
    credential: str
    offer: Offer | None = None

    def tinkbox(self, *words: str) -> Ended:
        return run_here("--data", str(self.appliance.data), *words)

    def breakpoint(self, verb: str, *words: str) -> Ended:
        return self.tinkbox("breakpoint", verb, self.workflow, *words)

    def state(self) -> dict[str, object]:
        shown = json.loads(self.tinkbox("workflow", "state", self.workflow, "--format", "json").out)
        return dict(shown)

    def hold(self, kind: Kind = Kind.FAILURE, sequence: int = 1, **said: bool) -> None:
        """Have the worker say that the next action is held."""

        async def held() -> None:
            async with door_of(decode_credential(self.credential)) as door:
                self.offer = self.offer or await door.next(Hello(boot_id="boot-1", debug=True))
                assert self.offer is not None
                outcome = ENDED[kind]
                message = Held(
                    workflow_id=self.offer.workflow_id,
                    boot_id="boot-1",
                    sequence=sequence,
                    kind=kind,
                    outcome=outcome,
                    **said,
                )
                await door.held(self.offer.attempt, message)

        asyncio.run(held())

    def ruling(self) -> Ruling:
        """What the worker is told to do with what is held."""

        async def told() -> Ruling:
            async with door_of(decode_credential(self.credential)) as door:
                assert self.offer is not None
                orders = await door.orders(self.offer.attempt, "")
                assert orders is not None
                assert orders.ruling is not None
                return orders.ruling

        return asyncio.run(told())

    def end(self, outcome: Outcome) -> None:
        """Have the worker say how the action ended."""

        async def ended() -> None:
            async with door_of(decode_credential(self.credential)) as door:
                assert self.offer is not None
                report = Report(workflow_id=self.offer.workflow_id, boot_id="boot-1", outcome=outcome)
                await door.report(self.offer.attempt, report)

        asyncio.run(ended())
        self.offer = None

    def resume(self) -> None:
        """Have the worker say that the action runs again."""

        async def resumed() -> None:
            async with door_of(decode_credential(self.credential)) as door:
                assert self.offer is not None
                message = Resumed(workflow_id=self.offer.workflow_id, boot_id="boot-1", sequence=1)
                await door.resumed(self.offer.attempt, message)

        asyncio.run(resumed())


@pytest.fixture(scope="module")
def appliance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Configuration]:
    configuration = configure(tmp_path_factory.mktemp("appliance"))
    with serving(configuration):
        yield configuration


@pytest.fixture
def lab(appliance: Configuration) -> Lab:
    number = next(machines)
    local = ("--data", str(appliance.data))
    assert run_here(*local, "hardware", "push", stdin=json.dumps(hardware(number)).encode()).status == 0
    if run_here(*local, "template", "get", "hello").status:
        assert run_here(*local, "template", "create", "-n", "hello", stdin=HELLO.encode()).status == 0
    device = json.dumps({"device_1": mac(number)})
    created = run_here(*local, "workflow", "create", "-t", "hello", "-r", device, "--breakpoint", "on-failure")
    assert created.status == 0, created.err
    credential = run_here(*local, "hardware", "credential", mac(number)).out
    return Lab(appliance, created.out.split()[-1], credential)


def test_from_a_failure_to_its_success(lab: Lab) -> None:
    lab.hold()
    state = lab.tinkbox("workflow", "state", lab.workflow).out
    for said in (": HELD", "because it failed", "DiskNotFound", "continue, fail, retry, abort"):
        assert said in state
    assert "  hello world/hello_world  failure  exit 3, DiskNotFound  " in lab.tinkbox("breakpoint", "list").out
    done = lab.breakpoint("continue", "--why", "the disk is there now")
    assert (done.status, done.out) == (
        0, "Continued hello world/hello_world: it counts as success, and the workflow goes on\n",
    )  # fmt: skip
    state = lab.tinkbox("workflow", "state", lab.workflow).out
    assert f"continue by {ME}, being carried out: the disk is there now\n" in state
    assert (": RUNNING\n" in state, "HELD" in state) == (True, False)
    assert lab.ruling().verdict.verb is Verb.CONTINUE
    lab.end(Outcome(state=State.SUCCESS, exit_code=3, reason="DiskNotFound", message="no disk"))
    assert (lab.state()["state"], lab.state()["progress"], lab.state()["current_action"]) == ("RUNNING", 50, "second")
    table = lab.tinkbox("workflow", "events", lab.workflow, "--format", "tink").out
    lines = [[cell.strip() for cell in line.split("|")[5:7]] for line in table.splitlines() if line.startswith("| 0")]
    assert [status for _, status in lines] == ["ACTION_IN_PROGRESS", "ACTION_HELD", "ACTION_HELD", "ACTION_SUCCESS"]
    assert lines[1][0].startswith("Held because it failed (exit 3, DiskNotFound: no disk), until 20")
    assert lines[2][0] == f"{ME}: continue: the disk is there now"


@pytest.mark.parametrize(
    ("words", "kind", "said", "ruled"),
    [
        (["continue"], Kind.BEFORE, "it starts now", Verb.CONTINUE),
        (["continue"], Kind.AFTER, "the workflow goes on", Verb.CONTINUE),
        (["skip"], Kind.BEFORE, "it is left out, and the workflow goes on", Verb.SKIP),
        (["fail"], Kind.BEFORE, "it fails without having started, and the workflow with it", Verb.FAIL),
        (["fail", "-m", "no part"], Kind.FAILURE, "it fails as it ended, and the workflow with it", Verb.FAIL),
        (["fail"], Kind.AFTER, "it fails though it succeeded, and the workflow with it", Verb.FAIL),
        (["retry"], Kind.FAILURE, "it runs again in the same container", Verb.RETRY),
        (["retry", "--fresh"], Kind.AFTER, "it runs again in a new container", Verb.RETRY),
    ],
)
def test_a_verdict_says_what_follows_and_reaches_the_worker(
    lab: Lab, words: list[str], kind: Kind, said: str, ruled: Verb
) -> None:
    lab.hold(kind)
    verb, *rest = words
    done = lab.breakpoint(verb, *rest)
    assert (done.status, done.err, done.out.partition(": ")[2]) == (0, "", f"{said}\n")
    assert (lab.ruling().verdict.verb, lab.ruling().verdict.who) == (ruled, ME)


def test_a_retry_in_a_container_that_is_gone_says_that_it_is_a_new_one(lab: Lab) -> None:
    lab.hold(in_place=False, container=False)
    assert "none to open a shell in" in lab.tinkbox("workflow", "state", lab.workflow).out
    assert lab.breakpoint("retry").out == "Retried hello world/hello_world: it runs again in a new container\n"


def test_a_retry_with_changes_runs_and_the_workflow_goes_on(lab: Lab) -> None:
    lab.hold()
    assert lab.breakpoint("retry", "--env", "DISK=/dev/sdb", "-m", "other disk", "--", "sh", "-c", "exit 0").status == 0
    verdict = lab.ruling().verdict
    assert (verdict.command, verdict.environment) == (("sh", "-c", "exit 0"), {"DISK": "/dev/sdb"})
    lab.resume()
    assert lab.state()["current_action_state"] == "RUNNING"
    lab.end(Outcome(state=State.SUCCESS, exit_code=0))
    assert lab.state()["current_action"] == "second"
    assert "Goes on after 0s at a breakpoint" in lab.tinkbox("workflow", "events", lab.workflow).out


def test_aborting_cancels_the_workflow(lab: Lab) -> None:
    lab.hold()
    assert lab.breakpoint("abort", "-m", "wrong machine").out.endswith(": the workflow is being canceled\n")
    lab.end(Outcome(state=State.CANCELED))
    assert lab.state()["state"] == "CANCELED"


def test_extending_moves_the_deadline(lab: Lab) -> None:
    lab.hold()
    before = lab.state()["held"]
    done = lab.breakpoint("extend", "2h", "-m", "a part is coming")
    assert (done.status, done.out[:42]) == (0, "Extended hello world/hello_world: held unt")
    after = lab.state()["held"]
    assert isinstance(before, dict)
    assert isinstance(after, dict)
    assert after["deadline"] > before["deadline"]


def test_whoever_comes_second_is_told_who_won_and_a_script_sees_it(lab: Lab) -> None:
    lab.hold()
    assert lab.breakpoint("fail").status == 0
    late = lab.breakpoint("continue", "-m", "no, it is fine")
    assert (late.status, late.out, late.err) == (1, "", f"tinkbox: {ME} decided already: fail\n")


@pytest.mark.parametrize("verb", ["continue", "skip", "fail", "retry", "abort", "extend"])
def test_where_nothing_is_held_nothing_is_decided(lab: Lab, verb: str) -> None:
    failed = lab.breakpoint(verb)
    assert (failed.status, failed.out, failed.err.count("\n")) == (1, "", 1)
    assert "is not held" in failed.err


def test_what_fits_no_such_hold_names_what_does(lab: Lab) -> None:
    lab.hold(Kind.BEFORE)
    failed = lab.breakpoint("retry")
    assert (failed.status, "there is continue, skip, fail, abort" in failed.err) == (1, True)


def test_what_is_armed_while_a_workflow_runs_reaches_its_worker(lab: Lab) -> None:
    async def heard() -> tuple[object, object]:
        async with door_of(decode_credential(lab.credential)) as door:
            offer = await door.next(Hello(boot_id="boot-1", debug=True))
            assert offer is not None
            first = await door.orders(offer.attempt, "")
            assert first is not None
            armed = await asyncio.to_thread(lab.breakpoint, "arm", "--after", "hello_world", "--timeout", "2h")
            assert armed.out.endswith(
                "armed on failure, after hello world/hello_world; 2h after the last activity a hold ends by itself: fail\n"
            )
            second = await door.orders(offer.attempt, first.mark)
            assert second is not None
            return first.armed.after, second.armed.after

    assert asyncio.run(heard()) == (False, True)
    assert lab.breakpoint("clear", "--on-failure").out.endswith(
        "armed after hello world/hello_world; 2h after the last activity a hold ends by itself: fail\n"
    )
    assert lab.breakpoint("clear").out.endswith(": nothing is armed\n")
    assert lab.workflow[:8] not in lab.tinkbox("breakpoint", "list").out


@pytest.mark.parametrize("words", [["arm", "--before", "third"], ["clear", "--after", "third"]])
def test_an_action_that_is_not_there_is_told_with_those_that_are(lab: Lab, words: list[str]) -> None:
    failed = lab.breakpoint(*words)
    assert (failed.status, "hello world/hello_world, hello world/second" in failed.err) == (1, True)


def test_a_template_and_breakpoints_that_do_not_fit_create_nothing(lab: Lab) -> None:
    words = ["workflow", "create", "-t", "hello", "-r", json.dumps({"device_1": mac(1)})]
    before = lab.tinkbox("workflow", "list", "-q").out
    failed = lab.tinkbox(*words, "--breakpoint", "before=third")
    assert (failed.status, "third" in failed.err) == (1, True)
    assert lab.tinkbox("workflow", "list", "-q").out == before


def test_whoever_may_only_look_sees_what_is_held_and_decides_nothing(lab: Lab) -> None:
    lab.hold()
    made = lab.tinkbox("token", "create", "anna", "--right", "look", "--right", "attach")
    environment = {
        "TINKBOX_SERVER": f"https://127.0.0.1:{lab.appliance.operator_port}",
        "SSL_CERT_FILE": str(lab.appliance.authority),
        "TINKBOX_TOKEN": made.out.strip(),
    }
    assert lab.workflow[:8] in run("breakpoint", "list", environment=environment).out
    failed = run("breakpoint", "fail", lab.workflow, environment=environment)
    assert (failed.status, failed.out, failed.err.count("\n")) == (1, "", 1)
    assert "anna (look, attach) lacks the right to operate" in failed.err
    assert "`tinkbox token create NAME --right look,operate,attach`" in failed.err


def test_what_labels_of_machines_select_is_decided_and_aborted_only_with_a_yes(lab: Lab) -> None:
    machine = lab.state()["machines"]
    assert isinstance(machine, list)
    assert lab.tinkbox("hardware", "label", machine[0]["id"], "rack=held").status == 0
    nothing = lab.tinkbox("breakpoint", "retry", "-l", "rack=held")
    told = "tinkbox: no held workflow has the labels rack=held: there is nothing to do\n"
    assert (nothing.status, nothing.err) == (0, told), "the workflow that they select is not held"
    lab.hold()
    assert lab.tinkbox("breakpoint", "list", "-l", "rack=held", "--state", "held", "-q").out == f"{lab.workflow}\n"
    unasked = lab.tinkbox("breakpoint", "abort", "-l", "rack=held")
    assert (unasked.status, unasked.out, "breakpoint abort -l rack=held --yes`" in unasked.err) == (1, "", True)
    assert lab.tinkbox("breakpoint", "abort", "-l", "rack=held", "--yes").status == 0
    assert lab.ruling().verdict.verb is Verb.ABORT
    assert lab.tinkbox("breakpoint", "list", "-l", "rack=held", "--state", "held", "-q").out == ""
    lab.end(Outcome(state=State.CANCELED))
