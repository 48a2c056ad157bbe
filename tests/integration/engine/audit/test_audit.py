"""The audit of the engine: what the appliance does by itself, and what becomes of lines that wait."""

import asyncio
import os
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.integration.engine.appliance import Appliance, hardware
from tests.integration.engine.held import COMMAND, Hub, hold
from tinkbox.engine.audit import audit as audits
from tinkbox.engine.audit.audit import Audit
from tinkbox.engine.audit.head import HEAD, KEY, HeadFile
from tinkbox.engine.people.tokens import Tokens
from tinkbox.engine.shells.shells import Shells
from tinkbox.engine.workflows.retention import Retainer
from tinkbox.model.access import Right, operator
from tinkbox.model.audit import Act, Kind, Listing, line_of
from tinkbox.model.errors import NotFound, Unavailable
from tinkbox.model.retention import Retention
from tinkbox.model.shells import Mode, ShellEnd
from tinkbox.model.tokens import TAKEN_OVER
from tinkbox.store.database import Store

ACT = Act(kind=Kind.ASKED, who="anna", how="token", source="192.0.2.1", what="POST /v1/hardware")


async def lines(audit: Audit) -> list[dict[str, object]]:
    return [each.document() for each in await audit.after(0, 1000)]


def audit_in(box: Appliance, folder: Path, kept: timedelta | None = None) -> Audit:
    return Audit(box.store, box.wakeups, box.clock, box.clock.steady, HeadFile(folder), kept)


async def test_workflow_that_is_deleted_for_its_age_is_a_line_of_the_same_transaction(box: Appliance) -> None:
    worker = await box.machine(1)
    made = await box.workflow()
    await box.finish(worker)
    box.clock.forward(86_400 * 100)
    keeps = Retention(newest=1)
    await box.workflow()
    retainer = Retainer(
        box.store, box.wakeups, box.machines, box.clock, replace(keeps, newest=0), box.shells.forget_recordings,
        lambda: 2**40, audit=box.audit,
    )  # fmt: skip
    await retainer.look()
    (line,) = await lines(box.audit)
    assert (line["kind"], line["who"], line["what"], line["object"]) == ("own", "tinkbox", "workflow deleted", made)
    assert str(line["why"]).startswith("over since before 2026-")


async def test_many_who_change_something_at_once_make_one_chain(box: Appliance) -> None:
    async def change() -> None:
        await box.audit.end(ACT, await box.audit.begin(ACT))

    async with asyncio.TaskGroup() as group:
        for _ in range(50):
            group.create_task(change())
    verdict = await box.audit.verify()
    assert (verdict.lines, verdict.problem) == (100, "")
    asked = {each["number"] for each in await lines(box.audit) if each["kind"] == "asked"}
    assert asked == {each["asked"] for each in await lines(box.audit) if each["kind"] == "done"}


async def test_lines_that_wait_for_room_are_bounded_and_those_that_are_lost_are_told(
    box: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audits, "MOST_KEPT", 3)
    written = Store.write

    async def write(self: Store, use_case: object) -> None:
        raise Unavailable("the disk is full")

    monkeypatch.setattr(Store, "write", write)
    for _ in range(5):
        await box.audit.begin(ACT, frees_room=True)
    with pytest.raises(Unavailable, match="nothing was done, for the audit cannot record it: the disk is full"):
        await box.audit.begin(ACT)
    monkeypatch.setattr(Store, "write", written)
    await box.audit.save()
    found = await lines(box.audit)
    assert [each["kind"] for each in found] == ["asked"] * 3 + ["own"]
    assert found[-1]["why"] == "2 lines were not recorded, for the disk took no writes"


async def test_database_that_was_put_back_is_noticed_by_the_head(box: Appliance, tmp_path: Path) -> None:
    audit = audit_in(box, tmp_path)
    assert await audit.load() == []
    await audit.begin(ACT)
    await audit.save()
    assert (await audit.verify()).problem == ""
    head = tmp_path / HEAD
    ahead = head.read_bytes()
    later = HeadFile(tmp_path)
    later.write(replace(later.read()[0], number=9))  # type: ignore[type-var]
    verdict = await audit.verify()
    assert (verdict.wrong, verdict.problem) == (2, "lines 2 to 9 are missing: the head names line 9")
    head.write_bytes(ahead)
    assert (await audit.verify()).problem == ""
    head.unlink()
    assert "is missing" in (await audit.verify()).problem
    (told,) = await audit.load()
    assert "audit.head is missing" in told
    assert (await audit.verify()).wrong == 2, "and stays noticed"


def deleted(database: Path, condition: str) -> None:
    """Delete lines as another program can."""
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("DROP TRIGGER audit_is_not_deleted")
        connection.execute(f"DELETE FROM audit WHERE {condition}")
        connection.commit()


async def test_lines_that_are_deleted_at_the_end_meanwhile_are_told_by_the_next_one(
    box: Appliance, tmp_path: Path
) -> None:
    audit = audit_in(box, tmp_path)
    await audit.load()
    for _ in range(4):
        await audit.end(ACT, await audit.begin(ACT))
    await audit.save()
    deleted(tmp_path / "tinkbox.sqlite", "number > 6")
    asked = await audit.begin(ACT)
    await audit.save()
    assert asked.number == 10
    found = await lines(audit)
    assert [each["number"] for each in found] == [*range(1, 7), 9, 10]
    assert (found[-2]["kind"], found[-2]["what"]) == ("own", "audit examined")
    assert str(found[-2]["why"]).startswith("lines 7 to 8 are missing: another program")
    assert audit.broken is not None
    assert (audit.broken.number, audit.broken.at) == (9, box.clock())
    head, _ = HeadFile(tmp_path).read()
    assert head is not None
    assert head.number == 10, "it never goes back"
    for examined in (audit, audit_in(box, tmp_path)):
        verdict = await examined.verify()
        assert (verdict.wrong, verdict.problem) == (
            7,
            "lines 7 to 8 are missing or in another place: line 9 follows line 6",
        )
    later = audit_in(box, tmp_path)
    assert "audit_is_not_deleted" in (await later.load())[0]
    await later.remember()
    assert later.broken == audit.broken, "a restart does not forget it"


async def test_lines_that_are_deleted_while_nothing_is_done_are_told_all_the_same(
    box: Appliance, tmp_path: Path
) -> None:
    audit = audit_in(box, tmp_path)
    await audit.load()
    await audit.end(ACT, await audit.begin(ACT))
    deleted(tmp_path / "tinkbox.sqlite", "TRUE")
    await audit.save()
    assert [(each["number"], each["what"]) for each in await lines(audit)] == [(3, "audit examined")]
    await audit.save()
    await audit.begin(ACT)
    assert [each["number"] for each in await lines(audit)] == [3, 4], "once"
    assert (await audit.verify()).wrong == 3


async def test_line_that_is_replaced_at_the_end_is_told_by_the_next_one(box: Appliance, tmp_path: Path) -> None:
    audit = audit_in(box, tmp_path)
    await audit.load()
    await audit.end(ACT, await audit.begin(ACT))
    deleted(tmp_path / "tinkbox.sqlite", "number = 2")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    forger = audit_in(box, elsewhere)
    await forger.begin(replace(ACT, who="bert"))
    await forger.begin(replace(ACT, who="bert"))
    await audit.begin(ACT)
    told = (await lines(audit))[-2]
    assert told["why"] == (
        "line 2 is missing or another one than was written: another program changed the database while tinkbox ran"
    )
    assert (await audit.verify()).problem


async def test_numbers_of_lines_that_are_missing_at_the_start_are_not_used_again(
    box: Appliance, tmp_path: Path
) -> None:
    audit = audit_in(box, tmp_path)
    await audit.load()
    for _ in range(3):
        await audit.begin(ACT)
    await audit.save()
    deleted(tmp_path / "tinkbox.sqlite", "number > 1")
    later = audit_in(box, tmp_path)
    assert any("lines 2 to 3 are missing" in each for each in await later.load())
    assert [each["number"] for each in await lines(later)] == [1, 4, 5]
    assert (await later.verify()).wrong == 2


async def test_audit_that_is_deleted_whole_with_its_head_is_told_while_its_key_is_there(
    box: Appliance, tmp_path: Path
) -> None:
    audit = audit_in(box, tmp_path)
    await audit.load()
    await audit.begin(ACT)
    deleted(tmp_path / "tinkbox.sqlite", "TRUE")
    (tmp_path / HEAD).unlink()
    later = audit_in(box, tmp_path)
    assert any("audit.head and all lines are missing, and there have been some" in each for each in await later.load())
    assert later.broken is not None
    assert (await later.verify()).wrong == 1


async def test_audit_that_is_deleted_with_head_and_key_is_told_where_something_was_made_with_a_line(
    box: Appliance, tmp_path: Path
) -> None:
    tokens = Tokens(box.store, box.clock, lambda: "an-id", lambda: "0" * 48, "the-operators-token")
    await tokens.issue("anna", frozenset({Right.LOOK}), until=None, by=operator())
    (told,) = await audit_in(box, tmp_path).load()
    assert "all lines are missing" in told


async def test_first_start_of_an_appliance_tells_nothing_also_where_it_has_tokens_of_an_earlier_release(
    box: Appliance, tmp_path: Path
) -> None:
    tokens = Tokens(box.store, box.clock, lambda: "an-id", lambda: "0" * 48, "the-operators-token")
    await tokens.take_in("anna", frozenset({Right.LOOK}), "annas-token-of-old", TAKEN_OVER)
    audit = audit_in(box, tmp_path)
    assert not (tmp_path / KEY).exists(), "what fails before the first head is written leaves no key that misses it"
    assert await audit.load() == []
    assert await audit_in(box, tmp_path).load() == []
    assert (await audit.verify()).problem == ""


def put_in(database: Path, number: int) -> None:
    """A line with a right digest, as another program can make it."""
    line = line_of(replace(ACT, kind=Kind.DONE), number, datetime(2020, 1, 1, tzinfo=UTC), "0" * 64)
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("DROP TRIGGER audit_is_added_to_at_its_end")
        connection.execute(
            "INSERT INTO audit (number, line, digest) VALUES (?, ?, ?)", (number, line.text, line.digest)
        )
        connection.commit()


@pytest.mark.parametrize("number", [0, -7])
async def test_line_that_is_put_in_before_the_first_one_is_told_and_not_deleted(
    box: Appliance, tmp_path: Path, number: int
) -> None:
    audit = audit_in(box, tmp_path, timedelta(days=365))
    await audit.load()
    await audit.begin(ACT)
    put_in(tmp_path / "tinkbox.sqlite", number)
    assert await audit.delete_old() == 0
    wrong = f"line {number} was put in before the first one by another program"
    verdict = await audit.verify()
    assert (verdict.wrong, verdict.problem) == (number, wrong)
    later = audit_in(box, tmp_path)
    assert audit.broken is not None
    assert (audit.broken.why, wrong in str(await later.load())) == (wrong, False), "it is told once"
    deleted(tmp_path / "tinkbox.sqlite", "number > 1")
    (tmp_path / HEAD).unlink()
    assert any(wrong in each for each in await audit_in(box, tmp_path).load()), "the start looks for it as well"


async def test_what_tells_of_deleted_lines_is_sent_to_places_that_had_more(box: Appliance, tmp_path: Path) -> None:
    audit = audit_in(box, tmp_path)
    await audit.load()
    for _ in range(9):
        await audit.begin(ACT)
    await audit.deliver("audit.jsonl", 9)
    await audit.save()
    deleted(tmp_path / "tinkbox.sqlite", "number > 0")
    (tmp_path / HEAD).unlink()
    later = audit_in(box, tmp_path)
    assert await later.load()
    sent = await later.delivered("audit.jsonl")
    assert sent == 0
    assert "audit examined" in {str(each.document()["what"]) for each in await later.after(sent, 10)}


async def test_line_that_none_can_follow_is_told_with_the_way_out(box: Appliance, tmp_path: Path) -> None:
    audit = audit_in(box, tmp_path)
    await audit.load()
    put_in(tmp_path / "tinkbox.sqlite", 2**63 - 1)
    with pytest.raises(Unavailable, match=r"line 9223372036854775807 .* put the database of a backup in its place"):
        await audit.begin(ACT)
    with pytest.raises(Unavailable, match="no line can follow it"):
        await audit_in(box, tmp_path).load()


async def test_line_in_the_place_of_one_that_was_deleted_for_its_age_is_not_deleted_for_that(
    box: Appliance, tmp_path: Path
) -> None:
    audit = audit_in(box, tmp_path, timedelta(days=10))
    await audit.load()
    for _ in range(5):
        await audit.begin(ACT)
    box.clock.forward(86_400 * 20)
    await audit.begin(ACT)
    assert await audit.delete_old() == 5
    await audit.save()
    put_in(tmp_path / "tinkbox.sqlite", 3)
    assert await audit.delete_old() == 0
    later = audit_in(box, tmp_path, timedelta(days=10))
    assert any("line 3 was put in before the first one" in each for each in await later.load())
    assert await later.delete_old() == 0


async def test_what_an_examination_finds_is_told_once_and_by_the_doctor_from_then_on(
    box: Appliance, tmp_path: Path
) -> None:
    audit = audit_in(box, tmp_path)
    await audit.load()
    for _ in range(3):
        await audit.begin(ACT)
    with closing(sqlite3.connect(tmp_path / "tinkbox.sqlite")) as connection:
        connection.execute("DROP TRIGGER audit_is_not_changed")
        connection.execute("UPDATE audit SET line = replace(line, 'anna', 'bert') WHERE number = 2")
        connection.commit()
    for _ in range(2):
        assert (await audit.verify()).wrong == 2
    assert audit.broken is not None
    assert (audit.broken.number, audit.broken.why) == (4, "line 2 is not as it was written")
    later = audit_in(box, tmp_path)
    await later.load()
    await later.remember()
    assert later.broken == audit.broken
    assert (await later.verify(after=2)).wrong == 4, "the line that tells it"
    assert (await later.verify(after=4)).problem == ""
    assert len([each for each in await lines(audit) if each["what"] == "audit examined"]) == 1


async def test_triggers_that_are_missing_or_foreign_are_made_again_at_the_start(box: Appliance, tmp_path: Path) -> None:
    audit = audit_in(box, tmp_path)
    assert await audit.load() == []
    await audit.begin(ACT)
    with closing(sqlite3.connect(tmp_path / "tinkbox.sqlite")) as connection:
        connection.execute("DROP TRIGGER audit_is_not_changed")
        connection.execute(
            "CREATE TRIGGER a_hole AFTER INSERT ON audit BEGIN DELETE FROM audit WHERE number = new.number; END"
        )
        connection.commit()
    (told,) = await audit_in(box, tmp_path).load()
    assert "not as tinkbox made them: trigger a_hole, trigger audit_is_not_changed" in told
    assert (await lines(audit))[-1]["what"] == "audit protected again"
    with (
        closing(sqlite3.connect(tmp_path / "tinkbox.sqlite")) as connection,
        pytest.raises(sqlite3.DatabaseError, match="never changed"),
    ):
        connection.execute("UPDATE audit SET line = '{}'")
    assert await audit_in(box, tmp_path).load() == []
    assert (await audit.verify()).problem == ""


async def test_line_of_the_heads_number_that_is_another_one_is_noticed(box: Appliance, tmp_path: Path) -> None:
    audit = audit_in(box, tmp_path)
    await audit.load()
    await audit.begin(ACT)
    await audit.save()
    file = HeadFile(tmp_path)
    file.write(replace(file.read()[0], digest="0" * 64))  # type: ignore[type-var]
    assert (await audit.verify()).wrong == 1


async def test_cut_goes_on_where_the_appliance_ended_in_its_middle(
    box: Appliance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit = audit_in(box, tmp_path, timedelta(days=10))
    await audit.load()
    for _ in range(10):
        await audit.begin(ACT)
    box.clock.forward(86_400 * 20)
    await audit.begin(ACT)
    monkeypatch.setattr(audits, "AT_ONCE", 3)
    monkeypatch.setattr(audits, "PAUSE", 0.0)
    cut = Store.write
    pieces = 0

    async def write(self: Store, use_case: object) -> object:
        nonlocal pieces
        pieces += 1
        if pieces > 3:
            raise Unavailable("it ends")
        return await cut(self, use_case)  # type: ignore[arg-type]

    monkeypatch.setattr(Store, "write", write)
    with pytest.raises(Unavailable):
        await audit.delete_old()
    monkeypatch.setattr(Store, "write", cut)
    assert [each["number"] for each in await lines(audit)] == [*range(4, 13)]
    await audit.save()
    assert (await audit.verify()).problem == ""
    assert await audit.delete_old() == 7
    verdict = await audit.verify()
    assert (verdict.first, verdict.last, verdict.problem) == (11, 12, "")


def _refused(_: Path) -> None:
    raise PermissionError(1, "Operation not permitted")


async def test_recordings_of_an_age_of_their_own_outlive_their_workflow_and_go_then(
    box: Appliance, tmp_path: Path
) -> None:
    offer = await hold(box, await box.machine(1))
    hub = Hub(box, tmp_path)
    made = Shells(
        box.store, box.wakeups, box.clock, hub.shells._new_id, hub.shells._tickets._new_token, tmp_path / "recordings",
        box.breakpoints.touch, box.masks, box.shell_drivers, kept=timedelta(days=365), audit=box.audit,
    )  # fmt: skip
    hub.shells = made
    opened = await made.open(offer.workflow_id, COMMAND, operator("anna"))
    async with made.attached(opened.id, opened.ticket, Mode.DRIVE):
        session = (await made.listed(offer.workflow_id))[0].session
        await made.over(session, ShellEnd(0, "", ""))
    ended = (await lines(box.audit))[-1]
    assert (ended["what"], ended["object"]) == ("shell ended", opened.id)
    (recording,) = (tmp_path / "recordings").glob("*/*.cast")
    await box.workflows.cancel(offer.workflow_id, "anna", force=True)
    await made.forget_recordings()
    assert recording.exists()
    with await made.recording(opened.id[:8]) as file:
        assert file.read()
    now = box.clock().timestamp()
    os.utime(recording, (now, now))
    await made.forget_old_recordings()
    assert recording.exists()
    box.clock.forward(86_400 * 366)
    with pytest.MonkeyPatch.context() as disk:
        disk.setattr(Path, "unlink", _refused)
        for _ in range(2):
            await made.forget_old_recordings()
    assert recording.exists()
    assert len([each for each in await lines(box.audit) if each["what"] == "recording deleted"]) == 1
    await made.forget_old_recordings()
    assert not recording.parent.exists()
    assert (await lines(box.audit))[-1]["what"] == "recording deleted"
    with pytest.raises(NotFound):
        await made.recording("nothing")
    await hub.stop()


async def test_recording_goes_with_the_workflow_that_a_person_deletes(box: Appliance, tmp_path: Path) -> None:
    offer = await hold(box, await box.machine(1))
    hub = Hub(box, tmp_path)
    made = Shells(
        box.store, box.wakeups, box.clock, hub.shells._new_id, hub.shells._tickets._new_token, tmp_path / "recordings",
        box.breakpoints.touch, box.masks, box.shell_drivers,
    )  # fmt: skip
    hub.shells = made
    opened = await made.open(offer.workflow_id, COMMAND, operator("anna"))
    async with made.attached(opened.id, opened.ticket, Mode.DRIVE):
        await made.over((await made.listed(offer.workflow_id))[0].session, ShellEnd(0, "", ""))
    await box.workflows.cancel(offer.workflow_id, "anna", force=True)
    await box.workflows.delete(offer.workflow_id)
    with pytest.raises(NotFound):
        await made.recording(opened.id)
    assert [*(tmp_path / "recordings").glob("*/*.cast")]
    retainer = Retainer(
        box.store, box.wakeups, box.machines, box.clock, Retention(), made.forget_recordings, lambda: 2**40
    )  # fmt: skip
    await retainer.look()
    assert not [*(tmp_path / "recordings").glob("*/*.cast")]
    await hub.stop()


async def test_listing_is_of_what_is_asked_for(box: Appliance) -> None:
    await box.audit.begin(ACT)
    await box.audit.begin(replace(ACT, who="bert", object=str(hardware(1)["id"])))
    found, total = await box.audit.listed(Listing(object="0001"))
    assert ([each.number for each in found], total) == ([2], 1)
