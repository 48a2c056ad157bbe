"""`tinkbox workflow`."""

import csv
import io
import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.unit.cli.conftest import FakeAppliance, Printed
from tests.unit.cli.documents import (
    AT,
    EVENTS,
    HOLD,
    LISTED_WORKFLOW,
    MACHINE,
    MACHINE_ID,
    MACHINE_NAMED,
    STATE,
    TEMPLATE_ID,
    WORKFLOW,
    WORKFLOW_ID,
    event,
)
from tinkbox.cli import called_as, connection
from tinkbox.cli.nouns.workflow import state
from tinkbox.cli.output import formats, printable
from tinkbox.client.operator.quick_connection import QuickConnection
from tinkbox.model.reasons import Reason
from tinkbox.model.workflow import State
from tinkbox.wire.messages.named_machines import machine_name

Tinkbox = Callable[..., Printed]


@pytest.fixture
def workflows(appliance: FakeAppliance) -> FakeAppliance:
    appliance.answers = {
        "GET /v1/workflows": [LISTED_WORKFLOW],
        "GET /v1/workflows?sort=-created_at&limit=100": [LISTED_WORKFLOW],
        "POST /v1/workflows": {"id": WORKFLOW_ID},
        f"GET /v1/workflows/{WORKFLOW_ID}": WORKFLOW,
        "GET /v1/workflows/hello": WORKFLOW,
        f"GET /v1/workflows/{WORKFLOW_ID}/state": STATE,
        f"GET /v1/workflows/{WORKFLOW_ID}/events?after=0": EVENTS,
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


def test_a_persons_word_that_disks_may_go_is_passed_on_and_nobody_elses(
    tinkbox: Tinkbox, workflows: FakeAppliance, tmp_path: Path
) -> None:
    workflows.answers[f"POST /v1/workflows/{WORKFLOW_ID}/retry"] = {"id": WORKFLOW_ID}
    (tmp_path / "w.yaml").write_text("kind: Workflow")
    for words in (
        ("create", "-t", TEMPLATE_ID, "-r", "{}"),
        ("create", "--file", str(tmp_path / "w.yaml")),
        ("retry", WORKFLOW_ID),
    ):
        for confirmed in (True, None):
            workflows.asked.clear()
            tinkbox("workflow", *words, *(("--confirm-wipe",) if confirmed else ()))
            assert json.loads(workflows.asked[-1][1]).get("confirm_wipe") is confirmed


def test_images_are_required_of_a_new_workflow_where_that_is_said(tinkbox: Tinkbox, workflows: FakeAppliance) -> None:
    for words, stdin in ((("-t", TEMPLATE_ID, "-r", "{}"), b""), (("-f", "-"), b"kind: Workflow")):
        for required in (True, None):
            tinkbox("workflow", "create", *words, *(("--require-images", "--strict") if required else ()), stdin=stdin)
            sent = json.loads(workflows.asked[-1][1])
            assert (sent.get("require_images"), sent.get("strict")) == (required, required)


def test_the_workflows_of_a_file_are_all_created(tinkbox: Tinkbox, workflows: FakeAppliance, tmp_path: Path) -> None:
    workflows.answers["POST /v1/workflows"] = {
        "id": "1",
        "created": [{"id": "1", "name": "a"}, {"id": "2", "name": "b"}],
        "notes": [{"line": 9, "key": "spec.bootOptions.bootMode", "text": "not honoured"}],
    }
    (tmp_path / "w.yaml").write_text("kind: Workflow")
    for created in (
        tinkbox("workflow", "create", "--file", str(tmp_path / "w.yaml")),
        tinkbox("workflow", "create", stdin=b"kind: Workflow"),
    ):
        assert created.out == "Created Workflow:  1\nCreated Workflow:  2\n"
        assert created.err == "tinkbox: line 9, spec.bootOptions.bootMode: not honoured\n"
    assert [json.loads(body) for _, body in workflows.asked] == [{"documents": "kind: Workflow"}] * 2


def test_workflows_are_told_in_the_order_of_the_file_with_what_became_of_them(
    tinkbox: Tinkbox, workflows: FakeAppliance
) -> None:
    workflows.answers["POST /v1/workflows"] = {
        "id": "1",
        "results": [
            {"id": "1", "name": "a", "outcome": "unchanged"},
            {"id": "2", "name": "b", "outcome": "created"},
            {"id": "3", "name": "c", "outcome": "unchanged"},
        ],
        "created": [{"id": "2", "name": "b"}],
        "notes": [{"line": 4, "key": "metadata.name", "text": "workflow a is there already"}],
    }
    again = tinkbox("workflow", "create", "-f", "-", stdin=b"kind: Workflow")
    assert (again.status, again.out) == (0, "Existing Workflow:  1\nCreated Workflow:  2\nExisting Workflow:  3\n")
    assert again.err == "tinkbox: line 4, metadata.name: workflow a is there already\n"
    assert tinkbox("workflow", "create", "-f", "-", "-o", "name", stdin=b"kind: Workflow").out == "1\n2\n3\n"
    assert "again" not in json.loads(workflows.asked[-1][1])
    for number in "123":
        workflows.answers[f"GET /v1/workflows/{number}"] = {"id": number, "state": "STATE_PENDING"}
    told = json.loads(tinkbox("workflow", "create", "-f", "-", "-o", "json", stdin=b"kind: Workflow").out)
    assert [(each["id"], each["state"], each["outcome"]) for each in told] == [
        ("1", "STATE_PENDING", "unchanged"),
        ("2", "STATE_PENDING", "created"),
        ("3", "STATE_PENDING", "unchanged"),
    ]
    tinkbox("workflow", "create", "-f", "-", "--again", stdin=b"kind: Workflow")
    assert json.loads(workflows.asked[-1][1]) == {"documents": "kind: Workflow", "again": True}
    dry = tinkbox("workflow", "create", "-f", "-", "--dry-run", stdin=b"kind: Workflow")
    assert (dry.status, "of documents, `tinkbox apply -f FILE --dry-run` says what would be made" in dry.err) == (
        2,
        True,
    )
    wrong = tinkbox("workflow", "create", "-t", "t", "node1", "--again")
    assert (wrong.status, "--again is for documents: -t makes another workflow each time" in wrong.err) == (2, True)


def test_a_workflow_is_created_with_breakpoints(tinkbox: Tinkbox, workflows: FakeAppliance, tmp_path: Path) -> None:
    (tmp_path / "w.yaml").write_text("kind: Workflow")
    flags = ["--breakpoint", "on-failure", "--breakpoint", "before=disk/wipe", "--breakpoint", "before=image"]
    for source in (["-t", "t", "-r", "{}"], ["--file", str(tmp_path / "w.yaml")]):
        assert tinkbox("workflow", "create", *source, *flags).status == 0
        asked = json.loads(workflows.asked[-1][1])
        assert asked["breakpoints"] == {"on_failure": True, "before": ["disk/wipe", "image"]}
    assert tinkbox("workflow", "create", "-t", "t", "-r", "{}", "--breakpoint", "after=a").status == 0
    assert json.loads(workflows.asked[-1][1])["breakpoints"] == {"after": ["a"]}


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ([], "tinkbox: what is to be done is missing: give -t TEMPLATE"),
        (["-t", "x"], "MACHINE or -r JSON is missing: "),
        (["-t", "x", "--label", "rack=r1"], "; --label labels the workflow, -l selects machines by their labels\n"),
        (["-r", "{}"], "tinkbox: -t TEMPLATE is missing: "),
    ],
)
def test_what_is_missing_for_a_workflow_is_told_without_asking(
    tinkbox: Tinkbox, workflows: FakeAppliance, flags: list[str], told: str
) -> None:
    wrong = tinkbox("workflow", "create", *flags)
    assert (wrong.status, workflows.asked) == (2, [])
    assert told in wrong.err


@pytest.mark.parametrize("devices", ["{", '["a"]', "device_1=x"])
def test_devices_that_are_no_map_are_told_without_asking(
    tinkbox: Tinkbox, workflows: FakeAppliance, devices: str
) -> None:
    failed = tinkbox("workflow", "create", "-t", "x", "-r", devices)
    assert (failed.status, failed.out) == (2, "")
    assert f"argument -r/--hardware: {devices!r} is no" in failed.err
    assert '{"device_1": "08:00:27:00:00:01"}' in failed.err
    assert workflows.asked == []


@pytest.fixture
def two_hours_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printable, "now", lambda: datetime(2020, 7, 8, 17, 22, 3, tzinfo=UTC))


OTHERS = [
    LISTED_WORKFLOW,
    {
        **LISTED_WORKFLOW,
        "id": "b" * 36,
        "state": "FAILED",
        "reason": "DiskTooSmall",
        "message": "8 GiB\x1b[2J",
        "machines": [MACHINE_NAMED] * 3,
    },
    {
        **LISTED_WORKFLOW,
        "id": "c" * 36,
        "template_name": "",
        "machines": [{"id": "0123456789", "name": "", "hostname": "", "mac": ""}],
    },
    {**LISTED_WORKFLOW, "id": "d" * 36, "machines": []},
]


@pytest.mark.usefixtures("two_hours_later")
def test_the_list_answers_what_is_asked_at_night(tinkbox: Tinkbox, workflows: FakeAppliance) -> None:
    workflows.answers["GET /v1/workflows?sort=-created_at&limit=100"] = OTHERS
    listed = tinkbox("workflow", "list")
    assert listed.out == (
        "ID        NAME   MACHINE     TEMPLATE     STATE    PROGRESS  REASON        AGE\n"
        "a8984b09  hello  machine-1   hello-world  RUNNING  2/5                     2h\n"
        "bbbbbbbb  hello  3 machines  hello-world  FAILED   2/5       DiskTooSmall  2h\n"
        "cccccccc  hello  01234567                 RUNNING  2/5                     2h\n"
        "dddddddd  hello              hello-world  RUNNING  2/5                     2h\n"
    )
    assert listed.err == ""
    assert "\x1b" not in tinkbox("workflow", "list", "-o", "wide").out


def test_the_list_fits_a_narrow_terminal(
    tinkbox: Tinkbox, workflows: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = {
        **LISTED_WORKFLOW,
        "name": "ubuntu-24.04-on-the-second-disk",
        "template_name": "ubuntu-24.04-with-raid",
        "machines": [{**MACHINE_NAMED, "hostname": "r07-u12.lab.example.org"}],
        "state": "CANCELED",
        "reason": "NetworkUnreachable",
    }
    workflows.answers["GET /v1/workflows?sort=-created_at&limit=100"] = [long]
    monkeypatch.setattr(formats, "is_terminal", lambda: True)
    for columns, titles in (
        (200, "ID NAME MACHINE TEMPLATE STATE PROGRESS REASON AGE"),
        (80, "ID NAME MACHINE TEMPLATE STATE PROGRESS REASON AGE"),
        (60, "ID NAME MACHINE STATE REASON AGE"),
    ):
        monkeypatch.setenv("COLUMNS", str(columns))
        lines = tinkbox("workflow", "list").out.splitlines()
        assert lines[0].split() == titles.split()
        assert max(map(len, lines)) <= columns
    assert "CANCELED" in lines[1]


def test_a_table_has_the_newest_and_says_that_there_are_more(tinkbox: Tinkbox, workflows: FakeAppliance) -> None:
    workflows.totals["GET /v1/workflows?sort=-created_at&limit=100"] = 2143
    assert tinkbox("workflow", "list").err == "1 of 2143 shown; --limit 0 shows all\n"
    workflows.answers["GET /v1/workflows?sort=-created_at&limit=0"] = [LISTED_WORKFLOW]
    assert tinkbox("workflow", "list", "--limit", "0").err == ""


def test_every_format_has_one_order_and_says_what_a_limit_left_out(tinkbox: Tinkbox, workflows: FakeAppliance) -> None:
    workflows.answers["GET /v1/workflows?sort=-created_at"] = [LISTED_WORKFLOW]
    workflows.answers[few := "GET /v1/workflows?sort=-created_at&limit=1"] = [LISTED_WORKFLOW]
    workflows.totals[few] = 2143
    for flags in (["-q"], ["-o", "json"], ["-o", "yaml"], ["-o", "csv"], ["-o", "name"]):
        assert tinkbox("workflow", "list", *flags).err == "", flags
        assert workflows.asked[-1][0] == "GET /v1/workflows?sort=-created_at", "all of them"
        assert tinkbox("workflow", "list", *flags, "--limit", "1").err == "1 of 2143 shown; --limit 0 shows all\n"
    workflows.totals[few.replace("sort=-created_at&", "")] = 2143
    workflows.answers[few.replace("sort=-created_at&", "")] = [LISTED_WORKFLOW]
    assert tinkbox("workflow", "list", "-o", "tink", "--limit", "1").err == ""


def test_programs_get_what_stands_in_the_documents(tinkbox: Tinkbox, workflows: FakeAppliance) -> None:
    workflows.answers["GET /v1/workflows?sort=-created_at"] = [LISTED_WORKFLOW]
    (row,) = csv.DictReader(io.StringIO(tinkbox("workflow", "list", "-o", "csv").out))
    assert (row["id"], row["machine"], row["created_at"]) == (WORKFLOW_ID, "machine-1", AT)
    far = {name: str(LISTED_WORKFLOW[f"actions_{name}"]) for name in ("done", "total")}
    assert {name: row[name] for name in far} == far, "1/2 would be a date"
    assert json.loads(tinkbox("workflow", "list", "-o", "json").out) == [LISTED_WORKFLOW]


def test_the_list_is_2020s_table(tink: Tinkbox, workflows: FakeAppliance) -> None:
    lines = tink("workflow", "list").out.splitlines()
    assert [cell.strip() for cell in lines[1].split("|")[1:-1]] == [
        "WORKFLOW ID", "TEMPLATE ID", "HARDWARE DEVICE", "CREATED AT", "UPDATED AT",
    ]  # fmt: skip
    assert [cell.strip() for cell in lines[3].split("|")[1:-1]] == [
        WORKFLOW_ID, TEMPLATE_ID, '{"device_1": "08:00:27:00:00:01"}',
        "2020-07-08 15:17:02 +0000 UTC", "2020-07-08 15:17:02 +0000 UTC",
    ]  # fmt: skip
    assert tink("workflow", "get").out.splitlines() == lines


def test_a_workflow_is_its_rendered_template(tinkbox: Tinkbox, workflows: FakeAppliance) -> None:
    assert tinkbox("workflow", "get", WORKFLOW_ID).out == WORKFLOW["text"]
    assert json.loads(tinkbox("workflow", "get", WORKFLOW_ID, "--format", "json").out) == WORKFLOW


def test_the_state_names_workflow_machine_and_template(tinkbox: Tinkbox, workflows: FakeAppliance) -> None:
    assert tinkbox("workflow", "state", WORKFLOW_ID).out == (
        f"Workflow:  hello ({WORKFLOW_ID})\n"
        "Template:  hello-world\n"
        "Machine:   machine-1 (08:00:27:00:00:01)\n"
        "State:     RUNNING\n"
        "Progress:  2 of 3 actions done\n"
        "Action:    hello world / reboot: RUNNING\n"
    )


@pytest.mark.parametrize(
    ("state", "action", "told"),
    [
        ("CANCELED", "PENDING", "reboot: never began"),
        ("PENDING", "PENDING", "reboot: not begun yet"),
        ("FAILED", "FAILED", "reboot: FAILED"),
    ],
)
def test_the_state_does_not_contradict_itself(
    tinkbox: Tinkbox, workflows: FakeAppliance, state: str, action: str, told: str
) -> None:
    stands = {**STATE, "state": state, "current_action_state": action}
    workflows.answers[f"GET /v1/workflows/{WORKFLOW_ID}/state"] = stands
    lines = tinkbox("workflow", "state", WORKFLOW_ID).out.splitlines()
    assert lines[3].split() == ["State:", state]
    assert lines[5].endswith(f"/ {told}")


def test_what_was_canceled_behind_its_last_action_has_none_to_resume(
    tinkbox: Tinkbox, workflows: FakeAppliance
) -> None:
    stands = {**STATE, "state": "CANCELED", "current_action_state": "SUCCESS", "actions_done": 3}
    workflows.answers[f"GET /v1/workflows/{WORKFLOW_ID}/state"] = stands
    last = tinkbox("workflow", "state", WORKFLOW_ID).out.splitlines()[-1].strip()
    assert last.startswith("tinkbox workflow retry a8984b09 --from 'hello world/reboot': every action is done")


def test_what_helps_after_a_failure_can_be_typed(tinkbox: Tinkbox, workflows: FakeAppliance) -> None:
    failed = {**FAILED, "message": "too small", "hint": "`tinkbox workflow retry WORKFLOW` runs it again"}
    workflows.answers[f"GET /v1/workflows/{WORKFLOW_ID}/state"] = failed
    assert tinkbox("workflow", "state", WORKFLOW_ID).out.splitlines()[6:] == [
        "Failed Attempts:  3 of 3",
        "Reason:           DiskTooSmall",
        "Message:          too small",
        "Hint:             `tinkbox workflow retry a8984b09` runs it again",
        "Exit Code:        3",
        "Last Output:      looking at /dev/sda",
        "                   [31mtoo small",
        "",
        "What Next:        tinkbox workflow logs a8984b09: what it printed",
        "                  tinkbox workflow retry a8984b09: once more from this action on",
    ]
    failed["overtaken"] = "workflow 5d3f0a11 (os) waits to begin: `tinkbox workflow cancel 5d3f0a11` takes it away"
    assert "Hint:" not in tinkbox("workflow", "state", WORKFLOW_ID).out
    assert tinkbox("workflow", "state", WORKFLOW_ID).out.splitlines()[-1] == (
        "                  not to be retried: workflow 5d3f0a11 (os) waits to begin: `tinkbox workflow cancel 5d3f0a11` takes it away"
    )
    held = {**STATE, "current_action_state": "HELD", "held": HOLD}
    workflows.answers[f"GET /v1/workflows/{WORKFLOW_ID}/state"] = held
    assert "(tinkbox breakpoint VERDICT a8984b09)" in tinkbox("workflow", "state", WORKFLOW_ID).out


HELD_AT_LAST_ATTEMPT = {
    **STATE,
    "current_action_state": "HELD",
    "held": HOLD,
    "failures": 2,
    "failed_attempts": 3,
    "retries": 2,
}


def test_the_hint_of_a_service_that_failed_names_it(tinkbox: Tinkbox, workflows: FakeAppliance) -> None:
    workflows.answers[f"GET /v1/workflows/{WORKFLOW_ID}/state"] = SERVICE_FAILED
    printed = tinkbox("workflow", "state", WORKFLOW_ID).out
    assert "read what it printed: `tinkbox service logs 'a8984b09/boot files'`\n" in printed
    of_before = {name: value for name, value in SERVICE_FAILED.items() if name != "service"}
    workflows.answers[f"GET /v1/workflows/{WORKFLOW_ID}/state"] = of_before
    assert "`tinkbox service logs a8984b09/SERVICE`\n" in tinkbox("workflow", "state", WORKFLOW_ID).out


def test_csv_has_each_field_that_is_told_of_some_workflows(tinkbox: Tinkbox, workflows: FakeAppliance) -> None:
    other = WORKFLOW_ID.replace("a", "b")
    workflows.answers[f"GET /v1/workflows/{WORKFLOW_ID}/state"] = {**FAILED, "overtaken": "it has another system"}
    workflows.answers[f"GET /v1/workflows/{other}/state"] = SERVICE_FAILED
    printed = tinkbox("workflow", "state", WORKFLOW_ID, other, "--format", "csv").out
    told = [(each["overtaken"], each["service"]) for each in csv.DictReader(io.StringIO(printed))]
    assert told == [("it has another system", ""), ("", "boot files")]


def test_a_hint_that_stands_below_with_its_key_is_not_told_twice(tinkbox: Tinkbox, workflows: FakeAppliance) -> None:
    told = {**FAILED, "message": "exit code 3", "hint": Reason.NON_ZERO_EXIT.hint}
    workflows.answers[f"GET /v1/workflows/{WORKFLOW_ID}/state"] = told
    printed = tinkbox("workflow", "state", WORKFLOW_ID).out
    assert printed.count("workflow logs") == 1
    assert "Hint:" not in printed


def test_it_is_not_told_twice_with_the_folder_of_the_appliance(
    tinkbox: Tinkbox, workflows: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (connection, state):
        monkeypatch.setattr(module, "called_as", lambda _: "tinkbox --data /a")
    told = {**FAILED, "message": "exit code 3", "hint": Reason.NON_ZERO_EXIT.hint}
    workflows.answers[f"GET /v1/workflows/{WORKFLOW_ID}/state"] = told
    assert tinkbox("workflow", "state", WORKFLOW_ID).out.count("workflow logs") == 1


def test_output_is_offered_where_something_was_printed_and_nowhere_else(
    tinkbox: Tinkbox, workflows: FakeAppliance
) -> None:
    for printed, offered in ((0, False), (7, True)):
        workflows.answers[f"GET /v1/workflows/{WORKFLOW_ID}/state"] = {**FAILED, "output_bytes": printed}
        assert ("workflow logs" in tinkbox("workflow", "state", WORKFLOW_ID).out) is offered


WAY = "if the template is to blame: `tinkbox template update os -f FILE`, then `tinkbox workflow create -t os vm1` runs the new text"


def test_way_to_another_text_is_told_once_with_its_whole_command(
    tinkbox: Tinkbox, workflows: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = {**FAILED, "reason": "NoSuchDisk", "message": "there is no /dev/vdz", "hint": Reason.NO_SUCH_DISK.hint}
    workflows.answers[f"GET /v1/workflows/{WORKFLOW_ID}/state"] = missing
    of_before = tinkbox("workflow", "state", WORKFLOW_ID).out
    machine = machine_name(MACHINE_NAMED)
    assert f"(`tinkbox workflow create -t {FAILED['template_name']} {machine}`)" in of_before
    for module in (connection, state):
        monkeypatch.setattr(module, "called_as", lambda _: "tinkbox --data /a")
    workflows.answers[f"GET /v1/workflows/{WORKFLOW_ID}/state"] = {**missing, "way_to_change": WAY}
    told = tinkbox("workflow", "state", WORKFLOW_ID).out
    assert told.splitlines()[-1].strip() == WAY.replace("`tinkbox", "`tinkbox --data /a")
    assert told.count("workflow create") == 1


CHANGED = "template 'os' was changed since: a retry runs the text of before; `tinkbox workflow create -t os vm1` makes a workflow of the new one"


def test_changed_template_is_told_beside_a_retry(tinkbox: Tinkbox, workflows: FakeAppliance) -> None:
    workflows.answers[f"GET /v1/workflows/{WORKFLOW_ID}/state"] = {**FAILED, "template_changed": CHANGED}
    *_, told, retry = tinkbox("workflow", "state", WORKFLOW_ID).out.splitlines()
    assert told.strip() == CHANGED
    assert "workflow retry" in retry
    workflows.answers[f"POST /v1/workflows/{WORKFLOW_ID}/retry"] = {"id": WORKFLOW_ID, "template_changed": CHANGED}
    retried = tinkbox("workflow", "retry", WORKFLOW_ID)
    assert (retried.out, retried.err) == (f"Retried Workflow:  {WORKFLOW_ID}\n", f"tinkbox: {CHANGED}\n")


def test_commands_of_what_a_retry_tells_reach_the_same_appliance(
    tinkbox: Tinkbox, workflows: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(called_as, "called_as", lambda _: "tinkbox --data /a")
    workflows.answers[f"POST /v1/workflows/{WORKFLOW_ID}/retry"] = {"id": WORKFLOW_ID, "template_changed": CHANGED}
    assert "`tinkbox --data /a workflow create -t os vm1`" in tinkbox("workflow", "retry", WORKFLOW_ID).err


def test_of_an_action_that_never_ran_no_output_is_offered(tinkbox: Tinkbox, workflows: FakeAppliance) -> None:
    not_found = {**FAILED, "reason": "ImageNotFound", "hint": Reason.IMAGE_NOT_FOUND.hint}
    never_began = {**FAILED, "current_action_state": "PENDING"}
    for stands in (not_found, never_began):
        workflows.answers[f"GET /v1/workflows/{WORKFLOW_ID}/state"] = stands
        printed = tinkbox("workflow", "state", WORKFLOW_ID).out
        assert "workflow logs" not in printed
        assert (
            printed.splitlines()[-1]
            == "What Next:        tinkbox workflow retry a8984b09: once more from this action on"
        )


def test_a_failed_attempt_that_is_held_counts_as_failed(tinkbox: Tinkbox, workflows: FakeAppliance) -> None:
    workflows.answers[f"GET /v1/workflows/{WORKFLOW_ID}/state"] = HELD_AT_LAST_ATTEMPT
    assert "Failed Attempts:  3 of 3\n" in tinkbox("workflow", "state", WORKFLOW_ID).out
    again = {**HELD_AT_LAST_ATTEMPT, "failures": 3, "failed_attempts": 4}
    workflows.answers[f"GET /v1/workflows/{WORKFLOW_ID}/state"] = again
    assert "Failed Attempts:  4 of 4\n" in tinkbox("workflow", "state", WORKFLOW_ID).out, "a verdict had it run again"


def test_the_words_of_2020_count_the_attempts_that_are_over(tink: Tinkbox, workflows: FakeAppliance) -> None:
    workflows.answers[f"GET /v1/workflows/{WORKFLOW_ID}/state"] = HELD_AT_LAST_ATTEMPT
    assert ["Failed Attempts", "2 of 3"] in rows(tink("workflow", "state", WORKFLOW_ID).out)


def test_what_was_decided_or_is_being_stopped_is_not_called_held(tinkbox: Tinkbox, workflows: FakeAppliance) -> None:
    verdict = {"verb": "retry", "who": "anna", "why": "new disk", "fresh": False, "command": None, "environment": {}}
    decided = {**HOLD, "verdict": verdict, "verdicts": [], "container": False}
    held = {**STATE, "current_action_state": "HELD", "held": decided}
    workflows.answers[f"GET /v1/workflows/{WORKFLOW_ID}/state"] = held
    lines = tinkbox("workflow", "state", WORKFLOW_ID).out.splitlines()
    action = next(number for number, line in enumerate(lines) if line.startswith("Action:"))
    assert lines[action].endswith(": RUNNING")
    assert lines[action + 1 :][:2] == [
        "Was Held:  because it failed",
        "Verdict:   retry by anna, being carried out: new disk",
    ]
    assert "HELD" not in "".join(lines)
    stopping = {**STATE, "state": "STOPPING", "current_action_state": "HELD", "held": None}
    workflows.answers[f"GET /v1/workflows/{WORKFLOW_ID}/state"] = stopping
    printed = tinkbox("workflow", "state", WORKFLOW_ID).out
    assert printed.count(": STOPPING\n") == 1
    assert printed.splitlines()[-1] == (
        "What Next:  tinkbox workflow cancel --force a8984b09: ends it if its machine is off"
    )
    assert "HELD" not in printed


def test_the_lines_to_type_reach_the_same_appliance(
    tinkbox: Tinkbox, workflows: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (connection, state):
        monkeypatch.setattr(module, "called_as", lambda _: "tinkbox --data /a")
    failed = {**FAILED, "hint": "`tinkbox workflow retry WORKFLOW` runs it again"}
    workflows.answers[f"GET /v1/workflows/{WORKFLOW_ID}/state"] = failed
    lines = tinkbox("workflow", "state", WORKFLOW_ID).out.splitlines()
    typed = [line.split("tinkbox ")[1].rpartition("  ")[2] for line in lines if "tinkbox " in line]
    assert typed == [
        "--data /a workflow retry a8984b09` runs it again",
        "--data /a workflow logs a8984b09: what it printed",
        "--data /a workflow retry a8984b09: once more from this action on",
    ]


def test_the_state_is_a_table_of_fields(tink: Tinkbox, workflows: FakeAppliance) -> None:
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
    assert tink("workflow", "state", WORKFLOW_ID).out.startswith(expected)
    assert tink("workflow", "state", WORKFLOW_ID, "-q").out == "RUNNING\n"
    assert json.loads(tink("workflow", "state", WORKFLOW_ID, "--format", "json").out) == STATE


def test_of_the_state_q_prints_the_id_as_of_everything(tinkbox: Tinkbox, workflows: FakeAppliance) -> None:
    assert tinkbox("workflow", "state", WORKFLOW_ID, "-q").out == f"{WORKFLOW_ID}\n"


def test_the_state_tells_how_far_the_action_is(tink: Tinkbox, workflows: FakeAppliance) -> None:
    far = {"done": 41, "total": 100, "unit": "bytes", "rate": 38e6, "seconds_left": 72}
    workflows.answers[f"GET /v1/workflows/{WORKFLOW_ID}/state"] = {**STATE, "action_progress": far}
    assert ["Action Progress", "41 %  38 MB/s  1:12 left"] in rows(tink("workflow", "state", WORKFLOW_ID).out)
    assert tink("workflow", "state", WORKFLOW_ID, "--format", "csv").status == 0


FAILED = {
    **STATE,
    "state": "FAILED",
    "current_action_state": "FAILED",
    "failures": 3,
    "retries": 2,
    "reason": "DiskTooSmall",
    "message": "the image needs 8 GiB\n" + "word " * 30 + "\x1b[2Jend",
    "hint": "use a larger disk",
    "exit_code": 3,
    "last_output": ["looking at /dev/sda", "\x1b[31mtoo small", ""],
}

SERVICE_FAILED = {
    **FAILED,
    "reason": "ServiceFailed",
    "message": "service boot files: it ended",
    "hint": Reason.SERVICE_FAILED.hint,
    "service": "boot files",
}


def rows(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if line.startswith("|")]


def test_a_failed_actions_state_explains_itself(tink: Tinkbox, workflows: FakeAppliance) -> None:
    workflows.answers[f"GET /v1/workflows/{WORKFLOW_ID}/state"] = FAILED
    shown = tink("workflow", "state", WORKFLOW_ID).out
    assert rows(shown)[6:] == [
        ["Current Action State", "ACTION_FAILED"],
        ["Failed Attempts", "3 of 3"],
        ["Reason", "DiskTooSmall"],
        ["Message", "the image needs 8 GiB"],
        ["", ("word " * 20).strip()],
        ["", "word " * 10 + " [2Jend"],
        ["Hint", "use a larger disk"],
        ["Exit Code", "3"],
        ["Last Output", "looking at /dev/sda"],
        ["", "[31mtoo small"],
        ["", ""],
    ]
    assert "\x1b" not in shown
    assert len({len(line) for line in shown.splitlines()}) == 1


def test_a_workflow_that_waits_for_its_services_says_for_which(tink: Tinkbox, workflows: FakeAppliance) -> None:
    message = "waiting for service boot, which is STARTING (its health check fails: \x1b[2J); " + "service s " * 10
    waiting = {"type": "Started", "status": "False", "reason": "WaitingForServices", "message": message}
    pending = {**waiting, "reason": "Pending", "message": "waiting for the worker of its first action"}
    stands = {**STATE, "state": "PENDING", "current_action_state": "PENDING", "conditions": [pending, waiting]}
    workflows.answers[f"GET /v1/workflows/{WORKFLOW_ID}/state"] = stands
    assert rows(tink("workflow", "state", WORKFLOW_ID).out)[6:] == [
        ["Current Action State", "ACTION_PENDING"],
        ["Waiting", "waiting for service boot, which is STARTING (its health check fails:  [2J); service s service s"],
        ["", "service s " * 7 + "service s"],
    ]


def test_what_a_workflow_waits_for_and_what_the_doctor_says_of_it_are_fields(
    tinkbox: Tinkbox, workflows: FakeAppliance
) -> None:
    found = {"rule": "Stalled", "cause": "Its boot stands still at \x1b[2J the kernel."}
    stands = {
        **STATE,
        "state": "PENDING",
        "current_action_state": "PENDING",
        "waiting": "node7, never seen",
        "diagnosis": found,
    }
    workflows.answers[f"GET /v1/workflows/{WORKFLOW_ID}/state"] = stands
    shown = tinkbox("workflow", "state", WORKFLOW_ID).out.splitlines()
    assert "Waiting:    for node7, never seen" in shown
    assert "Diagnosis:  Its boot stands still at  [2J the kernel." in shown
    key = WORKFLOW_ID[:8]
    assert shown[shown.index("Diagnosis:  Its boot stands still at  [2J the kernel.") + 1].strip() == (
        f"tinkbox doctor {key}: what that rests on, and what to do"
    )
    workflows.answers[f"GET /v1/workflows/{WORKFLOW_ID}/state"] = {
        **stands,
        "diagnosis": {**found, "rule": "WorkflowFailed"},
    }
    assert "Diagnosis" not in tinkbox("workflow", "state", WORKFLOW_ID).out


def test_a_signal_is_named_instead_of_an_exit_code(tink: Tinkbox, workflows: FakeAppliance) -> None:
    killed = {**STATE, "current_action_state": "FAILED", "reason": "Signal", "signal": "SIGSEGV"}
    workflows.answers[f"GET /v1/workflows/{WORKFLOW_ID}/state"] = killed
    assert rows(tink("workflow", "state", WORKFLOW_ID).out)[7:] == [["Reason", "Signal"], ["Signal", "SIGSEGV"]]


def test_what_is_held_is_told_with_what_can_be_decided(tink: Tinkbox, workflows: FakeAppliance) -> None:
    held = {
        **FAILED, "state": "RUNNING", "current_action_state": "HELD", "failures": 0, "message": "no disk", "hint": "",
        "last_output": [], "held": {**HOLD, "container": False},
    }  # fmt: skip
    workflows.answers[f"GET /v1/workflows/{WORKFLOW_ID}/state"] = held
    assert rows(tink("workflow", "state", WORKFLOW_ID).out)[6:] == [
        ["Current Action State", "ACTION_HELD"],
        ["Held", "because it failed"],
        ["Held Since", "2020-07-08 15:17:02 +0000 UTC"],
        ["Held Until", "2020-07-08 15:47:02 +0000 UTC, then fail"],
        ["Verdicts", "continue, fail, retry, abort (tinkbox breakpoint VERDICT WORKFLOW)"],
        ["Container", "none to open a shell in"],
        ["Reason", "DiskTooSmall"],
        ["Message", "no disk"],
        ["Exit Code", "3"],
    ]


def test_a_verdict_that_is_not_carried_out_yet_is_told(tink: Tinkbox, workflows: FakeAppliance) -> None:
    verdict = {"verb": "retry", "who": "anna", "why": "new disk", "fresh": False, "command": None, "environment": {}}
    held = {**STATE, "current_action_state": "HELD", "held": {**HOLD, "kind": "before", "verdict": verdict}}
    workflows.answers[f"GET /v1/workflows/{WORKFLOW_ID}/state"] = held
    assert rows(tink("workflow", "state", WORKFLOW_ID).out)[7:] == [
        ["Held", "before it starts"],
        ["Held Since", "2020-07-08 15:17:02 +0000 UTC"],
        ["Verdict", "retry by anna: new disk"],
    ]


def test_what_succeeded_needs_no_explanation(tink: Tinkbox, workflows: FakeAppliance) -> None:
    done = {**STATE, "current_action_state": "SUCCESS", "exit_code": 0, "last_output": ["bye"], "retries": 2}
    workflows.answers[f"GET /v1/workflows/{WORKFLOW_ID}/state"] = done
    assert rows(tink("workflow", "state", WORKFLOW_ID).out)[6:] == [["Current Action State", "ACTION_SUCCESS"]]


@pytest.mark.parametrize("state", [state for state in State if state is not State.STOPPING])
def test_every_state_of_an_action_has_its_word(tink: Tinkbox, workflows: FakeAppliance, state: State) -> None:
    workflows.answers[f"GET /v1/workflows/{WORKFLOW_ID}/state"] = {**STATE, "current_action_state": state}
    assert rows(tink("workflow", "state", WORKFLOW_ID).out)[6][1].startswith("ACTION_")


def test_parameters_of_any_kind_are_shown_as_json(tinkbox: Tinkbox, workflows: FakeAppliance) -> None:
    workflows.answers[f"GET /v1/workflows/{WORKFLOW_ID}"] = {
        **WORKFLOW,
        "devices": {"a": "x" * 60, "n": 3, "m": {"k": [None]}},
    }
    shown = tinkbox("workflow", "get", WORKFLOW_ID, "--format", "csv").out
    assert '""n"": 3, ""m"": {""k"": [null]}' in shown


def test_in_csv_the_state_is_one_line_of_plain_values(tinkbox: Tinkbox, workflows: FakeAppliance) -> None:
    workflows.answers[f"GET /v1/workflows/{WORKFLOW_ID}/state"] = {**FAILED, "message": "m"}
    header, line = tinkbox("workflow", "state", WORKFLOW_ID, "--format", "csv").out.splitlines()
    assert dict(zip(header.split(","), line.split(","), strict=True)) == {
        name: str(value)
        for name, value in {**FAILED, "message": "m"}.items()
        if name != "held" and not isinstance(value, list)
    }


def test_events_have_their_time_and_all_are_there(tinkbox: Tinkbox, workflows: FakeAppliance) -> None:
    assert tinkbox("workflow", "events", WORKFLOW_ID).out == (
        "TIME                     EVENT             ACTION  TOOK  MESSAGE\n"
        "2020-07-08 15:17:02 UTC  workflow.created\n"
        "2020-07-08 15:17:02 UTC  workflow.started\n"
        "2020-07-08 15:17:02 UTC  action.started    one           Started execution\n"
        "2020-07-08 15:17:02 UTC  action.succeeded  one     13s   Finished Execution Successfully\n"
        "2020-07-08 15:17:02 UTC  action.failed     two     0.2s  DiskNotFound: no /dev/sda [2J\n"
        "2020-07-08 15:17:02 UTC  workflow.failed\n"
    )


def test_events_are_2020s_table_with_whole_seconds_to_the_right(tink: Tinkbox, workflows: FakeAppliance) -> None:
    lines = tink("workflow", "events", WORKFLOW_ID).out.splitlines()
    assert [" ".join(line.split()) for line in lines if line.startswith("|")] == [
        "| WORKER ID | TASK NAME | ACTION NAME | EXECUTION TIME | MESSAGE | ACTION STATUS |",
        f"| {MACHINE_ID} | hello world | one | 0 | Started execution | ACTION_IN_PROGRESS |",
        f"| {MACHINE_ID} | hello world | one | 12 | Finished Execution Successfully | ACTION_SUCCESS |",
        f"| {MACHINE_ID} | hello world | two | 0 | DiskNotFound: no /dev/sda [2J | ACTION_FAILED |",
    ]
    assert "|             12 |" in lines[4]
    assert json.loads(tink("workflow", "events", WORKFLOW_ID, "--format", "json").out) == EVENTS


def test_a_workflow_without_events_is_an_empty_table(tink: Tinkbox, workflows: FakeAppliance) -> None:
    workflows.answers[f"GET /v1/workflows/{WORKFLOW_ID}/events?after=0"] = EVENTS[:1]
    border = "+-----------+-----------+-------------+----------------+---------+---------------+\n"
    assert tink("workflow", "events", WORKFLOW_ID).out == (
        border
        + "| WORKER ID | TASK NAME | ACTION NAME | EXECUTION TIME | MESSAGE | ACTION STATUS |\n"
        + border
        + border
    )


def test_watching_a_failed_workflow_is_1_and_tells_why(tinkbox: Tinkbox, workflows: FakeAppliance) -> None:
    watched = tinkbox("workflow", "watch", "hello")
    assert watched.status == 1
    assert watched.out.splitlines() == [
        "2020-07-08 15:17:02 UTC  workflow.created",
        "2020-07-08 15:17:02 UTC  workflow.started",
        "2020-07-08 15:17:02 UTC  action.started     hello world / one",
        "2020-07-08 15:17:02 UTC  action.succeeded   hello world / one after 12.9 s",
        "2020-07-08 15:17:02 UTC  action.failed      hello world / two after 0.2 s: DiskNotFound: no /dev/sda [2J",
        "2020-07-08 15:17:02 UTC  workflow.failed",
    ]


def test_watching_prints_each_event_once_over_an_absence_and_is_0_after_success(
    tinkbox: Tinkbox, workflows: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[float] = []
    events = f"GET /v1/workflows/{WORKFLOW_ID}/events?after="
    workflows.answers |= {f"{events}0": EVENTS[:2], f"{events}2": []}

    async def look_again(seconds: float) -> None:
        looks.append(seconds)
        workflows.away = len(looks) == 1
        if len(looks) == 3:
            workflows.answers[f"{events}2"] = [event(3, "workflow.succeeded")]

    monkeypatch.setattr("asyncio.sleep", look_again)
    watched = tinkbox("workflow", "watch", WORKFLOW_ID)
    assert watched.status == 0
    assert [line.split()[3] for line in watched.out.splitlines()] == [
        "workflow.created", "workflow.started", "workflow.succeeded",
    ]  # fmt: skip
    assert watched.err.count("trying again") == 1


def test_watching_begins_anew_and_says_so_when_the_appliance_was_put_back_to_an_earlier_day(
    tinkbox: Tinkbox, workflows: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = f"GET /v1/workflows/{WORKFLOW_ID}/events?after="
    workflows.answers |= {f"{events}0": EVENTS[:2], f"{events}2": [event(1, "workflow.canceled")]}

    async def look_again(_: float) -> None:
        pass

    monkeypatch.setattr("asyncio.sleep", look_again)
    watched = tinkbox("workflow", "watch", WORKFLOW_ID)
    assert [line.split()[3] for line in watched.out.splitlines()] == [
        "workflow.created", "workflow.started", "workflow.canceled",
    ]  # fmt: skip
    assert "the appliance has no event 2: was it put back to an earlier day?" in watched.err


@pytest.mark.parametrize(
    ("end", "status"),
    [("workflow.succeeded", 0), ("workflow.failed", 1), ("workflow.timeout", 1), ("workflow.canceled", 1)],
)
def test_every_end_of_a_workflow_ends_the_watching_but_one_that_was_retried(
    tinkbox: Tinkbox, workflows: FakeAppliance, end: str, status: int
) -> None:
    told = [
        *EVENTS,
        event(7, "workflow.retried", **{"from": 1}),
        event(8, "workflow.stopping", into="CANCELED", reason="Canceled", message="the workflow was canceled"),
        event(9, end, reason="Why", message="because"),
    ]
    workflows.answers[f"GET /v1/workflows/{WORKFLOW_ID}/events?after=0"] = told
    watched = tinkbox("workflow", "watch", WORKFLOW_ID)
    assert watched.status == status
    assert [line.partition(" UTC  ")[2] for line in watched.out.splitlines()[6:]] == [
        "workflow.retried",
        "workflow.stopping  Canceled: the workflow was canceled",
        f"{end:<18} Why: because",
    ]


def test_the_end_of_a_workflow_ends_the_watching_though_its_services_end_behind_it(
    tinkbox: Tinkbox, workflows: FakeAppliance
) -> None:
    told = [
        *EVENTS,
        event(7, "service.stopping", service="boot files", host="", restarts=0),
        event(8, "service.stopped", service="boot files", host="", restarts=0, exit_code=143),
    ]
    workflows.answers[f"GET /v1/workflows/{WORKFLOW_ID}/events?after=0"] = told
    watched = tinkbox("workflow", "watch", WORKFLOW_ID)
    assert watched.status == 1
    assert [line.partition(" UTC  ")[2] for line in watched.out.splitlines()[5:]] == [
        "workflow.failed",
        "service.stopping   boot files: told to end",
        "service.stopped    boot files: ended after exit 143",
    ]


def test_what_becomes_of_services_alone_ends_no_watching(
    tinkbox: Tinkbox, workflows: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = f"GET /v1/workflows/{WORKFLOW_ID}/events?after="
    failed = event(3, "service.failed", service="s", host="", restarts=0)
    workflows.answers |= {
        f"{events}0": [*EVENTS[:2], failed],
        f"{events}3": [event(4, "workflow.succeeded"), event(5, "service.stopped", service="s", host="", restarts=0)],
    }

    async def look_again(seconds: float) -> None: ...

    monkeypatch.setattr("asyncio.sleep", look_again)
    watched = tinkbox("workflow", "watch", WORKFLOW_ID)
    assert (watched.status, len(watched.out.splitlines())) == (0, 5)


HELD = event(
    7, "action.held", task="disk", action="wipe", worker=MACHINE_ID, state="HELD", breakpoint="failure",
    deadline="2020-07-08T15:47:02+00:00", on_expiry="fail", ended="FAILED", exit_code=3, signal="", reason="DiskNotFound",
    message="no disk",
)  # fmt: skip
ENDED = event(8, "workflow.succeeded")


@pytest.mark.parametrize(
    ("kind", "terminal", "decide"),
    [
        ("failure", True, "retry a8984b09   (or continue, fail, abort, extend)"),
        ("before", True, "continue a8984b09   (or skip, fail, abort, extend)"),
        ("after", True, "continue a8984b09   (or retry, fail, abort, extend)"),
        ("failure", False, ""),
    ],
)
def test_watching_on_a_terminal_says_what_to_type_when_something_is_held(
    tinkbox: Tinkbox,
    workflows: FakeAppliance,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    terminal: bool,
    decide: str,
) -> None:
    events = f"GET /v1/workflows/{WORKFLOW_ID}/events?after="
    workflows.answers |= {f"{events}0": [{**HELD, "breakpoint": kind}], f"{events}7": [ENDED]}
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    lines = tinkbox("workflow", "watch", WORKFLOW_ID).out.splitlines()
    hints = ["    look into it:  tinkbox breakpoint shell a8984b09", f"    decide:        tinkbox breakpoint {decide}"]
    introduced, *lines = lines if terminal else ["", *lines]
    assert introduced == ("Workflow hello (a8984b09) on machine-1" if terminal else "")
    assert lines[1:-1] == (hints if terminal else [])
    assert "exit 3, DiskNotFound: no disk" in lines[0]


def test_watching_on_a_terminal_tells_of_boots_and_progress_and_what_to_do_after_a_failure(
    tinkbox: Tinkbox, workflows: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = f"GET /v1/workflows/{WORKFLOW_ID}/events?after="
    far = {"done": 41, "total": 100, "unit": "bytes", "rate": 38e6, "seconds_left": 72}
    workflows.answers |= {
        f"{events}0": EVENTS[:2],
        f"{events}2": [],
        f"GET /v1/hardware/{MACHINE_ID}": {**MACHINE, "stage": "fetched the kernel\x1b[2J"},
        f"GET /v1/workflows/{WORKFLOW_ID}/state": {**STATE, "action_progress": far, "hint": "use a larger disk"},
    }
    looks: list[float] = []

    async def look_again(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 6:
            workflows.answers[f"{events}2"] = [event(3, "workflow.failed")]

    monkeypatch.setattr("asyncio.sleep", look_again)
    monkeypatch.setattr("tinkbox.cli.output.progress_line.ON_TERMINAL", 0)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    watched = tinkbox("workflow", "watch", WORKFLOW_ID)
    assert watched.status == 1
    assert [line for line in watched.out.replace("\r", "\n").splitlines() if line.strip("\x1b[2K")] == [
        "Workflow hello (a8984b09) on machine-1",
        "2020-07-08 15:17:02 UTC  workflow.created",
        "2020-07-08 15:17:02 UTC  workflow.started",
        "2020-07-08 15:17:02 UTC  machine.stage      machine-1: fetched the kernel [2J",
        *(["\x1b[2K41 %  38 MB/s  1:12 left"] * 6),
        "\x1b[2K2020-07-08 15:17:02 UTC  workflow.failed",
        "    the action advises: 'use a larger disk'",
        "    where it stands:  tinkbox workflow state a8984b09",
        "    what it printed:  tinkbox workflow logs a8984b09",
        "    once more:        tinkbox workflow retry a8984b09",
    ]


def test_a_hold_that_is_over_wants_nothing_any_more(
    tinkbox: Tinkbox, workflows: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflows.answers[f"GET /v1/workflows/{WORKFLOW_ID}/events?after=0"] = [HELD, ENDED]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert len(tinkbox("workflow", "watch", WORKFLOW_ID).out.splitlines()) == 3


def test_an_attempt_that_is_followed_by_another_says_so(tink: Tinkbox, workflows: FakeAppliance) -> None:
    again = {**EVENTS[4], "next": "PENDING", "message": "no disk"}
    workflows.answers[f"GET /v1/workflows/{WORKFLOW_ID}/events?after=0"] = [again]
    assert rows(tink("workflow", "events", WORKFLOW_ID).out)[1][4:] == [
        "DiskNotFound: no disk (it is tried again)", "ACTION_FAILED",
    ]  # fmt: skip


def test_canceling_says_whether_it_is_done(tinkbox: Tinkbox, workflows: FakeAppliance) -> None:
    workflows.answers["POST /v1/workflows/one/cancel"] = {"id": "1", "state": "CANCELED"}
    workflows.answers["POST /v1/workflows/two/cancel"] = {"id": "2", "state": "STOPPING"}
    canceled = tinkbox("workflow", "cancel", "one", "two")
    assert canceled.out == "Canceled Workflow:  1\nCanceling Workflow:  2\n"
    assert canceled.err.count("`tinkbox workflow cancel --force 2` does not wait for it") == 1
    assert [body for _, body in workflows.asked] == [b"", b""]


def test_canceling_says_that_what_a_worker_began_may_run_on_where_that_is_not_in_touch(
    tinkbox: Tinkbox, workflows: FakeAppliance
) -> None:
    why = "the worker of node8 is not in touch, for its credential was voided: what it began may run on there until it boots"
    workflows.answers["POST /v1/workflows/one/cancel"] = {"id": "1", "state": "STOPPING", "runs_on": why}
    canceled = tinkbox("workflow", "cancel", "one")
    assert canceled.err == f"tinkbox: {why}; `tinkbox workflow cancel --force 1` does not wait for it\n"
    workflows.answers["POST /v1/workflows/one/cancel"] = {"id": "1", "state": "CANCELED", "runs_on": why}
    forced = tinkbox("workflow", "cancel", "--force", "one")
    assert (forced.out, forced.err) == ("Canceled Workflow:  1\n", f"tinkbox: {why}\n")


def test_canceling_by_force_says_so_to_the_appliance(tinkbox: Tinkbox, workflows: FakeAppliance) -> None:
    workflows.answers["POST /v1/workflows/one/cancel"] = {"id": "1", "state": "CANCELED"}
    forced = tinkbox("workflow", "cancel", "--force", "one")
    assert (forced.status, forced.out, forced.err) == (0, "Canceled Workflow:  1\n", "")
    assert json.loads(workflows.asked[0][1]) == {"force": True}


@pytest.mark.parametrize(("options", "first"), [([], None), (["--from", "os/disk-wipe"], "os/disk-wipe")])
def test_a_workflow_is_retried_from_where_one_says(
    tinkbox: Tinkbox, workflows: FakeAppliance, options: list[str], first: str | None
) -> None:
    workflows.answers[f"POST /v1/workflows/{WORKFLOW_ID}/retry"] = {"id": WORKFLOW_ID, "state": "PENDING"}
    retried = tinkbox("workflow", "retry", WORKFLOW_ID, *options)
    assert (retried.status, retried.out) == (0, f"Retried Workflow:  {WORKFLOW_ID}\n")
    assert json.loads(workflows.asked[0][1]) == {"from": first}


@pytest.mark.parametrize(
    ("devices", "told"),
    [
        ("", "the document is empty"),
        ("[" * 5000, "more than 64 values within each other"),
        ('{"a": ' + "9" * 5000 + "}", "a: a number of more than 1000 digits"),
    ],
)
def test_devices_that_are_no_json_are_refused_in_plain_words(
    tinkbox: Callable[..., Printed], appliance: FakeAppliance, devices: str, told: str
) -> None:
    ended = tinkbox("workflow", "create", "-t", "install", "-r", devices)
    assert ended.status == 2
    assert f"{devices[:40]!r} is not valid JSON ({told})" in ended.err
    assert appliance.asked == []


@pytest.mark.parametrize(
    ("format_", "told"),
    [
        ("table", "Created Workflow:  1\n"),
        ("name", "1\n"),
        ("json", '[\n  {\n    "id": "1",\n    "state": "PENDING"\n  }\n]\n'),
        ("yaml", "- id: '1'\n  state: PENDING\n"),
    ],
)
def test_what_was_created_is_told_to_programs_as_well(
    tinkbox: Tinkbox, appliance: FakeAppliance, format_: str, told: str
) -> None:
    appliance.answers["POST /v1/workflows"] = {"id": "1"}
    appliance.answers["GET /v1/workflows/1"] = {"id": "1", "state": "PENDING"}
    assert tinkbox("workflow", "create", "-t", "hello", "-r", '{"a": "m"}', "-o", format_).out == told


def test_who_may_not_look_is_told_the_id_of_what_was_created(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers["POST /v1/workflows"] = {"id": "1"}
    appliance.answers["GET /v1/workflows/1"] = {"status": 403, "detail": "you may not look"}
    made = tinkbox("workflow", "create", "-t", "hello", "-r", '{"a": "m"}', "-o", "json")
    assert (made.status, json.loads(made.out), made.err) == (0, [{"id": "1"}], "")


def test_several_workflows_are_told_below_one_another(tinkbox: Tinkbox, workflows: FakeAppliance) -> None:
    other = "b" * 36
    workflows.answers |= {
        f"GET /v1/workflows/{other}/state": {**STATE, "workflow_id": other},
        "GET /v1/workflows?label=rack%3Dr1": [{**WORKFLOW, "machines": []}],
    }
    one = tinkbox("workflow", "state", WORKFLOW_ID).out
    assert tinkbox("workflow", "state", "-l", "rack=r1").out == one
    both = tinkbox("workflow", "state", other, WORKFLOW_ID).out
    assert both.endswith(f"\n\n{one}")
    assert other in both
    listed = json.loads(tinkbox("workflow", "state", "-l", "rack=r1", "-o", "json").out)
    assert [each["workflow_id"] for each in listed] == [WORKFLOW_ID]
    assert len(tinkbox("workflow", "state", other, WORKFLOW_ID, "-o", "csv").out.splitlines()) == 3


def test_the_events_of_several_workflows_are_one_list_that_says_whose_they_are(
    tinkbox: Tinkbox, workflows: FakeAppliance
) -> None:
    other = "b" * 36
    workflows.answers[f"GET /v1/workflows/{other}/events?after=0"] = [{**EVENTS[0], "workflow_id": other}]
    workflows.answers["GET /v1/workflows?label=rack%3Dr1"] = [{**WORKFLOW, "machines": []}]
    both = ("workflow", "events", WORKFLOW_ID, other)
    told = json.loads(tinkbox(*both, "-o", "json").out)
    assert [each["workflow_id"] for each in told] == [*[WORKFLOW_ID] * len(EVENTS), other]
    lines = list(csv.DictReader(io.StringIO(tinkbox(*both, "-o", "csv").out)))
    assert [line["workflow_id"] for line in lines] == [each["workflow_id"] for each in told]
    table = tinkbox(*both).out.splitlines()
    assert (table[0].split()[0], table[1].split()[0], table[-1].split()[0]) == ("WORKFLOW", WORKFLOW_ID[:8], other[:8])
    assert tinkbox(*both, "-q").out.split() == [f"{each['workflow_id']}/{each['number']}" for each in told]
    assert tinkbox("workflow", "events", "-l", "rack=r1").out.startswith("WORKFLOW")
    assert tinkbox("workflow", "events", WORKFLOW_ID).out.startswith("TIME")


def test_documents_of_workflows_come_from_standard_input_by_a_dash(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers["POST /v1/workflows"] = {"created": [{"id": "1"}]}
    made = tinkbox("workflow", "create", "-f", "-", stdin=b"kind: Workflow")
    assert (made.status, made.out) == (0, "Created Workflow:  1\n")
    assert json.loads(appliance.asked[0][1])["documents"] == "kind: Workflow"


def test_what_was_made_is_told_to_who_reads_no_longer(
    tinkbox: Tinkbox, appliance: FakeAppliance, piped: Callable[[], Callable[[], None]]
) -> None:
    appliance.answers["POST /v1/workflows"] = {"created": [{"id": "1"}, {"id": "2"}]}
    piped()()
    ended = tinkbox("workflow", "create", "-f", "-", stdin=b"kind: Workflow")
    assert (ended.status, ended.err) == (141, "tinkbox: it was done: workflows 1, 2\n")


def test_watching_without_a_reader_is_no_success(
    tinkbox: Tinkbox, workflows: FakeAppliance, piped: Callable[[], Callable[[], None]]
) -> None:
    """Also while nothing is printed, for the workflow may wait for long."""
    workflows.answers[f"GET /v1/workflows/{WORKFLOW_ID}/events?after=0"] = []
    piped()()
    assert tinkbox("workflow", "watch", WORKFLOW_ID) == Printed(141, "", "")


@pytest.mark.parametrize(
    ("words", "text", "told"),
    [
        (
            ("workflow", "create", "-f", "-"),
            b"kind: Workflow",
            "the workflows may have been made all the same: typing the same again",
        ),
        (
            ("workflow", "create", "-f", "-", "--again"),
            b"kind: Workflow",
            "made all the same: look at `tinkbox workflow list`",
        ),
        (("workflow", "create", "-f", "-"), b"generateName: a-", "made all the same: look at `tinkbox workflow list`"),
        (("workflow", "create", "-t", "x", "-r", "{}"), b"", "the workflow may have been made all the same: look"),
        (
            ("template", "create", "-f", "-"),
            b"x",
            "the template may have been stored all the same: typing the same again is safe",
        ),
    ],
)
def test_ctrl_c_before_the_answer_says_that_it_may_be_done(
    tinkbox: Tinkbox,
    appliance: FakeAppliance,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    text: bytes,
    told: str,
) -> None:
    def interrupted(*_: object, **named: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(QuickConnection, "_exchange", interrupted)
    ended = tinkbox(*words, stdin=text)
    assert (ended.status, ended.out, ended.err.startswith("tinkbox: no answer came, and")) == (130, "", True)
    assert told in ended.err
