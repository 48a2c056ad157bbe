"""A store that an earlier tinkbox wrote is brought up to date with everything in it."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.integration.store.objects import NOW, workflow
from tests.integration.store.stores import opened_store
from tinkbox.engine.boot.conflicts import KEPT_OUT_SECONDS
from tinkbox.model.boot import Stage
from tinkbox.model.breakpoint import Breakpoints
from tinkbox.model.errors import Invalid
from tinkbox.model.labels import MAX_LABELS, LabelKind, parse_labels
from tinkbox.model.leases import LeaseState
from tinkbox.model.rollout import Place
from tinkbox.model.workflow import State
from tinkbox.store.database import Store
from tinkbox.store.formats.actions import action_text
from tinkbox.store.schema import migrations
from tinkbox.store.templates import Template

AT = NOW.isoformat()


@contextmanager
def database_of(path: Path, version: int) -> Iterator[sqlite3.Connection]:
    """A database as the release of this version of the schema left it; what is stored in it meanwhile is kept."""
    with closing(sqlite3.connect(path)) as connection:
        connection.create_function("sha256", 1, str, deterministic=True)
        for number, script in migrations():
            if number <= version:
                connection.executescript(script)
        yield connection
        connection.execute(f"PRAGMA user_version = {version}")
        connection.commit()


async def write_schema_2(path: Path) -> None:
    """A workflow that runs, as it was stored before there were breakpoints."""
    action = json.loads(action_text(workflow("w1", "m1").actions[0].action))
    del action["helper"]
    with database_of(path, 2) as connection:
        connection.execute(
            "INSERT INTO workflow (id, name, template_id, devices, text, state, created_at, updated_at, global_timeout, "
            "started_at, place) VALUES ('w1', 'old', 't', '{}', 'text', 'RUNNING', ?1, ?1, 7, ?1, 1)",
            (AT,),
        )
        connection.execute(
            "INSERT INTO action (workflow_id, position, worker, definition, state, attempt, failures) "
            "VALUES ('w1', 0, 'm1', ?, 'RUNNING', 'a1', 1)",
            (json.dumps(action),),
        )
        connection.execute(
            "INSERT INTO attempt (token, workflow_id, position, worker, boot_id, state, started_at) "
            "VALUES ('a1', 'w1', 0, 'm1', 'b', 'RUNNING', ?)",
            (AT,),
        )
        connection.execute(
            "INSERT INTO event (workflow_id, number, at, kind, data) VALUES ('w1', 1, ?, 'kind', '{}')", (AT,)
        )


async def test_what_runs_when_breakpoints_come_goes_on_without_any(tmp_path: Path) -> None:
    await write_schema_2(tmp_path / "db")
    appliances: set[str] = set()
    for _ in range(2):
        store = await Store.open(tmp_path / "db")
        try:
            found = await store.read(lambda tables: tables.workflows.get("w1"))
            (standing,) = await store.read(lambda tables: tables.workflows.under_way())
            assert await store.read(lambda tables: tables.holds.armed("w1")) == Breakpoints()
            assert await store.read(lambda tables: tables.holds.of("w1")) == []
            assert await store.read(lambda tables: tables.holds.concerned()) == []
            assert await store.read(lambda tables: tables.holds.override("w1", 0)) is None
            assert await store.read(lambda tables: tables.shells.live()) == []
            assert len(await store.read(lambda tables: tables.events.of("w1"))) == 1
            assert await store.read(lambda tables: tables.services.listed(9)) == []
            assert await store.read(lambda tables: tables.queues.next_for("m1")) == "w1"
            appliances.add(await store.read(lambda tables: tables.services.appliance_id()))
        finally:
            await store.close()
        assert (found.name, found.state, found.started_at, found.global_timeout) == ("old", State.RUNNING, NOW, 7)
        assert (found.actions[0].state, found.actions[0].failures, found.actions[0].held_at) == ("RUNNING", 1, None)
        assert found.actions[0].action.spec.helper, "what an action may be held by is for its next attempt"
        assert (found.services, found.reason, found.service) == ((), "", "")
        assert standing.attempt is not None
        assert (standing.attempt.debug, standing.attempt.resumed_at) == (False, None), "its worker knows of none"
        assert (standing.held_seconds, standing.hold) == (0, None)
    assert len(appliances) == 1, "it keeps the name that it was given"


async def test_what_was_seen_of_machines_goes_to_their_macs(tmp_path: Path) -> None:
    with database_of(tmp_path / "db", 5) as connection:
        for worker, macs in (("m1", ("08:00:27:00:00:02", "08:00:27:00:00:01")), ("m2", ("08:00:27:00:00:03",))):
            document = {"id": worker, "network": {"interfaces": [{"dhcp": {"mac": mac}} for mac in macs]}}
            connection.execute(
                "INSERT INTO hardware (id, document, token, created_at, updated_at) VALUES (?1, ?2, ?1, ?3, ?3)",
                (worker, json.dumps(document), AT),
            )
            for mac in macs:
                connection.execute("INSERT INTO interface (mac, hardware_id) VALUES (?, ?)", (mac, worker))
            for stage in ("DISCOVER", "WORKER"):
                connection.execute(
                    "INSERT INTO sighting (hardware_id, at, stage, detail) VALUES (?, ?, ?, 'words')",
                    (worker, AT, stage),
                )
    store = await Store.open(tmp_path / "db")
    try:
        seen = (
            await store.read(lambda tables: tables.sightings.recent(list(tables.sightings.newest_first()), 9))
        ).values()
    finally:
        await store.close()
    assert [(each.mac, each.stage, each.detail, each.at) for each in seen] == [
        ("08:00:27:00:00:01", Stage.DISCOVER, "words", NOW),
        ("08:00:27:00:00:01", Stage.WORKER, "words", NOW),
        ("08:00:27:00:00:03", Stage.DISCOVER, "words", NOW),
        ("08:00:27:00:00:03", Stage.WORKER, "words", NOW),
    ]


async def test_leases_that_were_written_without_their_length_keep_their_end_and_what_is_known_of_it(
    tmp_path: Path,
) -> None:
    with database_of(tmp_path / "db", 19) as connection:
        connection.executemany(
            "INSERT INTO lease (address, mac, state, until, client_id, hostname, proven, port) "
            "VALUES (?, '08:00:27:00:00:01', ?, ?, x'', '', 0, x'')",
            [
                (f"172.30.0.{number}", state, AT)
                for number, state in enumerate(("BOUND", "RELEASED", "DECLINED", "TAKEN"))
            ],
        )
    store = await Store.open(tmp_path / "db")
    try:
        leases = await store.read(lambda tables: tables.leases.all())
    finally:
        await store.close()
    assert {each.until for each in leases} == {NOW}
    longest = 2**32 - 1  # seconds that any setting takes
    assert {each.state: each.seconds for each in leases} == {
        LeaseState.BOUND: longest,
        LeaseState.RELEASED: 0,
        LeaseState.DECLINED: KEPT_OUT_SECONDS,
        LeaseState.TAKEN: KEPT_OUT_SECONDS,
    }


async def test_workflows_take_over_what_is_known_of_the_names_of_their_templates(tmp_path: Path) -> None:
    with database_of(tmp_path / "db", 30) as connection:
        connection.execute("INSERT INTO template VALUES ('t1', 'stored', '', ?1, ?1)", (AT,))
        connection.execute(
            "INSERT INTO rollout VALUES (1, 'r1', 't2', 'rolled', '', 'd', '{}', 0, 'stop', '{}', '', 0, 'ann', 'SUCCESS', '', ?1, ?1)",
            (AT,),
        )
        connection.executemany(
            "INSERT INTO workflow (id, name, template_id, devices, text, state, created_at, updated_at) "
            "VALUES (?1, 'n', ?2, '{}', '', 'SUCCESS', ?3, ?3)",
            [("w1", "t1", AT), ("w2", "t2", AT), ("w3", "install", AT), ("w4", "t3", AT)],
        )
    names = {"w1": "stored", "w2": "rolled", "w3": "install", "w4": "t3"}
    async with opened_store(tmp_path / "db") as store:
        for _ in range(2):
            found = await store.read(lambda tables: tables.workflows.listed([*names]))
            assert {each.id: each.template_name for each in found} == names
            await store.write(lambda tables: tables.templates.delete("t1"))


async def test_templates_of_earlier_releases_have_no_namespace_and_keep_their_labels(tmp_path: Path) -> None:
    with database_of(tmp_path / "db", 35) as connection:
        connection.execute("INSERT INTO template VALUES ('t1', 'ubuntu', 'text', ?1, ?1)", (AT,))
        connection.execute("INSERT INTO label VALUES ('template', 't1', 'site', 'lab')")
    async with opened_store(tmp_path / "db") as store:
        (kept,) = await store.read(lambda tables: tables.templates.all())
        assert (kept.id, kept.name, kept.namespace, kept.labels) == ("t1", "ubuntu", "", {"site": "lab"})
        other = Template(id="t2", name="ubuntu", namespace="a", data="", created_at=NOW, updated_at=NOW)
        await store.write(lambda tables: tables.templates.put(other))
        await store.write(lambda tables: tables.templates.delete("t1"))
        assert [each.id for each in await store.read(lambda tables: tables.templates.named("ubuntu"))] == ["t2"]
        same = replace(other, id="t1")
        await store.write(lambda tables: tables.templates.delete("t2"))
        await store.write(lambda tables: tables.templates.put(same))
        assert [each.labels for each in await store.read(lambda tables: tables.templates.all())] == [{}]


async def test_machines_of_rollouts_are_those_that_were_registered_before_them(tmp_path: Path) -> None:
    """The workflow of m4, unlike that of m3, was made after m4 was registered anew."""
    later = (NOW + timedelta(days=1)).isoformat()
    with database_of(tmp_path / "db", 32) as connection:
        connection.execute(
            "INSERT INTO rollout VALUES (1, 'r1', 't1', 't', '', 'd', '{}', 0, 'stop', '{}', '', 0, 'ann', 'CANCELED', '', ?1, ?1)",
            (AT,),
        )
        connection.executemany(
            "INSERT INTO workflow (number, id, name, template_id, devices, text, state, created_at, updated_at) "
            "VALUES (?1, ?2, 'n', 't1', '{}', '', 'FAILED', ?3, ?3)",
            [(1, "w3", AT), (3, "w4", later)],
        )
        connection.executemany(
            "INSERT INTO hardware (id, document, created_at, updated_at, after_workflow) VALUES (?1, '{}', ?2, ?2, ?3)",
            [("m1", AT, 0), ("m2", later, 2), ("m3", later, 2), ("m4", later, 2)],
        )
        connection.executemany(
            "INSERT INTO rollout_machine (rollout_id, position, machine, name, workflow_id) VALUES ('r1', ?, ?, 'n', ?)",
            [(1, "m1", ""), (2, "m2", ""), (3, "m3", "w3"), (4, "m4", "w4"), (5, "m5", "")],
        )
    async with opened_store(tmp_path / "db") as store:
        found = await store.read(lambda tables: tables.rollouts.members("r1"))
        here = await store.read(lambda tables: tables.rollouts.in_service("r1", Place))
    assert [each.registered is not None for each in found] == [True, False, False, True, False]
    assert [each.machine for each in here] == ["m1", "m4"]


async def test_labels_that_none_may_be_are_not_kept_of_a_machine_with_others(tmp_path: Path) -> None:
    """An earlier release took them from documents, so that a machine could be read and not be written back."""
    good = {"rack": "r1", "a": "", "example.org/rack": "R.1_2", "x" * 63: "v" * 63, f"{'p' * 253}/a": "b"}
    bad = {"-x": "v", "x-": "v", "a/b/c": "v", "/x": "v", "x/": "v", "UP/x": "v", "-p/x": "v", "p-/x": "v", "v": "-", "w": "x.",
           "y" * 64: "v", f"{'q' * 254}/a": "b"}  # fmt: skip
    many = {f"k{number:02}": "v" for number in range(MAX_LABELS + 6)}
    with database_of(tmp_path / "db", 27) as connection:
        for machine, labels in (("m1", good | bad), ("m2", many), ("m3", {})):
            connection.execute(
                "INSERT INTO hardware (id, document, created_at, updated_at) VALUES (?1, '{}', ?2, ?2)", (machine, AT)
            )
            connection.executemany(
                "INSERT INTO label (kind, owner, key, value) VALUES ('machine', ?, ?, ?)",
                [(machine, key, value) for key, value in labels.items()],
            )
    async with opened_store(tmp_path / "db") as store:
        kept = await store.read(lambda tables: tables.labels.of_many(LabelKind.MACHINE, ["m1", "m2", "m3"]))
    assert kept == {"m1": good, "m2": dict(list(many.items())[:MAX_LABELS])}
    for labels in kept.values():
        assert parse_labels(labels) == labels
    for key, value in bad.items():
        with pytest.raises(Invalid):
            parse_labels({key: value})


async def test_what_lasts_by_the_events_of_an_earlier_release_has_its_since(tmp_path: Path) -> None:
    def told(rule: str, subject: str) -> str:
        return json.dumps({"rule": rule, "subject": subject, "message": f"{rule}."})

    events = [
        ("condition.began", told("A", "x")), ("condition.began", told("A", "y")), ("condition.over", told("A", "x")),
        ("condition.began", told("A", "x")), ("condition.began", told("B", "")), ("condition.over", told("B", "")),
        ("condition.over", told("C", "")), ("condition.began", "{}"), ("condition.muted", told("D", "")),
    ]  # fmt: skip
    with database_of(tmp_path / "db", 41) as connection:
        connection.executemany(
            "INSERT INTO event (workflow_id, number, at, kind, data) VALUES ('', ?, ?, ?, ?)",
            [(number, f"2026-11-21T03:00:0{number}+00:00", *each) for number, each in enumerate(events, 1)],
        )
    store = await Store.open(tmp_path / "db")
    try:
        lasting = await store.read(lambda tables: tables.conditions.all())
    finally:
        await store.close()
    assert {identity: each.since.second for identity, each in lasting.items()} == {
        ("A", "", "", "y"): 2,
        ("A", "", "", "x"): 4,
    }
    assert {str(each.told["message"]) for each in lasting.values()} == {"A."}


async def test_audit_keeps_its_lines_where_its_table_is_made_once_more(tmp_path: Path) -> None:
    lines = [(number, json.dumps({"who": "anna", "what": f"thing {number}"}), "0" * 64) for number in (3, 4)]
    with database_of(tmp_path / "db", 53) as connection:
        connection.execute("DROP TRIGGER audit_is_added_to_at_its_end")
        connection.executemany("INSERT INTO audit (number, line, digest) VALUES (?, ?, ?)", lines)
        counted = connection.execute("SELECT octets, number FROM room WHERE kind = 'audit'").fetchall()
    async with opened_store(tmp_path / "db") as store:
        assert await store.read(lambda tables: tables.audit.wrong_parts()) == []
    with closing(sqlite3.connect(tmp_path / "db")) as connection:
        assert connection.execute("SELECT number, line, digest FROM audit ORDER BY number").fetchall() == lines
        assert connection.execute("SELECT octets, number FROM room WHERE kind = 'audit'").fetchall() == counted
        assert connection.execute("SELECT number FROM audit WHERE who = 'anna'").fetchall() == [(3,), (4,)]
