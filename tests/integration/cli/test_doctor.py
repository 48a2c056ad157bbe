"""`tinkbox doctor` and `workflow state` of workflows, against an appliance that is a process of its own."""

import asyncio
import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from http.client import HTTPConnection
from pathlib import Path

import pytest
from cryptography import x509

from tests.firm import Firm
from tests.integration.cli.serving import (
    DEADLINE,
    PROGRAM,
    ROOT,
    Configuration,
    Ended,
    configure,
    give_osie,
    run_here,
    serving,
)
from tests.integration.cli.test_following import MACHINE, following, line, workflow
from tests.integration.engine.appliance import HELLO, mac
from tests.workers import door_of
from tinkbox.engine.machines.boot_plan import MAX_BOOTS
from tinkbox.model.workflow import Outcome, State
from tinkbox.wire.messages.worker import Hello, Report, decode_credential


@pytest.fixture
def appliance(tmp_path: Path) -> Iterator[Configuration]:
    configuration = configure(tmp_path)
    give_osie(configuration.data)
    with serving(configuration):
        yield configuration


def tinkbox(appliance: Configuration, *arguments: str) -> Ended:
    return run_here("--data", str(appliance.data), *arguments)


def test_a_workflow_that_waits_in_vain_says_for_what_and_the_doctor_says_why(appliance: Configuration) -> None:
    flow = workflow(appliance)
    stands = tinkbox(appliance, "workflow", "state", flow).out
    assert "for machine-1, never seen" in stands
    assert "cannot have an image that it needs: image hello-world is not in the registry." in stands
    assert f" doctor {flow[:8]}: what that rests on, and what to do" in stands
    document = json.loads(tinkbox(appliance, "workflow", "state", flow, "-o", "json").out)
    assert (document["waiting"], document["diagnosis"]["rule"]) == (
        "machine-1, never seen",
        "ImageMissing",
    )
    started = document["conditions"][0]
    assert (started["reason"], started["message"]) == ("Pending", f"waiting for {document['waiting']}")
    told = tinkbox(appliance, "doctor", flow[:8])
    assert told.status == 1
    assert f"FAULT  ImageMissing  machine-1 ({mac(1)})  workflow {flow[:8]}" in told.out
    assert f"FAULT  ImageMissing  machine-1 ({mac(1)})  workflow {flow[:8]}" in tinkbox(appliance, "doctor").out
    assert tinkbox(appliance, "doctor", "machine-1").status == 1
    unknown = tinkbox(appliance, "doctor", "nothing")
    assert (unknown.status, unknown.out) == (2, "")
    assert "'nothing' is no machine and no workflow" in unknown.err


def test_certificate_that_clients_refuse_is_a_fault_and_one_of_which_some_do_is_none(tmp_path: Path) -> None:
    at, firm = configure(tmp_path), Firm(tmp_path)
    give_osie(at.data)
    expired = firm.other_between(timedelta(-300), timedelta(hours=1))
    certificate, key = firm.files([firm.leaf, expired])
    with at.path.open("a") as more:
        more.write(f"tls: {{certificate: {certificate}, key: {key}}}\n")
    with serving(at):
        told = tinkbox(at, "doctor")
    assert (told.status, "FAULT  CertificateTrouble" in told.out) == (1, True), told.out
    assert "certificate 2, CN=Firm R10, which signed CN=box, expired on" in told.out
    firm.files([firm.leaf, expired, firm.between])
    with serving(at):
        told = tinkbox(at, "doctor")
    assert "SUSPECT  CertificateTrouble" in told.out
    assert "Take out certificate 2." in told.out


def test_expired_root_is_a_warning_and_an_authority_that_may_not_sign_a_fault(tmp_path: Path) -> None:
    at, firm = configure(tmp_path), Firm(tmp_path)
    give_osie(at.data)
    expired = firm.other_root(timedelta(-300), timedelta(hours=1))
    certificate, key = firm.files([firm.leaf, firm.between, expired])
    with at.path.open("a") as more:
        more.write(f"tls: {{certificate: {certificate}, key: {key}}}\n")
    limited = firm.odd_between(constraints=x509.NameConstraints([x509.DNSName("firm.example")], None))
    for chain, status, check, gravity, told in (
        ([firm.leaf, firm.between, expired], 0, "warning", "SUSPECT", "certificate 3, CN=Firm Root, which is a root, expired on"),
        ([firm.leaf, limited], 1, "wrong", "FAULT", "certificate 2, CN=Firm R10, which signed CN=box, may not sign for localhost"),
    ):  # fmt: skip
        firm.files(chain)
        checked = run_here("serve", "--config", str(at.path), "--check")
        assert checked.status == status, checked.out
        assert f"{check}: tls.certificate: in {certificate} {told}" in checked.out
        with serving(at):
            doctor = tinkbox(at, "doctor")
        assert f"{gravity}  CertificateTrouble" in doctor.out
        assert told in " ".join(doctor.out.split()), doctor.out


def test_a_failed_workflow_is_told_by_its_key_and_with_everything(appliance: Configuration) -> None:
    flow = workflow(appliance)
    credential = decode_credential(tinkbox(appliance, "hardware", "credential", MACHINE).out.encode())

    async def fail() -> None:
        async with door_of(credential) as door:
            offer = await door.next(Hello(boot_id="boot-1"))
            assert offer is not None
            outcome = Outcome(state=State.FAILED, exit_code=3, message="exit code 3", tail=("no such disk",))
            await door.report(offer.attempt, Report(workflow_id=flow, boot_id="boot-1", outcome=outcome))

    asyncio.run(fail())
    told = tinkbox(appliance, "doctor", flow)
    assert (told.status, told.out.splitlines()[0]) == (
        1,
        f"FAULT  WorkflowFailed  machine-1 ({mac(1)})  workflow {flow[:8]}",
    )
    assert "    - it printed: no such disk\n" in told.out
    assert f" workflow retry {flow[:8]}`" in " ".join(told.out.split())
    assert f"SUSPECT  WorkflowFailed  machine-1 ({mac(1)})  workflow {flow[:8]}" in tinkbox(appliance, "doctor").out
    assert "Diagnosis" not in tinkbox(appliance, "workflow", "state", flow).out, "it says so itself"


def test_what_begins_and_what_is_over_is_told_as_it_happens(appliance: Configuration) -> None:
    with (
        following(appliance, "doctor", "--watch", "-o", "json") as documents,
        following(appliance, "doctor", "-w") as text,
    ):
        assert any("xamined: " in line(text) for _ in range(40))
        flow = workflow(appliance)
        began = json.loads(line(documents))
        while began["rule"] != "ImageMissing":
            began = json.loads(line(documents))
        assert (began["change"], began["workflow"], began["machine"]) == ("began", flow, mac(1))
        assert any(f"FAULT  ImageMissing  machine-1 ({mac(1)})  workflow {flow[:8]}" in line(text) for _ in range(40))
        assert tinkbox(appliance, "workflow", "cancel", "--force", flow).status == 0
        over = json.loads(line(documents))
        while over["change"] != "over" or over["rule"] != "ImageMissing":
            over = json.loads(line(documents))
        assert over["workflow"] == flow


ITS_OWN = "127.0.0.2"


def fetch_script(appliance: Configuration) -> str:
    """What machine 1 is told to boot."""
    door = HTTPConnection("127.0.0.1", appliance.http_port, timeout=DEADLINE, source_address=(ITS_OWN, 0))
    with closing(door):
        door.request("GET", f"/boot/{mac(1).replace(':', '-')}/script.ipxe")
        return door.getresponse().read().decode()


def typed(command: str) -> None:
    """Type a command that was printed, as it stands there."""
    program = shlex.join(PROGRAM)
    assert command.startswith("tinkbox ")
    line = re.sub(r"(^|\| )tinkbox ", lambda found: f"{found[1]}{program} ", command)
    subprocess.run(["bash", "-o", "pipefail", "-c", line], check=True, cwd=ROOT, capture_output=True, timeout=DEADLINE)


@pytest.mark.parametrize("renamed", [False, True])
def test_what_is_told_of_a_parked_machine_frees_it(appliance: Configuration, *, renamed: bool) -> None:
    assert tinkbox(appliance, "hardware", "add", mac(1), "--name", "first", "--address", f"{ITS_OWN}/8").status == 0
    if renamed:
        assert tinkbox(appliance, "hardware", "edit", "first", "--name", "second").status == 0
    assert (
        run_here("--data", str(appliance.data), "template", "create", "-n", "hello", stdin=HELLO.encode()).status == 0
    )
    assert tinkbox(appliance, "workflow", "create", "-t", "hello", mac(1)).status == 0

    def machine() -> dict[str, str]:
        found: dict[str, str] = json.loads(tinkbox(appliance, "hardware", "get", mac(1), "-o", "json").out)
        return found

    def remedy() -> str:
        found = json.loads(tinkbox(appliance, "doctor", mac(1), "-o", "json").out)
        return next(str(each["remedy"]) for each in found["diagnoses"] if each["rule"] == "BootLoop")

    def why() -> str:
        (line,) = (
            each for each in tinkbox(appliance, "hardware", "get", mac(1)).out.splitlines() if each.startswith("Why:")
        )
        return line

    for told in (why, remedy):
        for _ in range(MAX_BOOTS):
            assert "is parked" not in fetch_script(appliance)
        assert "is parked" in fetch_script(appliance)
        assert machine()["state"] == "parked"
        typed(next(each for each in told().split("`") if each.startswith("tinkbox ")))
        assert machine()["state"] == "waiting"
