"""`tinkbox doctor` and `workflow state` of workflows, against an appliance that is a process of its own."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.cli.serving import Configuration, Ended, configure, give_osie, run_here, serving
from tests.integration.cli.test_following import MACHINE, following, line, workflow
from tests.integration.engine.appliance import mac
from tests.workers import door_of
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
