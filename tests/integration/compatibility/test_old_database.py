"""A database that release 924549e wrote, with everything in it that can be stored: today's code tells the same of it.

`tests/golden/release-924549e` has it as SQL, and what that release's own operator door told of it (`record_database.py.txt`
beside them made both).
"""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.integration.api.door import Door, open_door
from tests.integration.compatibility.answers import answers
from tests.integration.engine.appliance import appliance
from tinkbox.model.boot import Stage
from tinkbox.model.errors import Forbidden
from tinkbox.model.reasons import bare_words
from tinkbox.model.workflow import FINAL, State
from tinkbox.store.formats.actions import action_of, action_text, outcome_of, outcome_text, override_of, override_text
from tinkbox.store.formats.breakpoints import breakpoints_of, breakpoints_text, verdict_of, verdict_text
from tinkbox.store.formats.disks import contents_of, contents_text
from tinkbox.store.formats.inventories import inventory_of, inventory_text
from tinkbox.store.formats.services import files_of, files_text, service_of, service_text, standing_of, standing_text
from tinkbox.store.formats.shells import wish_of, wish_text

RELEASE = Path(__file__).parents[2] / "golden" / "release-924549e"
TOLD: dict[str, Any] = json.loads((RELEASE / "answers.json").read_text())
COLUMNS: dict[str, tuple[Callable[[str], Any], Callable[[Any], str]]] = {
    "action.definition": (action_of, action_text),
    "action.override": (override_of, override_text),
    "attempt.outcome": (outcome_of, outcome_text),
    "attempt.override": (override_of, override_text),
    "disk.not_ours": (contents_of, contents_text),
    "disk.ours": (contents_of, contents_text),
    "hold.outcome": (outcome_of, outcome_text),
    "hold.verdict": (verdict_of, verdict_text),
    "inventory.content": (inventory_of, inventory_text),
    "service.definition": (service_of, service_text),
    "service_run.standing": (standing_of, standing_text),
    "service_run.written": (files_of, lambda files: files_text(*files)),
    "shell.wish": (wish_of, wish_text),
    "stranger.inventory": (inventory_of, inventory_text),
    "workflow.breakpoints": (breakpoints_of, breakpoints_text),
}


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """The data folder of an appliance of that release."""
    with closing(sqlite3.connect(tmp_path / "tinkbox.sqlite")) as database:
        database.executescript((RELEASE / "database.sql").read_text())
    return tmp_path


async def told_by(door: Door) -> dict[str, Any]:
    async def ask(path: str) -> Any:
        async with door.local.get(f"http://tinkbox{path}") as response:
            text = await response.text()
            is_json = response.content_type.endswith("json")
            return (json.loads(text) if is_json else text) if response.status == 200 else [response.status, text]

    door.box.clock.now = door.box.clock.now.fromisoformat(TOLD["now"])
    await door.box.discovery.load()
    await door.box.syslog.load()
    return await answers(ask)


# Of what that release had no word for, as long as there is nothing to be told of it.
NEWS = [
    ("digest", ""), ("full", False), ("lost", ""), ("lost_hint", ""), ("tpm", {"accepted": "", "shown": ""}),
    ("https", {"tls": "plain", "authority": "", "at": None}),
    ("tasks_before", 0), ("tasks_after", 0), ("services_more", 0), ("retired", None), ("notes", []),
]  # fmt: skip
# What documents have now beside what they had; it is worked out of what they had, or nothing.
ADDED = {
    "name", "key", "mac", "netmask", "gateway", "state", "failure", "labels", "template_name", "machines", "actions_done",
    "actions_total", "overtaken", "run", "id", "failed_attempts", "attributes", "sha256", "namespace",
    "workflow", "workflows", "subject", "since", "examined", "unexamined", "waiting", "diagnosis", "service",
    "output_bytes", "way_to_change",
}  # fmt: skip
# The type and reason of conditions of which the words differ.
WAITING = {("Started", "Pending"), ("Started", "WaitingForServices")}
# What the list of workflows had in that release and leaves out now, and what it says instead.
LEFT_OUT = {"actions", "conditions", "services", "text"}
INSTEAD = {
    "reason", "message", "actions_done", "actions_total",
    "progress", "current_task", "current_action", "current_worker", "current_action_state",
}  # fmt: skip


def without(names: set[str], document: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name not in names}


def without_added(answer: Any, before: Any) -> Any:
    if isinstance(answer, list) and isinstance(before, list):
        # Of what is new at its end there is nothing to compare with.
        behind: list[Any] = [None] * max(0, len(answer) - len(before))
        return [without_added(each, was) for each, was in zip(answer, [*before, *behind], strict=False)]
    if isinstance(answer, dict) and isinstance(before, dict):
        kept = {name: value for name, value in answer.items() if name in before or name not in ADDED}
        return {name: without_added(value, before.get(name)) for name, value in kept.items()}
    return answer


def without_news(answer: Any) -> Any:
    """An answer without what that release did not tell yet, none of which an old database says: digests of images."""
    if isinstance(answer, list):
        # The first round made credentials.
        made = [isinstance(each, dict) and each.get("stage") == Stage.CREDENTIAL for each in answer]
        return [without_news(each) for each, news in zip(answer, made, strict=True) if not news]
    if isinstance(answer, dict):
        told = {name: without_news(value) for name, value in answer.items() if (name, value) not in NEWS}
        # What a workflow waits for is told with where that is.
        if (told.get("type"), told.get("reason")) in WAITING:
            del told["message"]
        # What an action says is quoted now, and what to do names the commands that there are now.
        assert told.pop("remedy", "something")
        # Its commands stand between backquotes now, with what they are about.
        told |= {"hint": bare_words(told["hint"])} if "hint" in told else {}
        return {**told, **({"detail": told["detail"].replace("'", "")} if "detail" in told else {})}
    return answer


async def test_operator_door_tells_the_same_of_an_old_database(old: Path) -> None:
    for _ in range(2):
        async with open_door(old) as door:
            told = await told_by(door)
        assert {"now", *told} == set(TOLD)
        assert told["/v1/status"].pop("limits") == [], "what that release did not tell yet"
        assert told["/v1/status"].pop("disk")["stored"]
        assert [each.keys() for each in told["/v1/workflows"]] == [
            each.keys() - LEFT_OUT | INSTEAD | {"template_name", "machines", "labels", "run"}
            for each in TOLD["/v1/workflows"]
        ]
        before = TOLD | {"/v1/workflows": [without(LEFT_OUT, each) for each in TOLD["/v1/workflows"]]}
        before["/v1/templates"] = [without({"data"}, each) for each in TOLD["/v1/templates"]]
        told["/v1/workflows"] = [without(INSTEAD, each) for each in told["/v1/workflows"]]
        # Workflows have waited for machines that were not seen for less than a minute.
        doctor = told["/v1/doctor"]
        assert "NeverSeen" not in {each["rule"] for each in doctor["diagnoses"]}
        # It also tells of the workflows that wait or failed, and knows more of a machine that nobody told of.
        rules = {each["rule"] for each in doctor["diagnoses"]}
        assert rules >= {"WorkflowFailed", "ImageMissing", "WrongMac"}
        known = {each["rule"] for each in TOLD["/v1/doctor"]["diagnoses"]}
        doctor["diagnoses"] = [each for each in doctor["diagnoses"] if each["rule"] in known - {"NeverSeen"}]
        assert doctor.pop("appliance") == [], "of itself it tells among the rest"
        assert doctor.pop("machines") > TOLD["/v1/doctor"]["machines"]
        before["/v1/doctor"] = without({"machines"}, TOLD["/v1/doctor"]) | {
            "diagnoses": [each for each in TOLD["/v1/doctor"]["diagnoses"] if each["rule"] in rules]
        }
        for path, answer in told.items():
            if path.endswith("/credential"):
                token, earlier = answer.pop("token"), TOLD[path].pop("token", "")
                assert token.startswith("boot-ticket.")
                assert token != earlier
            was = without_news(before[path])
            assert without_added(without_news(answer), was) == was, path
        (old / "operator.sock").unlink(missing_ok=True)


async def test_everything_else_in_an_old_database_is_read(old: Path) -> None:
    async with appliance(old / "tinkbox.sqlite") as box:
        leases = await box.store.read(lambda tables: tables.leases.all())
        firmware_traits = await box.store.read(lambda tables: tables.firmware_traits.all())
        disks = await box.store.read(
            lambda tables: tables.disks.get("00000000-0000-0000-0000-00000000000d", "WD-1", "")
        )
        appliance_id = await box.store.read(lambda tables: tables.services.appliance_id())
    assert [(str(each.address), each.mac, each.state, each.client_id, each.hostname, each.proven) for each in leases] == [
        ("172.30.0.200", "08:00:27:00:00:21", "bound", b"\x01\xff\x00", "ü", True),
        ("172.30.0.201", "08:00:27:00:00:22", "declined", b"", "", False),
    ]  # fmt: skip
    assert {mac: (each.secure_boot, each.local_boot, each.proven) for mac, each in firmware_traits.items()} == {
        "08:00:27:00:00:01": (True, "no file", True),
        "08:00:27:00:00:02": (False, "exit", False),
    }
    assert ([each.id for each in disks.ours], disks.foreign) == (["ours"], None)
    assert appliance_id == "0123456789abcdef"


async def test_a_worker_goes_on_with_its_old_token_which_stands_nowhere_any_more(old: Path) -> None:
    with closing(sqlite3.connect(old / "tinkbox.sqlite")) as database:
        # As the release ran: what is written lies in a journal of its own first.
        database.execute("PRAGMA journal_mode = WAL")
        machines = database.execute("SELECT id, token, boot_id FROM hardware").fetchall()
        tokens = [token for _, token, _ in machines] + [
            row[0] for row in database.execute("SELECT token FROM stranger")
        ]
        database.execute("UPDATE hardware SET token = 'old-secret-' || token")
        database.execute("UPDATE stranger SET token = 'old-secret-' || token")
        # Machines that were forgotten since have left theirs in what is free.
        gone = "INSERT INTO hardware (id, document, token, created_at, updated_at) VALUES (?, '{}', ?, '', '')"
        database.executemany(gone, [(f"gone-{number}", f"old-secret-gone-{number:0200}") for number in range(100)])
        database.commit()
        database.execute("DELETE FROM hardware WHERE id LIKE 'gone-%'")
        database.commit()
    async with appliance(old / "tinkbox.sqlite") as box:
        for machine, token, boot_id in machines:
            assert box.machines.authenticate(f"old-secret-{token}", "", "172.30.0.9") == machine
            with pytest.raises(Forbidden):
                box.machines.authenticate(f"old-secret-{token}", "", "172.30.0.10")
            assert box.machines.sessions.boot_of(machine) == boot_id
    kept = b"".join(each.read_bytes() for each in old.glob("tinkbox.sqlite*"))
    with closing(sqlite3.connect(old / "tinkbox.sqlite")) as database:
        assert database.execute("PRAGMA auto_vacuum").fetchone() == (2,), "free room goes back to the disk"
    assert tokens
    assert b"old-secret-" not in kept


async def test_work_in_an_old_database_goes_on_to_its_end(old: Path) -> None:
    """What a machine is at is offered with the token that it had; every history adds up (`Appliance.check_histories`)."""
    with closing(sqlite3.connect(old / "tinkbox.sqlite")) as database:
        running = {row[0] for row in database.execute("SELECT attempt FROM action WHERE state IN ('RUNNING', 'HELD')")}
        held = {row[0] for row in database.execute("SELECT attempt FROM hold WHERE ended_at IS NULL")}
    async with appliance(old / "tinkbox.sqlite", numbers=count(10_000)) as box:
        box.clock.now = box.clock.now.fromisoformat(TOLD["now"])
        offered = set()
        for machine in TOLD["/v1/hardware"]:
            while (offer := await box.offer(machine["id"])) is not None and offer.attempt not in offered:
                offered.add(offer.attempt)
                if offer.attempt not in held and not offer.action.spec.reboot:
                    stop = await box.stop_order(machine["id"], offer)
                    await box.report(machine["id"], offer, stop.state if stop else State.SUCCESS)
        over = [each for each in await box.workflows.all() if each.state in FINAL]
    assert running <= offered
    assert len(over) > sum(flow["state"] in FINAL for flow in TOLD["/v1/workflows"])


@pytest.mark.parametrize("column", COLUMNS)
def test_old_column_is_written_letter_for_letter_as_it_was(old: Path, column: str) -> None:
    read, write = COLUMNS[column]
    table, name = column.split(".")
    with closing(sqlite3.connect(old / "tinkbox.sqlite")) as database:
        texts = [row[0] for row in database.execute(f"SELECT {name} FROM {table} WHERE coalesce({name}, '') != ''")]
    assert texts, "the golden database has one of each"
    for text in texts:
        assert write(read(text)) == text
