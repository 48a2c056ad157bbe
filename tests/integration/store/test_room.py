"""What each kind takes is counted as rows come and go, and is what a count of all rows would say."""

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from tests.integration.store.objects import NOW, attempt, service, version, workflow
from tests.integration.store.stores import ROOM, counted
from tinkbox.model.audit import Act, Head, Kind
from tinkbox.model.boot import Stage
from tinkbox.model.declaration import Declaration
from tinkbox.model.discovery import Standing, Stranger
from tinkbox.model.disk_usage import EarlyDeletion, Stored
from tinkbox.model.documents.kept_documents import KeptDocument, KeptKind
from tinkbox.model.hardware import Hardware, Interface, MacAddress
from tinkbox.model.labels import LabelKind
from tinkbox.model.rollout import Member, OnFailure, Place, Rollout
from tinkbox.model.sightings import Line, Sighting
from tinkbox.model.workflow import Outcome, State
from tinkbox.store.database import Store, Tables
from tinkbox.store.schema import migrations

MAC = MacAddress("08:00:27:00:00:01")
ROLLOUT = Rollout(
    id="r",
    template_id="t",
    template_name="one",
    device="device_1",
    parameters={"image": "x"},
    max_parallel=0,
    on_failure=OnFailure.STOP,
    who="ann",
    created_at=NOW,
    updated_at=NOW,
)


def fill(tables: Tables) -> None:
    """Something of each kind, some of it twice."""
    tables.workflows.insert(workflow("w1", "m1", "m2", services=[service("r1")]))
    tables.workflows.begin_attempt(attempt("a1"))
    tables.workflows.end_attempt("a1", Outcome(state=State.FAILED, message="grün" * 9), NOW)
    length = 0
    for chunk in (b"x" * 3_000, b"y", b"z" * 70_000):
        length = tables.output.append("a1", length, length, chunk)
    tables.service_output.append("r1", 0, 0, b"of the service")
    for number in range(1, 6):
        tables.data.add("w1", version(number))
    tables.events.add("w1", NOW, "some.thing", {"words": "of it"})
    for detail in ("it asked", "it asked twice"):
        tables.sightings.save({1: Sighting(mac=MAC, at=NOW, stage=Stage.DISCOVER, detail=detail, facts={})})
    line = Line(mac=MAC, at=NOW, severity=6, program="kernel", text="hello")
    tables.syslog.save({1: line})
    tables.syslog.save({1: line})
    for standing in (Standing.BOOTING, Standing.WAITING):
        tables.discovery.put([Stranger(mac=MAC, standing=standing, port="eth0", first_seen=NOW, last_seen=NOW)])
    tables.rollouts.insert(
        ROLLOUT, "the template", [Member(position=each, machine="m1", name="one") for each in (0, 1)]
    )
    tables.rollouts.end_unbegun("r", 0, Place.FAILED, "told why")
    for labels in ({"rack": "r1", "a": "b"}, {"rack": "r12"}):
        tables.labels.replace(LabelKind.WORKFLOW, "w1", labels)
        tables.labels.replace(LabelKind.MACHINE, "m1", labels)
    machines = {("default", "h"): "m1"}
    declared = Declaration(template_ref="t", hardware_ref="h", document={"kind": "Workflow"}, machines=machines)
    tables.declarations.keep("w1", declared)
    for text in ("long text", "text"):
        manifest = {"kind": "Task", "spec": {"text": text}}
        tables.kept_documents.put(
            KeptDocument(kind=KeptKind.TASK, namespace="", name="t", manifest=manifest, id="k"), NOW
        )
    tables.hardware.upsert(Hardware(id="m1", interfaces=(Interface(mac=MAC),), document={}), NOW)
    for text in ("noted", "noted again"):
        tables.notes.add("m1", NOW, "ann", text)
    tables.notes.remove("m1", 1)
    for _ in range(2):
        tables.audit.add(Act(kind=Kind.OWN, what="workflow deleted", object="täglich"), NOW, Head())


def empty(tables: Tables) -> None:
    tables.workflows.delete("w1")
    tables.rollouts.delete("r")
    tables.hardware.delete("m1")
    tables.sightings.forget([MAC])
    tables.syslog.forget([MAC])
    tables.discovery.forget([MAC])
    tables.kept_documents.delete("k")


async def test_what_comes_and_goes_is_counted(store: Store, tmp_path: Path) -> None:
    await store.write(fill)
    said, anew = counted(tmp_path / "db")
    assert said == anew
    assert all(octets > 0 and number > 0 for _, octets, number in said), said
    shares = await store.read(lambda tables: tables.room.shares())
    assert shares[Stored.WORKFLOWS].number == 1
    assert 73_015 < shares[Stored.OUTPUT].octets < 75_000
    assert await store.read(lambda tables: tables.room.taken()) == sum(each.octets for each in shares.values())
    await store.write(empty)
    left = [each for each in counted(tmp_path / "db")[0] if each[0] != Stored.AUDIT.title]  # which nothing else deletes
    assert {octets for _, octets, _ in left} == {0}
    assert {number for _, _, number in left} == {0}


async def test_what_is_undone_is_not_counted(store: Store) -> None:
    def use_case(tables: Tables) -> None:
        fill(tables)
        raise LookupError

    with pytest.raises(LookupError):
        await store.write(use_case)
    assert await store.read(lambda tables: tables.room.taken()) == 0


async def test_a_store_of_an_earlier_release_is_counted_when_it_is_upgraded(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "db")) as old:
        for number, script in migrations():
            if number < ROOM:
                old.create_function("sha256", 1, str, deterministic=True)
                old.executescript(script)
        old.executescript(
            "INSERT INTO sighting (number, mac, at, stage, detail, facts) VALUES (1, 'm', 'a', 'DISCOVER', 'words', '{}');"
            f"PRAGMA user_version = {ROOM - 1}"
        )
    store = await Store.open(tmp_path / "db")
    try:
        shares = await store.read(lambda tables: tables.room.shares())
    finally:
        await store.close()
    assert {kind: share.number for kind, share in shares.items() if share.number} == {Stored.TIMELINES: 1}


async def test_the_bytes_of_all_kinds_are_about_those_of_the_file(store: Store) -> None:
    def use_case(tables: Tables) -> None:
        tables.workflows.insert(workflow("w1", "m1"))
        tables.workflows.begin_attempt(attempt("a1"))
        for number in range(5_000):
            tables.events.add("w1", NOW, "some.thing", {"number": number})
            seen = Sighting(
                mac=MacAddress(f"02:00:00:00:{number % 100:02}:00"), at=NOW, stage=Stage.DISCOVER, detail=""
            )
            tables.sightings.save({number: seen})
        tables.output.append("a1", 0, 0, b"x" * 500_000)

    await store.write(use_case)
    file, taken = await store.read(lambda tables: (tables.room.file(), tables.room.taken()))
    assert 0.6 < taken / file < 1.4


async def test_the_last_early_deletion_is_remembered(store: Store) -> None:
    assert await store.read(lambda tables: tables.room.early_deletion()) is None
    for workflows in (3, 5):
        last = EarlyDeletion(workflows=workflows, octets=7, since=NOW, until=NOW + timedelta(seconds=1))
        await store.write(lambda tables, last=last: tables.room.note_early_deletion(last))
    assert await store.read(lambda tables: tables.room.early_deletion()) == last


async def test_so_many_free_pages_are_given_back_as_are_asked_for(store: Store) -> None:
    await store.write(fill)
    await store.write(empty)
    free = await store.read(lambda tables: tables.room.free())
    assert free > 5
    await store.write(lambda tables: tables.room.give_back(5))
    assert await store.read(lambda tables: tables.room.free()) == free - 5
