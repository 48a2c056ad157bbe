"""`tinkbox workflow logs` and `tinkbox service logs`."""

import base64
import json
from collections.abc import Callable

import pytest

from tests.unit.cli.conftest import FakeAppliance, Printed
from tests.unit.cli.documents import WORKFLOW, WORKFLOW_ID
from tinkbox.cli import main

Tinkbox = Callable[..., Printed]
ASKED = f"GET /v1/workflows/{WORKFLOW_ID}/logs?follow="
END = b"event: end\ndata: {}\n\n"


def piece(place: str, content: bytes, attempt: str = "one", number: int = 1, missing: int = 0) -> bytes:
    """One piece of output as the appliance sends it."""
    output = base64.b64encode(content).decode()
    document = {"attempt": attempt, "task": "os\x1b", "action": "disk", "number": number, "missing": missing}
    return f"id: {place}\nevent: output\ndata: {json.dumps({**document, 'output': output})}\n\n".encode()


@pytest.fixture
def workflow(appliance: FakeAppliance) -> FakeAppliance:
    appliance.answers[f"GET /v1/workflows/{WORKFLOW_ID}"] = WORKFLOW
    return appliance


def test_in_a_pipe_output_is_the_bytes_themselves(
    workflow: FakeAppliance, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    workflow.answers[f"{ASKED}0"] = (
        b"id: 0\n\n" + piece("5", b"raw \x1b[1m\xc3") + piece("9", b"\xa4\r\n\x00", missing=7)
        + piece("9.1", b"again", "two", 2) + END
    )  # fmt: skip
    assert main(["workflow", "logs", WORKFLOW_ID]) == 0
    out, err = capfdbinary.readouterr()
    assert out == b"raw \x1b[1m\xc3\xa4\r\n\x00again"
    assert err == b"==> os  / disk <==\n[7 bytes were not kept]\n==> os  / disk, attempt 2 <==\n"


def test_on_a_terminal_nothing_steers_it_however_it_is_cut(
    workflow: FakeAppliance, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "10 %\r20 %\r\n\x1b[2Jtäglich\x07\tend".encode()
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    for cut in range(len(said) + 1):
        workflow.answers[f"{ASKED}0"] = b"id: 0\n\n" + piece("1", said[:cut]) + piece("2", said[cut:]) + END
        assert main(["workflow", "logs", WORKFLOW_ID]) == 0
        assert capsys.readouterr().out == "10 %\n20 %\n�[2Jtäglich�\tend", cut


def test_on_a_terminal_no_clipboard_is_filled_and_nothing_is_hidden_or_painted_over(
    workflow: FakeAppliance, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = b"\x1b]52;c;aGk=\x07\x1b[8m\x1b[2A\x1b[31m\x9b8m" + "\x9b8m\u202e\b".encode()
    workflow.answers[f"{ASKED}0"] = b"id: 0\n\n" + piece("1", said) + END
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert main(["workflow", "logs", WORKFLOW_ID]) == 0
    assert capsys.readouterr().out == "�]52;c;aGk=��[8m�[2A�[31m�8m�8m��"


def test_on_a_terminal_what_is_said_about_output_begins_a_line(
    workflow: FakeAppliance, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    workflow.answers[f"{ASKED}0"] = (
        b"id: 0\n\n"
        + piece("1", b"half a line")
        + piece("1.1", b"whole\n", "two", 2)
        + piece("1.2", b"x", "three")
        + END
    )
    assert main(["workflow", "logs", WORKFLOW_ID]) == 0
    assert capsys.readouterr().out == "half a line\nwhole\nx"


def test_several_workflows_are_shown_one_after_the_other_and_named(
    tinkbox: Tinkbox, workflow: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    workflow.answers["GET /v1/workflows/node7"] = {**WORKFLOW, "id": "ffff"}
    workflow.answers[f"{ASKED}0"] = b"id: 0\n\n" + piece("1", b"half a line") + END
    two = piece("1", b"wh", "two") + piece("2", b"ole\n\n==> os / disk <==\n", "two")
    workflow.answers["GET /v1/workflows/ffff/logs?follow=0"] = b"id: 0\n\n" + two + END
    printed = tinkbox("workflow", "logs", WORKFLOW_ID, "node7")
    lines = [f"{WORKFLOW_ID} | half a line", "node7 | whole", "node7 | ", "node7 | ==> os / disk <=="]
    assert (printed.status, printed.out) == (0, "".join(f"{each}\n" for each in lines))
    assert printed.err == f"==> {WORKFLOW_ID}: os  / disk <==\n==> node7: os  / disk <==\n"


def test_of_several_workflows_those_that_are_there_are_shown(tinkbox: Tinkbox, workflow: FakeAppliance) -> None:
    workflow.answers[f"{ASKED}0"] = b"id: 0\n\n" + piece("1", b"said\n") + END
    printed = tinkbox("workflow", "logs", "nope", WORKFLOW_ID)
    assert (printed.status, printed.out) == (1, "said\n")
    assert printed.err == f"tinkbox: no such thing here\n==> {WORKFLOW_ID}: os  / disk <==\n"


def test_no_line_of_several_workflows_goes_on_where_another_may_begin(
    tinkbox: Tinkbox, workflow: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "20")
    workflow.answers["GET /v1/workflows/alpha"] = {**WORKFLOW, "id": "aaaa"}
    workflow.answers["GET /v1/workflows/beta"] = {**WORKFLOW, "id": "bbbb"}
    forged = piece("1", b"x" * 5) + piece("2", b"x" * 7 + b"beta  | installed\n")
    workflow.answers["GET /v1/workflows/aaaa/logs?follow=0"] = b"id: 0\n\n" + forged + END
    workflow.answers["GET /v1/workflows/bbbb/logs?follow=0"] = b"id: 0\n\n" + END
    printed = tinkbox("workflow", "logs", "alpha", "beta")
    assert printed.out == "alpha | xxxxxxxxxxxx\nalpha | beta  | inst\nalpha | alled\n"


def test_one_workflow_is_followed_and_no_more(tinkbox: Tinkbox, workflow: FakeAppliance) -> None:
    refused = tinkbox("workflow", "logs", "-f", WORKFLOW_ID, "other")
    assert (refused.status, refused.out, workflow.asked) == (2, "", [])
    assert "-f follows one workflow, and these are 2" in refused.err


def test_it_goes_on_where_the_connection_was_cut_off(
    tinkbox: Tinkbox, workflow: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    streams = [b"id: 0\n\n" + piece("3", b"one"), None, b"id: 3\n\n" + piece("6", b"two") + END]
    workflow.answers[f"{ASKED}1"] = streams[0]
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        following = streams[len(pauses)]
        workflow.away = following is None
        workflow.answers[f"{ASKED}1"] = following or b""

    monkeypatch.setattr("asyncio.sleep", pause)
    followed = tinkbox("workflow", "logs", "-f", WORKFLOW_ID)
    assert (followed.status, followed.out) == (0, "onetwo")
    assert followed.err.count("trying again") == 2
    assert followed.err.count("==>") == 1
    assert workflow.last_event_ids == [None, None, "3"]


def test_a_workflow_that_is_not_there_is_1_at_once(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    assert tinkbox("workflow", "logs", "-f", "nothing").status == 1


def test_one_that_is_deleted_meanwhile_is_1_too(
    tinkbox: Tinkbox, workflow: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow.answers[f"{ASKED}1"] = b"id: 0\n\n" + piece("3", b"one")

    async def pause(_: float) -> None:
        del workflow.answers[f"{ASKED}1"]

    monkeypatch.setattr("asyncio.sleep", pause)
    assert tinkbox("workflow", "logs", "-f", WORKFLOW_ID).status == 1


def said(place: str, content: bytes, number: int = 1) -> bytes:
    """One piece of a service's output as the appliance sends it."""
    about = {"workflow_id": WORKFLOW_ID, "service": "boot files\x1b", "run": f"r{number}", "number": number}
    document = {**about, "missing": 0, "output": base64.b64encode(content).decode()}
    return f"id: {place}\nevent: output\ndata: {json.dumps(document)}\n\n".encode()


def test_a_services_output_is_the_bytes_themselves_each_run_under_its_line(
    appliance: FakeAppliance, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    appliance.answers["GET /v1/services/logs?service=hello/boot+files&follow=0"] = (
        b"id: 0\n\n" + said("3", b"\xffone\x1b[1m") + said("3.4", b"\r\ntwo", 2) + END
    )
    assert main(["service", "logs", "hello/boot files"]) == 0
    out, err = capfdbinary.readouterr()
    assert out == b"\xffone\x1b[1m\r\ntwo"
    assert err == b"==> boot files  <==\n==> boot files , run 2 <==\n"


def test_on_a_terminal_a_service_steers_nothing(
    appliance: FakeAppliance, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    appliance.answers["GET /v1/services/logs?service=s&follow=0"] = b"id: 0\n\n" + said("9", b"a\x1b[2Jb\x07") + END
    assert main(["service", "logs", "s"]) == 0
    assert capsys.readouterr().out == "a�[2Jb�"


def test_a_service_is_followed_where_it_was_cut_off_though_another_is_called_so_by_now(
    tinkbox: Tinkbox, appliance: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = "GET /v1/services/logs?service={}&follow=1"
    appliance.answers[asked.format("boot")] = b"id: 0\n\n" + said("3", b"one")
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        appliance.away = len(pauses) == 1
        appliance.answers = {asked.format(f"{WORKFLOW_ID}/boot+files%1B"): b"id: 3\n\n" + said("6", b"two") + END}

    monkeypatch.setattr("asyncio.sleep", pause)
    followed = tinkbox("service", "logs", "-f", "boot")
    assert (followed.status, followed.out) == (0, "onetwo")
    assert followed.err.count("trying again") == 2
    assert followed.err.count("==>") == 1
    assert appliance.last_event_ids == [None, "3"]


def test_a_service_that_is_not_there_is_1_at_once(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    missing = tinkbox("service", "logs", "-f", "nothing")
    assert (missing.status, missing.err) == (1, "tinkbox: no such thing here\n")
