"""`tinkbox workflow`."""

import base64
import json
from collections.abc import Callable

import pytest

from tests.unit.cli.conftest import FakeAppliance, Printed
from tests.unit.cli.documents import EVENTS, MACHINE_ID, TEMPLATE_ID, WORKFLOW, WORKFLOW_ID, event

Tinkbox = Callable[..., Printed]
STATE = {
    "workflow_id": WORKFLOW_ID,
    "state": "RUNNING",
    "progress": 66,
    "current_task": "hello world",
    "current_action": "reboot",
    "current_worker": "0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94",
    "current_action_state": "RUNNING",
    "reason": "",
    "message": "",
}


@pytest.fixture
def workflows(appliance: FakeAppliance) -> FakeAppliance:
    appliance.answers = {
        "GET /v1/workflows": [WORKFLOW],
        "POST /v1/workflows": {"id": WORKFLOW_ID},
        f"GET /v1/workflows/{WORKFLOW_ID}": WORKFLOW,
        "GET /v1/workflows/hello": WORKFLOW,
        f"GET /v1/workflows/{WORKFLOW_ID}/state": STATE,
        f"GET /v1/workflows/{WORKFLOW_ID}/events": EVENTS,
        f"GET /v1/workflows/{WORKFLOW_ID}/logs?follow=0": b"==> a / b <==\nraw \x1b[1mbytes\xff\n",
        f"DELETE /v1/workflows/{WORKFLOW_ID}": {"id": WORKFLOW_ID},
    }
    return appliance


def test_creating_prints_the_seeds_words(tinkbox: Tinkbox, workflows: FakeAppliance) -> None:
    created = tinkbox("workflow", "create", "-t", TEMPLATE_ID, "-r", '{"device_1":"08:00:27:00:00:01"}')
    assert created.out == f"Created Workflow:  {WORKFLOW_ID}\n"
    assert json.loads(workflows.asked[0][1]) == {
        "template": TEMPLATE_ID,
        "hardware": {"device_1": "08:00:27:00:00:01"},
    }


@pytest.mark.parametrize("devices", ["{", '["a"]', "device_1=x"])
def test_devices_that_are_no_map_are_told_without_asking(
    tinkbox: Tinkbox, workflows: FakeAppliance, devices: str
) -> None:
    failed = tinkbox("workflow", "create", "-t", "x", "-r", devices)
    assert (failed.status, failed.err.count("\n")) == (1, 1)
    assert '{"device_1": "08:00:27:00:00:01"}' in failed.err
    assert workflows.asked == []


def test_the_list_is_2020s_table(tinkbox: Tinkbox, workflows: FakeAppliance) -> None:
    lines = tinkbox("workflow", "list").out.splitlines()
    assert [cell.strip() for cell in lines[1].split("|")[1:-1]] == [
        "WORKFLOW ID", "TEMPLATE ID", "HARDWARE DEVICE", "CREATED AT", "UPDATED AT",
    ]  # fmt: skip
    assert [cell.strip() for cell in lines[3].split("|")[1:-1]] == [
        WORKFLOW_ID, TEMPLATE_ID, '{"device_1": "08:00:27:00:00:01"}',
        "2020-07-08 15:17:02 +0000 UTC", "2020-07-08 15:17:02 +0000 UTC",
    ]  # fmt: skip
    assert tinkbox("workflow", "get").out.splitlines() == lines


def test_a_workflow_is_its_rendered_template(tinkbox: Tinkbox, workflows: FakeAppliance) -> None:
    assert tinkbox("workflow", "get", WORKFLOW_ID).out == WORKFLOW["text"]
    assert json.loads(tinkbox("workflow", "get", WORKFLOW_ID, "--format", "json").out) == [WORKFLOW]


def test_the_state_is_a_table_of_fields(tinkbox: Tinkbox, workflows: FakeAppliance) -> None:
    expected = (
        "+----------------------+--------------------------------------+\n"
        "| FIELD NAME           | VALUES                               |\n"
        "+----------------------+--------------------------------------+\n"
        "| Workflow ID          | a8984b09-566d-47ba-b6c5-fbe482d8ad7f |\n"
        "| Workflow Progress    | 66%                                  |\n"
        "| Current Task         | hello world                          |\n"
        "| Current Action       | reboot                               |\n"
        "| Current Worker       | 0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94 |\n"
        "| Current Action State | ACTION_IN_PROGRESS                   |\n"
    )
    assert tinkbox("workflow", "state", WORKFLOW_ID).out.startswith(expected)
    assert tinkbox("workflow", "state", WORKFLOW_ID, "-q").out == "RUNNING\n"
    assert json.loads(tinkbox("workflow", "state", WORKFLOW_ID, "--format", "json").out) == [STATE]
    workflows.answers[f"GET /v1/workflows/{WORKFLOW_ID}/state"] = {**STATE, "reason": "DiskNotFound"}
    assert "| Reason               | DiskNotFound" in tinkbox("workflow", "state", WORKFLOW_ID).out


def test_events_are_2020s_table_with_whole_seconds_to_the_right(tinkbox: Tinkbox, workflows: FakeAppliance) -> None:
    lines = tinkbox("workflow", "events", WORKFLOW_ID).out.splitlines()
    assert [" ".join(line.split()) for line in lines if line.startswith("|")] == [
        "| WORKER ID | TASK NAME | ACTION NAME | EXECUTION TIME | MESSAGE | ACTION STATUS |",
        f"| {MACHINE_ID} | hello world | one | 0 | Started execution | ACTION_IN_PROGRESS |",
        f"| {MACHINE_ID} | hello world | one | 12 | Finished Execution Successfully | ACTION_SUCCESS |",
        f"| {MACHINE_ID} | hello world | two | 0 | DiskNotFound: no /dev/sda [2J | ACTION_FAILED |",
    ]
    assert "|             12 |" in lines[4]
    assert json.loads(tinkbox("workflow", "events", WORKFLOW_ID, "--format", "json").out) == EVENTS


def test_a_workflow_without_events_is_an_empty_table(tinkbox: Tinkbox, workflows: FakeAppliance) -> None:
    workflows.answers[f"GET /v1/workflows/{WORKFLOW_ID}/events"] = EVENTS[:1]
    border = "+-----------+-----------+-------------+----------------+---------+---------------+\n"
    assert tinkbox("workflow", "events", WORKFLOW_ID).out == (
        border
        + "| WORKER ID | TASK NAME | ACTION NAME | EXECUTION TIME | MESSAGE | ACTION STATUS |\n"
        + border
        + border
    )


def test_logs_into_a_pipe_are_the_bytes_themselves(
    workflows: FakeAppliance, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    from tinkbox.cli import main

    assert main(["workflow", "logs", WORKFLOW_ID]) == 0
    assert capsysbinary.readouterr().out == b"==> a / b <==\nraw \x1b[1mbytes\xff\n"


def test_logs_on_a_terminal_cannot_steer_it(
    workflows: FakeAppliance, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from tinkbox.cli import main

    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert main(["workflow", "logs", WORKFLOW_ID]) == 0
    assert capsys.readouterr().out == "==> a / b <==\nraw �[1mbytes�\n"


DATA = {
    "version": 3,
    "files": [
        {"path": "data", "size": 8, "content": base64.b64encode(b'{"a": 1}').decode()},
        {"path": "disk\x1b.img", "size": 1024, "content": "AAAA"},
        {"path": "folder", "mode": 493},
    ],
}


def data_answer(appliance: FakeAppliance, answer: object, version: int = 0) -> None:
    appliance.answers[f"GET /v1/workflows/{WORKFLOW_ID}/data?version={version}"] = answer


def test_data_prints_the_document_and_tells_of_the_other_files(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    data_answer(appliance, DATA, version=3)
    printed = tinkbox("workflow", "data", WORKFLOW_ID, "--version", "3")
    assert (printed.status, printed.out) == (0, '{"a": 1}\n')
    assert printed.err == "tinkbox: there is also disk .img, 1024 bytes\n"


def test_data_that_was_never_written_is_an_empty_document(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    data_answer(appliance, {"version": 0, "files": []})
    assert tinkbox("workflow", "data", WORKFLOW_ID).out == "{}\n"
    assert tinkbox("workflow", "data", WORKFLOW_ID, "-l").out == "Latest workflow data version: 0\n"


def test_metadata_of_the_data_leaves_the_content_out(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    data_answer(appliance, DATA)
    printed = json.loads(tinkbox("workflow", "data", WORKFLOW_ID, "-m").out)
    assert printed["version"] == 3
    assert printed["files"][0] == {"path": "data", "size": 8}


def test_watching_a_failed_workflow_is_1_and_tells_why(tinkbox: Tinkbox, workflows: FakeAppliance) -> None:
    watched = tinkbox("workflow", "watch", "hello")
    assert watched.status == 1
    assert watched.out.splitlines() == [
        "2020-07-08 15:17:02 +0000 UTC  workflow.created",
        "2020-07-08 15:17:02 +0000 UTC  workflow.started",
        "2020-07-08 15:17:02 +0000 UTC  action.started     hello world / one",
        "2020-07-08 15:17:02 +0000 UTC  action.succeeded   hello world / one after 12.9 s",
        "2020-07-08 15:17:02 +0000 UTC  action.failed      hello world / two after 0.2 s: DiskNotFound: no /dev/sda [2J",
        "2020-07-08 15:17:02 +0000 UTC  workflow.failed",
    ]


def test_watching_prints_each_event_once_over_an_absence_and_is_0_after_success(
    tinkbox: Tinkbox, workflows: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[float] = []
    workflows.answers[f"GET /v1/workflows/{WORKFLOW_ID}/events"] = EVENTS[:2]

    async def look_again(seconds: float) -> None:
        looks.append(seconds)
        workflows.away = len(looks) == 1
        if len(looks) == 3:
            ended = [*EVENTS[:2], event(3, "workflow.succeeded")]
            workflows.answers[f"GET /v1/workflows/{WORKFLOW_ID}/events"] = ended

    monkeypatch.setattr("asyncio.sleep", look_again)
    watched = tinkbox("workflow", "watch", WORKFLOW_ID)
    assert watched.status == 0
    assert [line.split()[4] for line in watched.out.splitlines()] == [
        "workflow.created", "workflow.started", "workflow.succeeded",
    ]  # fmt: skip
    assert watched.err.count("trying again") == 1


def test_deleting_is_silent(tinkbox: Tinkbox, workflows: FakeAppliance) -> None:
    deleted = tinkbox("workflow", "delete", WORKFLOW_ID)
    assert (deleted.status, deleted.out, deleted.err) == (0, "", "")
