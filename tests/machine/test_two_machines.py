"""Two machines at once, one BIOS and one UEFI, on one appliance that is killed meanwhile; and what they learn of each other."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.machine.lab import PATIENCE, Lab, Neighbour, built, hold, hostname, mac, neighbour, shell
from tests.machine.waiting import ONE, TWO, laboratory_with
from tests.workers import opening
from tinkbox.model.boot import Stage
from tinkbox.model.workflow import State
from tinkbox.wire.messages.session import encode

pytestmark = pytest.mark.machine
BIOS, UEFI, GUEST = ONE, TWO, 3
HELLO = json.dumps({"boot_id": "another", "version": ""})
OPERATORS = (
    ("GET", "/v1/status"),
    ("GET", "/v1/events"),
    ("GET", "/v1/hardware"),
    ("POST", "/v1/hardware"),
    ("GET", "/v1/templates"),
    ("POST", "/v1/templates"),
    ("GET", "/v1/workflows"),
    ("POST", "/v1/workflows"),
    ("GET", "/v1/images"),
    ("GET", "/healthz"),
)
# Their actions say that they began, and are held until the test has seen enough.
KILLED_APPLIANCE, KILLED_WORKER = "outlives-the-appliance", "outlives-the-worker"
KILL_WORKER = 'kill -9 -- "-$(cat /osie/worker.pid)"; echo "the worker was killed"'


@dataclass(frozen=True)
class Story:
    """What was seen on the way; `tokens` are the workers' by machine, `attempts` those held, by machine."""

    lab: Lab
    workflows: dict[int, str]
    tokens: dict[int, str]
    attempts: dict[int, str]
    refusals: dict[str, int]
    guest: "Guest"
    at_once: list[State]
    ends: dict[int, State]


@dataclass(frozen=True)
class Guest:
    """What a third host learned with the address and the rights of a machine of its own: statuses by what it asked."""

    own: dict[str, int]
    foreign: dict[str, int]
    credential: dict[str, str]
    offered: str
    script: str


@pytest.fixture(scope="module")
def story(waiting: Path) -> Iterator[Story]:
    with laboratory_with(waiting, [BIOS, UEFI]) as lab:
        lab.load(built("build/images/reboot.tar"))
        lab.push(GUEST)
        reboot = {"name": "reboot", "image": "reboot:v1", "timeout": 300, "volumes": ["/worker:/worker"]}
        workflows = {
            BIOS: lab.workflow(BIOS, shell("look", look()), hold(KILLED_APPLIANCE, lab.gate), reboot),
            UEFI: lab.workflow(
                UEFI, hold(KILLED_WORKER, lab.gate, KILL_WORKER, volumes=["/run/osie:/osie"], pid="host")
            ),
            GUEST: lab.workflow(GUEST, shell("secret", "true")),
        }
        tokens = {
            number: json.loads(lab.appliance.command("hardware", "credential", mac(number)))["token"]
            for number in workflows
        }
        bios, uefi = lab.machines
        lab.gate.wait_for("began", KILLED_APPLIANCE)
        lab.gate.wait_for("began", KILLED_WORKER)
        at_once = [lab.state(workflows[number]).state for number in (BIOS, UEFI)]
        attempts = {number: attempt(lab, workflows[number]) for number in (BIOS, UEFI)}
        with neighbour(lab, GUEST) as host:
            refusals = refused(host, lab, attempts)
            guest = ask_as_guest(host, attempts)

        lab.appliance.kill()
        lab.gate.open(KILLED_APPLIANCE)
        lab.gate.wait_for("ended", KILLED_APPLIANCE)
        lab.appliance.start_again()
        lab.gate.open(KILLED_WORKER)
        ends = {number: lab.ended(workflows[number]).state for number in (BIOS, UEFI)}
        uefi.power_off()
        bios.console.wait_for("nothing to install: booting the local disk", PATIENCE)
        yield Story(lab, workflows, tokens, attempts, refusals, guest, at_once, ends)


def look() -> str:
    """A script that shows what a machine can see from inside: its kernel's command line, and others' files."""
    asked = [*(path for number in (BIOS, UEFI) for path in boot_files(number)), "/v1/status"]
    return f"""
        echo "command line: $(cat /proc/cmdline)"
        for path in {" ".join(asked)}; do
            echo "asked $path: $(wget -q -O /dev/null "$TINKBOX_SERVER$path" 2>&1)"
        done
    """


def boot_files(number: int) -> tuple[str, str]:
    own = f"/boot/{mac(number).replace(':', '-')}"
    return f"{own}/script.ipxe", f"{own}/credential.cpio"


def attempt(lab: Lab, workflow: str) -> str:
    """The token of the attempt that runs."""
    (running,) = (each for each in lab.json("workflow", "get", workflow)["actions"] if each["state"] == "RUNNING")
    return str(running["attempt"])


def refused(host: Neighbour, lab: Lab, attempts: dict[int, str]) -> dict[str, int]:
    """What the node door answers to those who ask for what is the operator's, or without a worker's credential."""
    operator = (lab.appliance.data / "operator.token").read_text().strip()
    statuses = {}
    for method, path in OPERATORS:
        for who, token in (("nobody", ""), ("the operator", operator)):
            body = "{}" if method == "POST" else None
            statuses[f"{method} {path} as {who}"] = host.ask(path, method=method, token=token, body=body).status
    for method, path in worker_paths(attempts[BIOS]):
        for who, token in (("nobody", ""), ("a liar", "x" * 32), ("the operator", operator)):
            body = None if method == "GET" else HELLO
            statuses[f"{method} {path} as {who}"] = host.ask(path, method=method, token=token, body=body).status
    return statuses


def worker_paths(token: str) -> list[tuple[str, str]]:
    one = f"/worker/attempts/{token}"
    return [
        ("POST", "/worker/next"),
        ("POST", f"{one}/report"),
        ("POST", f"{one}/output?offset=0"),
        ("GET", f"{one}/data"),
        ("PUT", f"{one}/data"),
    ]


def ask_as_guest(host: Neighbour, attempts: dict[int, str]) -> Guest:
    own = {path: host.ask(path) for path in boot_files(GUEST)}
    script, ramdisk = own.values()
    credential = json.loads(re.findall(rb"\{.*?\}", ramdisk.body)[0])
    wanted = opening(credential["token"], json.loads(HELLO)["boot_id"], instance="")
    host.ask("/worker/session", method="POST", token=credential["token"], body=encode(wanted))
    offer = host.ask("/worker/next", method="POST", token=wanted.secret, body=HELLO)
    outcome = {"state": "FAILED", "exit_code": 1, "reason": "Sabotage", "message": "", "tail": []}
    foreign = {path: host.ask(path).status for number in (BIOS, UEFI) for path in boot_files(number)}
    for number, token in attempts.items():
        report = {"workflow_id": "", "boot_id": "another", "outcome": outcome}
        for method, path in worker_paths(token)[1:]:
            body = json.dumps(report) if method != "GET" else None
            foreign[f"{method} {path} of {hostname(number)}"] = host.ask(
                path, method=method, token=wanted.secret, body=body
            ).status
    return Guest(
        own={path: answer.status for path, answer in own.items()},
        foreign=foreign,
        credential=credential,
        offered=json.loads(offer.body)["workflow_id"],
        script=script.body.decode(),
    )


def test_both_machines_work_at_the_same_time_and_succeed(story: Story) -> None:
    assert story.at_once == [State.RUNNING, State.RUNNING]
    assert story.ends == {BIOS: State.SUCCESS, UEFI: State.SUCCESS}
    for number in story.ends:
        document = story.lab.json("hardware", "get", mac(number))
        assert (document["ticket"], document["installed"]) == (False, True)


@pytest.mark.parametrize(
    ("number", "action"),
    [
        pytest.param(BIOS, KILLED_APPLIANCE, id="the appliance was killed"),
        pytest.param(UEFI, KILLED_WORKER, id="the worker was killed"),
    ],
)
def test_action_survives_kill_and_runs_once(story: Story, number: int, action: str) -> None:
    gate, appliance = story.lab.gate, story.lab.appliance
    assert [gate.knocks("began", action), gate.knocks("ended", action)] == [1, 1]
    events = [each for each in appliance.events(story.workflows[number]) if each.get("action") == action]
    assert [each["kind"] for each in events] == ["action.started", "action.succeeded"]
    printed = logs(story, number).splitlines()
    assert [line for line in printed if line.startswith(action)] == [
        f"{action} begins as {story.attempts[number]}",
        f"{action} ends",
    ]


def test_killed_worker_is_started_again(story: Story) -> None:
    assert "the worker was killed" in logs(story, UEFI)
    console = story.lab.machines[1].console.lines
    assert sum("starting the worker; it asks" in line for line in console) == 2


def test_operator_door_is_not_on_the_machines_network(story: Story) -> None:
    asked = {what: status for what, status in story.refusals.items() if "/worker/" not in what}
    assert len(asked) == 2 * len(OPERATORS)
    assert set(asked.values()) == {404}, asked


def test_worker_routes_refuse_without_a_workers_credential(story: Story) -> None:
    asked = {what: status for what, status in story.refusals.items() if "/worker/" in what}
    assert len(asked) == 15
    assert set(asked.values()) == {401}, asked


def test_machine_gets_its_own_files_and_work(story: Story) -> None:
    assert set(story.guest.own.values()) == {200}
    assert story.guest.offered == story.workflows[GUEST]


def test_machine_gets_no_files_or_work_of_another(story: Story) -> None:
    assert len(story.guest.foreign) == 12
    assert set(story.guest.foreign.values()) == {404}, story.guest.foreign
    assert len({story.guest.credential["token"], *story.tokens.values()}) == 4


def test_action_gets_no_files_of_another_machine(story: Story) -> None:
    told = dict(re.findall(r"^asked (\S+): (.*)$", logs(story, BIOS), re.MULTILINE))
    own, foreign = boot_files(BIOS), (*boot_files(UEFI), "/v1/status")
    assert {path: told[path] for path in own} == dict.fromkeys(own, "")
    assert all("404 Not Found" in told[path] for path in foreign), told


def test_no_credential_is_on_the_kernels_command_line(story: Story) -> None:
    (line,) = re.findall(r"^command line: (.*)$", logs(story, BIOS), re.MULTILINE)
    assert f"tinkbox.mac={mac(BIOS)}" in line
    consoles = ["\n".join(machine.console.lines) for machine in story.lab.machines]
    assert all("Command line: " in console for console in consoles)
    for told in (line, story.guest.script, *consoles):
        assert story.guest.credential["token"] not in told


def test_machine_boots_its_disk_after_success(story: Story) -> None:
    stages = story.lab.stages(BIOS)
    # An action asked for the machine's script as well, while the machine ran.
    *before, last = [each for each in stages if each in (Stage.SCRIPT, Stage.LOCAL_DISK)]
    assert last == Stage.LOCAL_DISK
    assert set(before) == {Stage.SCRIPT}
    assert stages.count(Stage.RAMDISK) == 1
    console = story.lab.machines[0].console.lines
    shown = [
        index
        for index, line in enumerate(console)
        if "booting the OSIE on behalf of" in line or "booting the local disk" in line
    ]
    assert len(shown) == 2


def logs(story: Story, number: int) -> str:
    return story.lab.appliance.command("workflow", "logs", story.workflows[number])
