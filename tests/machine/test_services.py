"""Workflows that bring their own services: boot files, receivers, each machine reaching its own; nothing is left of them."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.machine.lab import (
    Lab,
    Neighbour,
    address,
    built,
    hold,
    hostname,
    laboratory,
    mac,
    neighbour,
    program_image,
    shell,
    until,
)
from tests.machine.waiting import ONE, TWO, laboratory_with
from tinkbox.model.boot import Stage
from tinkbox.model.workflow import State

pytestmark = pytest.mark.machine
ROOT = Path(__file__).parents[2]
# Proposal 0014's own document, as it was printed.
PROPOSAL = ROOT / "tests" / "golden" / "templates" / "proposal-0014.yaml"
DOMAIN = "workflows.tinkerbell.local"
STRANGER = 200
OFF = 3
# What the document calls its actions: a wipe, a partitioner that makes up a password, an installer that needs it.
PROGRAMS = {
    "disk-wipe": "dd if=/dev/zero of=/dev/vda bs=1024 count=1024 2>/dev/null && echo wiped",
    "disk-partition": f"""
        set -e
        [ -d /statedir ] && [ "$MIRROR_HOST" = "<MIRROR_HOST_IP>" ]
        head -c 300 /dev/urandom | md5sum | cut -c 1-20 > /tmp.password
        wget -q -O - --post-data "$(cat /tmp.password)" "http://$TINKBOX_WORKFLOW.{DOMAIN}/password"
        echo "sent: $(cat /tmp.password | tr -d '\\n' | md5sum)"
    """,
    "install-root-fs": 'echo "found: $(md5sum < /workflow/password)"',
}


@dataclass(frozen=True)
class Provisioned:
    lab: Lab
    workflow: str


@pytest.fixture(scope="module")
def provisioned() -> Iterator[Provisioned]:
    """The proposal's document, run on a machine with an empty disk."""
    with laboratory(hosting=True, domain=DOMAIN) as lab:
        lab.route()
        lab.push(ONE)
        for image in ("osie-boot-files-server", "password-receiver"):
            lab.load(built(f"build/images/{image}.tar"))
        for name, script in PROGRAMS.items():
            lab.load(program_image(lab.work / name, name, "v1.0.42", script))
        workflow = lab.create(PROPOSAL, {"device_1": mac(ONE), "provisioner1": "provisioner"})
        lab.machine(ONE, memory=2048).power_on()
        lab.ended(workflow)
        yield Provisioned(lab, workflow)


def test_document_of_proposal_0014_succeeds(provisioned: Provisioned) -> None:
    lab, workflow = provisioned.lab, provisioned.workflow
    assert lab.state(workflow).state is State.SUCCESS, lab.appliance.command("workflow", "state", workflow)
    happened = [kind for kind, _ in lab.happened(workflow)]
    ready = [place for place, kind in enumerate(happened) if kind == "service.ready"]
    assert len(ready) == 2
    assert max(ready) < happened.index("action.started"), "both services are ready before the first action begins"


def test_machine_boots_the_osie_of_its_workflow(provisioned: Provisioned) -> None:
    lab = provisioned.lab
    (machine,) = lab.machines
    assert any("booting the OSIE that the workflow brought along" in line for line in machine.console.lines)
    stages = lab.stages(ONE)
    assert Stage.SUPPLIED in stages
    assert Stage.KERNEL not in stages, "the appliance's own kernel was not asked for"
    fetched = lab.appliance.command("service", "logs", f"{provisioned.workflow}/serve boot files")
    for path in ("/auto.ipxe", "/kernel", "/initrd"):
        assert f"url:{path}" in fetched


def test_password_posted_by_the_machine_reaches_later_actions_and_the_operator(
    provisioned: Provisioned,
) -> None:
    lab, workflow = provisioned.lab, provisioned.workflow
    printed = lab.appliance.command("workflow", "logs", workflow).splitlines()
    (sent,) = [line.split()[1] for line in printed if line.startswith("sent: ")]
    (found,) = [line.split()[1] for line in printed if line.startswith("found: ")]
    assert sent == found
    saved = lab.work / "saved"
    lab.appliance.command("workflow", "data", "--save", saved, workflow)
    assert hashlib.md5((saved / "password").read_bytes()).hexdigest() == sent


def test_no_container_network_or_route_is_left(provisioned: Provisioned) -> None:
    lab, engine = provisioned.lab, provisioned.lab.engine
    until(lambda: not engine.cli("ps", "--all", "--quiet").stdout, "the services' containers to be gone")
    until(lambda: "tinkbox-" not in engine.cli("network", "ls").stdout, "their network to be gone")
    stopped = {"serve boot files": "STOPPED", "password receiver": "STOPPED"}
    until(lambda: states(lab, provisioned.workflow) == stopped, "their host to say that they are stopped")
    (machine,) = lab.machines
    machine.power_off()
    with neighbour(lab, ONE) as asking:
        for path in ("/kernel", "/password", "/auto.ipxe"):
            answer = asking.ask(path, host=f"{provisioned.workflow}.{DOMAIN}")
            assert answer.status == 404, answer.body


def states(lab: Lab, workflow: str) -> dict[str, str]:
    return {each["name"]: each["state"] for each in lab.json("service", "list", workflow)}


WORD = 'mkdir /www && echo "$TINKBOX_WORKFLOW" > /www/word && exec httpd -f -p 8000 -h /www'
SERVICE = {
    "name": "word",
    "worker": "provisioner",
    "image": "shell:v1",
    "command": [WORD],
    "ports": [8000],
    "labels": ["traefik.http.routers.word.rule=Path(`/word`)"],
}
# On the machine itself, in its network.
BESIDE = {
    "name": "beside",
    "worker": "{{.device_2}}",
    "image": "shell:v1",
    "command": ['mkdir /www && echo "of $TINKBOX_SERVICE" > /www/beside && exec httpd -f -p 8001 -h /www'],
    "ports": [8001],
    "labels": ["traefik.http.routers.beside.rule=Path(`/beside`)"],
}
LOOK = """
    name="$TINKBOX_WORKFLOW.workflows.tinkbox.internal"
    echo "by name: $(wget -q -O - "http://$name/word")"
    echo "by address: $(wget -q -O - "$TINKBOX_SERVER/word")"
    echo "looked up: $(nslookup -type=a "$name" | grep Address | tail -n 1)"
"""


@dataclass(frozen=True)
class Neighbours:
    """Two workflows with services of the same name and the same path; `printed` is what their machines saw at once."""

    lab: Lab
    workflows: tuple[str, str]
    printed: tuple[str, str]
    stranger: int
    at_its_address: tuple[int, int]


@pytest.fixture(scope="module")
def neighbours(waiting: Path) -> Iterator[Neighbours]:
    with laboratory_with(waiting, [ONE, TWO], hosting=True) as lab:
        first = lab.workflow(ONE, hold("look-1", lab.gate, LOOK), services=[SERVICE])
        other = f"""
            echo "of the other: $(wget -q -O - "http://{first}.workflows.tinkbox.internal/word" 2>&1)"
            echo "beside: $(wget -q -O - "http://$name/beside")"
        """
        second = lab.workflow(TWO, hold("look-2", lab.gate, LOOK + other), services=[SERVICE, BESIDE])
        for number in (ONE, TWO):
            lab.gate.wait_for("began", f"look-{number}")
        with neighbour(lab, STRANGER) as asking:
            stranger = asking.ask("/word", host=f"{first}.workflows.tinkbox.internal").status
        at_its_address = asked_at_the_address_of_one_that_is_off(lab)
        for number in (ONE, TWO):
            lab.gate.open(f"look-{number}")
        for workflow in (first, second):
            assert lab.ended(workflow).state is State.SUCCESS
        one, two = (lab.appliance.command("workflow", "logs", each) for each in (first, second))
        yield Neighbours(lab, (first, second), (one, two), stranger, at_its_address)


def asked_at_the_address_of_one_that_is_off(lab: Lab) -> tuple[int, int]:
    """What a host that has only its address is answered, and one that has its MAC as well."""
    lab.push(OFF)
    workflow = lab.workflow(OFF, shell("never", "true"), services=[SERVICE])
    until(lambda: states(lab, workflow) == {"word": "READY"}, "its service to be ready")
    named = f"{workflow}.workflows.tinkbox.internal"
    with Neighbour(lab.network, address(OFF)) as thief:
        status = thief.ask("/word", host=named).status
    with neighbour(lab, OFF) as itself:
        mine = itself.ask("/word", host=named).status
    lab.appliance.command("workflow", "cancel", workflow)
    return status, mine


def test_machine_reaches_its_own_service_by_name_and_by_address(neighbours: Neighbours) -> None:
    for workflow, printed in zip(neighbours.workflows, neighbours.printed, strict=True):
        assert f"by name: {workflow}" in printed
        assert f"by address: {workflow}" in printed
        assert f"looked up: Address: {neighbours.lab.network.address}" in printed


def test_service_on_the_machine_is_reached_through_the_appliance(neighbours: Neighbours) -> None:
    assert "beside: of beside" in neighbours.printed[1]
    _, second = neighbours.workflows
    hosts = {each["name"]: each["host"] for each in neighbours.lab.json("service", "list", second)}
    assert hosts == {"word": "provisioner", "beside": hostname(TWO)}


def test_service_is_hidden_from_other_machines(neighbours: Neighbours) -> None:
    first, _ = neighbours.workflows
    assert "of the other: wget: server returned error: HTTP/1.1 404" in neighbours.printed[1]
    assert f"of the other: {first}" not in neighbours.printed[1]
    assert neighbours.stranger == 404
    assert neighbours.at_its_address == (404, 200)


def test_no_container_or_network_is_left_of_either_workflow(neighbours: Neighbours) -> None:
    engine = neighbours.lab.engine
    until(lambda: not engine.cli("ps", "--all", "--quiet").stdout, "the services' containers to be gone")
    until(lambda: "tinkbox-" not in engine.cli("network", "ls").stdout, "their networks to be gone")
