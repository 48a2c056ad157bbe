"""`tinkbox status`; tests/unit/view has the picture itself."""

import json
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
import yaml

from tests.unit.cli.conftest import FakeAppliance, Printed
from tests.unit.view.snapshots import ALL_KINDS, failed, machine
from tests.unit.view.snapshots import snapshot as told
from tinkbox.cli.nouns.breakpoint.shell import Left
from tinkbox.cli.nouns.status import STAYS_HELD, _after_shell
from tinkbox.wire.messages.status import MachineLine, Snapshot, encode_changes, encode_machine

MACHINE = MachineLine(
    id="0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94",
    hostname="machine-1",
    mac="08:00:27:00:00:01",
    address="172.30.0.11",
    stage="",
    stage_at=None,
    ticket=False,
    boots=0,
    parked="",
    last_contact=None,
)


def test_a_pipe_gets_the_picture_once_as_plain_text(tinkbox: Callable[..., Printed], appliance: FakeAppliance) -> None:
    snapshot = Snapshot(now=datetime(2026, 11, 21, 3, 0, tzinfo=UTC), version="0.1.0", machines=(MACHINE,))
    appliance.answers["GET /v1/status?after="] = encode_changes(
        snapshot, map(encode_machine, snapshot.machines)
    ).encode()
    printed = tinkbox("status")
    assert printed.status == 0
    assert "machine-1" in printed.out
    assert "\x1b" not in printed.out
    assert appliance.asked == [("GET /v1/status?after=", b"")]


def test_one_plain_picture_loads_neither_an_event_loop_nor_what_draws(appliance: FakeAppliance) -> None:
    snapshot = Snapshot(now=datetime(2026, 11, 21, 3, 0, tzinfo=UTC), version="0.1.0", machines=(MACHINE,))
    appliance.answers["GET /v1/status?after="] = encode_changes(
        snapshot, map(encode_machine, snapshot.machines)
    ).encode()
    program = (
        "import sys; from tinkbox.cli import main; status = main(['status']); "
        "print(status, sorted({'asyncio', 'aiohttp', 'rich.console'} & sys.modules.keys()))"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-1] == "0 []"


@pytest.fixture
def all_kinds(appliance: FakeAppliance) -> None:
    """An appliance with a machine in each state."""
    answers(appliance, ALL_KINDS)


def answers(appliance: FakeAppliance, snapshot: Snapshot) -> None:
    text = encode_changes(snapshot, map(encode_machine, snapshot.machines))
    appliance.answers["GET /v1/status?after="] = text.encode()


@pytest.mark.usefixtures("all_kinds")
def test_scripts_get_one_document_whatever_the_machines_faults(tinkbox: Callable[..., Printed]) -> None:
    printed = tinkbox("status", "-o", "json")
    assert (printed.status, printed.err) == (0, "")
    document = json.loads(printed.out)
    assert document["counts"] == {
        "machines": 12,
        "problems": 6,
        "by_state": {
            "LOST": 1, "HELD": 1, "FAILED": 1, "TIMEOUT": 1, "PARKED": 1, "STALLED": 1, "UNKNOWN": 1, "STOPPING": 1,
            "RUNNING": 1, "PENDING": 1, "CANCELED": 1, "SUCCESS": 1, "IDLE": 1,
        },
    }  # fmt: skip
    assert document["health"]["faults"] == ["NoOsie"]
    assert document["health"]["disk"]["free"] == 12 << 30
    by_name = {each["name"]: each for each in document["machines"]}
    assert next(iter(by_name)) == "node11", "problems come first"
    running = by_name["node2"]
    assert (running["state"], running["labels"], running["since"]) == (
        "RUNNING",
        {"rack": "r1"},
        "2026-11-21T03:27:46+00:00",
    )
    work = running["workflow"]
    assert (work["action"], work["actions_done"], work["actions_total"]) == ("stream-image", 2, 5)
    assert (work["action_progress"]["done"], work["action_progress"]["total"]) == (41, 100)
    assert by_name["node5"]["workflow"]["reason"] == "DiskNotFound"
    assert by_name["node10"]["workflow"] is None
    assert by_name["52:54:00:00:00:09"]["id"] == ""
    assert yaml.safe_load(tinkbox("status", "-o", "yaml").out) == document


@pytest.mark.usefixtures("all_kinds")
def test_a_table_is_the_plain_picture(tinkbox: Callable[..., Printed]) -> None:
    assert tinkbox("status", "-o", "table").out == tinkbox("status").out


def test_after_a_shell_it_says_whether_a_verdict_was_given_meanwhile() -> None:
    hold = {"task": "disk", "action": "wipe", "verdict": None}
    assert _after_shell(Left(0, "left", hold)) == STAYS_HELD
    decided = {**hold, "verdict": {"verb": "retry", "who": "ben"}}
    assert _after_shell(Left(0, "left", decided)) == "the shell was left; disk/wipe: retry by ben, being carried out"
    assert _after_shell(Left(0, "the shell ended", None)) == "the shell ended"


@pytest.mark.parametrize("wanted", ["csv", "name", "wide", "tink", "xml"])
def test_other_formats_are_refused_with_those_that_there_are(tinkbox: Callable[..., Printed], wanted: str) -> None:
    printed = tinkbox("status", "-o", wanted)
    assert printed.status == 2
    assert all(each in printed.err for each in ("table", "json", "yaml"))


def test_flags_leave_out_other_machines(tinkbox: Callable[..., Printed], appliance: FakeAppliance) -> None:
    racks = [
        failed(1, labels={"rack": "r1"}, state="failed"),
        failed(2, state="failed"),
        machine(3, labels={"rack": "r1"}, state="idle"),
    ]
    answers(appliance, told(*racks))
    document = json.loads(tinkbox("status", "-o", "json", "-l", "rack=r1", "--state", "FAILED,held").out)
    assert [each["name"] for each in document["machines"]] == ["node1"]
    assert document["selected_by"] == {"label": "rack=r1", "state": ["failed", "held"]}
    picture = tinkbox("status", "-l", "rack=r1").out
    assert "-l rack=r1: 2 of 3 machines  1 FAILED  1 IDLE" in picture.splitlines()[0]
    assert "node2" not in picture
    assert "no machine matches -l rack=r9" in tinkbox("status", "-l", "rack=r9").out


def test_an_unknown_state_is_refused_with_those_that_there_are(tinkbox: Callable[..., Printed]) -> None:
    printed = tinkbox("status", "--state", "broken")
    assert printed.status == 2
    assert "'broken' is no state; there are: held, parked, failed, stalled, working" in printed.err
    assert "held" in printed.err
    assert "retired" not in printed.err


@pytest.mark.parametrize(
    ("default", "is_document"), [("json", True), ("table", False), ("csv", False), ("tink", False)]
)
def test_the_default_format_is_that_of_a_script_where_it_is_a_document(
    tinkbox: Callable[..., Printed],
    appliance: FakeAppliance,
    monkeypatch: pytest.MonkeyPatch,
    default: str,
    is_document: bool,
) -> None:
    snapshot = Snapshot(now=datetime(2026, 11, 21, 3, 0, tzinfo=UTC), version="0.1.0", machines=(MACHINE,))
    told = encode_changes(snapshot, map(encode_machine, snapshot.machines))
    appliance.answers["GET /v1/status?after="] = told.encode()
    monkeypatch.setenv("TINKBOX_FORMAT", default)
    assert tinkbox("status").out.startswith("{") is is_document
    assert not tinkbox("status", "-o", "table").out.startswith("{")
