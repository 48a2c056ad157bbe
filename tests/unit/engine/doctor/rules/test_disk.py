"""The doctor's rules about the disk of the data folder."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from tests.unit.engine.boot_story import BEGIN, MAC, appliance, case
from tinkbox.engine.doctor.case import Work
from tinkbox.engine.doctor.doctor import diagnose, faults
from tinkbox.engine.doctor.rounds import identified
from tinkbox.engine.doctor.rules.disk import (
    deleted_early,
    disk_nearly_full,
    file_size_limited,
    output_not_kept,
    write_refused,
)
from tinkbox.engine.views.overview import disk_line
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.disk_usage import DiskUsage, EarlyDeletion, Share, Stored
from tinkbox.model.sizes import show_size
from tinkbox.model.vitals import Inodes, Vitals
from tinkbox.model.workflow import State
from tinkbox.model.write_fault import RefusedWrite, Unwritten, WriteFault

MIB = 1 << 20
SHARES = {Stored.OUTPUT: Share(octets=30 * MIB, number=9), Stored.IMAGES: Share(octets=900 * MIB, number=3)}
FULL = DiskUsage(free=300 * MIB, keep_free=512 * MIB, database=40 * MIB, shares=SHARES)
ROOMY = DiskUsage(free=600 * MIB, keep_free=512 * MIB, database=40 * MIB, shares=SHARES)


def test_a_disk_that_is_nearly_full_is_told_with_what_takes_most_of_it() -> None:
    (found,) = disk_nearly_full(appliance(disk=FULL))
    assert (found.gravity, "300MiB are free" in found.cause) == (Gravity.FAULT, True)
    assert found.evidence[-2:] == ("images in the registry: 900MiB", "what actions and services printed: 30MiB")
    assert "tinkbox image delete" in found.remedy
    assert list(disk_nearly_full(appliance(disk=DiskUsage(free=1, keep_free=2, database=3, shares={}))))
    assert not list(disk_nearly_full(appliance(disk=ROOMY)))
    assert not list(disk_nearly_full(appliance()))


def test_a_disk_that_something_else_fills_is_told_so() -> None:
    little = DiskUsage(
        free=300 * MIB, keep_free=512 * MIB, database=MIB, shares={Stored.OUTPUT: Share(octets=MIB, number=1)}
    )
    (found,) = disk_nearly_full(appliance(disk=little))
    assert found.remedy == (
        "Free room on that disk. Something else fills it, for tinkbox has 2MiB there: `du -xh / | sort -h | tail` shows what."
    )


def test_a_disk_with_only_the_last_room_is_told_to_refuse_what_machines_hand_in() -> None:
    (found,) = disk_nearly_full(appliance(disk=replace(FULL, free=20 * MIB, keep_free=10 * MIB)))
    assert found.cause.startswith("The disk of the data folder is full: 20MiB are free, and machines cannot hand in")


def test_history_that_was_deleted_early_is_told_also_when_there_is_room_again() -> None:
    early = EarlyDeletion(workflows=35, octets=120 * MIB, since=BEGIN, until=BEGIN + timedelta(hours=1))
    disk = DiskUsage(free=600 * MIB, keep_free=512 * MIB, database=40 * MIB, shares=SHARES, early=early)
    (found,) = deleted_early(appliance(disk=disk))
    assert (found.gravity, found.cause[:2], "120MiB" in found.evidence[0]) == (Gravity.SUSPECT, "35", True)
    assert "retention.keep_free" in found.remedy
    assert not list(deleted_early(appliance(disk=ROOMY)))
    assert not list(deleted_early(appliance()))


def test_an_action_whose_output_is_refused_is_told_while_it_runs() -> None:
    work = Work(
        id="w", name="debian", state=State.RUNNING, created_at=BEGIN, action="install/write",
        action_state=State.RUNNING, machine=MAC, unkept=(BEGIN, "the appliance's disk is full: free room"),
    )  # fmt: skip
    (found,) = output_not_kept(replace(case(), work=work))
    assert found.gravity is Gravity.FAULT
    assert found.cause == (
        "What action install/write prints and hands in is not kept: the appliance cannot write it since "
        f"{BEGIN:%H:%M:%S} UTC."
    )
    assert found.evidence[0].endswith("refused for the first time: the appliance's disk is full: free room")
    for other in (replace(work, unkept=None), replace(work, action_state=State.PENDING), None):
        assert not list(output_not_kept(replace(case(), work=other)))


def test_inodes_that_run_out_are_told_however_many_bytes_are_free() -> None:
    def found(total: int, free: int) -> list[str]:
        vitals = Vitals(at=BEGIN, inodes=Inodes(total=total, free=free))
        return [each.cause for each in disk_nearly_full(appliance(disk=ROOMY, vitals=vitals))]

    assert found(65_536, 0) == [
        "The file system of the data folder has no inode left, though 600MiB are free: each new file takes one."
    ]
    assert "has 1023 inodes left" in found(1 << 20, 1023)[0]
    assert not found(1 << 20, 1024)
    assert not found(1000, 50), "a small file system has few"
    assert "has 49 inodes left" in found(1000, 49)[0]
    vitals = Vitals(at=BEGIN, inodes=Inodes(total=1000, free=0), data_mount="/srv/my data")
    (none,) = disk_nearly_full(appliance(disk=ROOMY, vitals=vitals))
    assert "`du --inodes -x '/srv/my data' | sort -n | tail`" in none.remedy
    assert not list(disk_nearly_full(appliance(disk=ROOMY, vitals=Vitals(at=BEGIN))))


def refused(text: str, fault: WriteFault = WriteFault.OTHER) -> Vitals:
    """Those of an appliance whose database refuses writes."""
    write = RefusedWrite(since=BEGIN, what=Unwritten.DATABASE, text=text, fault=fault)
    return Vitals(at=BEGIN, refused_writes=(write,))


def test_a_refused_write_names_what_takes_room_only_where_room_is_short() -> None:
    vitals = refused("its file system is read-only")
    (roomy,) = write_refused(appliance(disk=ROOMY, vitals=vitals))
    assert roomy.evidence[0].endswith("refused for the first time: its file system is read-only")
    assert "take most" not in roomy.remedy
    (full,) = write_refused(appliance(disk=FULL, vitals=vitals))
    assert "Images take most: free what no image needs" in full.remedy


LITTLE = DiskUsage(
    free=20 * MIB, keep_free=512 * MIB, database=MIB, shares={Stored.IMAGES: Share(octets=2 * MIB, number=1)}
)


def test_of_a_disk_that_something_else_fills_nothing_of_ours_is_to_be_deleted() -> None:
    vitals = refused("full", WriteFault.FULL)
    whole = appliance(disk=LITTLE, vitals=vitals)
    for (found,) in (disk_nearly_full(whole), write_refused(whole)):
        assert (
            "Something else fills it, for tinkbox has 3MiB there: `du -xh / | sort -h | tail` shows what."
            in found.remedy
        )
        assert "image delete" not in found.remedy
    assert disk_line(LITTLE).remedy.startswith("something else fills it, for tinkbox has 3MiB there")
    assert disk_line(FULL).remedy.startswith("images take most: free what no image needs (`tinkbox image gc`)")
    assert disk_line(ROOMY).remedy == ""


def test_an_osie_counts_as_what_tinkbox_has_on_the_disk_and_is_not_said_to_be_too_much() -> None:
    shares = {**LITTLE.shares, Stored.OSIE: Share(octets=500 * MIB, number=3)}
    (found,) = disk_nearly_full(appliance(disk=replace(LITTLE, shares=shares, total=550 * MIB)))
    assert found.remedy == (
        "Free room on that disk. OSIEs take most, and are needed: give the data folder a larger disk."
    ), "to delete 2MiB of images would give nothing"
    assert f"OSIEs that were built: {show_size(500 * MIB)}" in found.evidence
    many = {**shares, Stored.IMAGES: Share(octets=60 * MIB, number=1)}
    (found,) = disk_nearly_full(appliance(disk=replace(LITTLE, shares=many, total=600 * MIB)))
    assert "Beside OSIEs, images take most: free what no image needs" in found.remedy


# A disk of 300 MiB with 190 MiB that are not ours, as small ones are that were tried.
KIB = 1 << 10
JUNK = DiskUsage(
    free=2 * MIB,
    keep_free=75 * MIB,
    database=400 * KIB,
    total=300 * MIB,
    shares={
        Stored.OSIE: Share(octets=107 * MIB, number=3),
        Stored.WORKFLOWS: Share(octets=1229, number=1),
        Stored.IMAGES: Share(octets=9 * KIB, number=4),
    },
)


@pytest.mark.parametrize("fault", [WriteFault.FULL, WriteFault.OTHER])
def test_what_takes_next_to_nothing_is_not_to_be_deleted(fault: WriteFault) -> None:
    whole = appliance(disk=JUNK, vitals=refused("full", fault))
    for (found,) in (disk_nearly_full(whole), write_refused(whole)):
        assert "Something else fills it, for tinkbox has 107.4MiB there: `du -xh / | sort -h | tail`" in found.remedy
        assert not any(each in found.remedy for each in ("delete workflows", "image delete", "image gc", "lower "))
    assert disk_line(JUNK).remedy.startswith("something else fills it")


@pytest.mark.parametrize(
    ("free", "workflows", "told"),
    [
        (2, 74, "workflows take most"),  # as much as is short
        (2, 72, "workflows take most"),  # a tenth of the disk
        (2, 29, "something else"),
        (74, 8, "workflows take most"),
        (74, 7, "something else"),  # one is short, which comes back at once
        (75, 1, ""),
    ],
)
def test_what_is_deleted_has_to_give_room_to_speak_of(free: int, workflows: int, told: str) -> None:
    shares = {**JUNK.shares, Stored.WORKFLOWS: Share(octets=workflows * MIB, number=9)}
    remedy = replace(JUNK, free=free * MIB, shares=shares).remedy("/")
    assert told in remedy
    assert bool(remedy) == bool(told)


@pytest.mark.parametrize(
    ("fault", "cause", "remedy"),
    [
        (WriteFault.LOCKED, "Another program has locked the appliance's database", "The disk is not to blame."),
        (WriteFault.READ_ONLY, "The file system that the appliance writes to is read-only", "`dmesg | grep -i error`"),
        (WriteFault.FULL, "The file system that the appliance writes to is full", "`df -h` and `df -i`"),
        (WriteFault.FAILING, "The disk that the appliance writes to answers with errors", "`dmesg | grep -i error`"),
        (WriteFault.TOO_MUCH, "The registry has no room for more images", "Do what the refusal says: it says why."),
        (WriteFault.OTHER, "The appliance cannot write", "`df -h`, `df -i`"),
    ],
)
def test_a_refused_write_is_told_by_what_refused_it(fault: WriteFault, cause: str, remedy: str) -> None:
    vitals = refused("it says why", fault)
    (found,) = write_refused(appliance(disk=ROOMY, vitals=vitals))
    assert found.cause.startswith(cause)
    assert remedy in found.remedy
    if fault is WriteFault.LOCKED:
        assert not any(each in found.remedy for each in ("df -h", "dmesg"))


@pytest.mark.parametrize(
    ("fault", "way_out", "remedy"),
    [
        (WriteFault.LOCKED, "another program holds it: `fuser -v /d/t` tells which", "Another program holds it: `fuser -v /d/t` tells which. The disk is not to blame."),
        (WriteFault.OTHER, "/d/t is immutable: `chattr -i /d/t`", "/d/t is immutable: `chattr -i /d/t`."),
        (WriteFault.LIMITED, "take that limit away", "Take that limit away. The disk is not to blame."),
    ],
)  # fmt: skip
def test_what_to_do_about_a_refused_write_stands_in_the_remedy_itself(
    fault: WriteFault, way_out: str, remedy: str
) -> None:
    write = RefusedWrite(since=BEGIN, what=Unwritten.DATABASE, text="it says why", fault=fault, way_out=way_out)
    (found,) = write_refused(appliance(disk=ROOMY, vitals=Vitals(at=BEGIN, refused_writes=(write,))))
    assert found.remedy.startswith(f"{remedy} Workers send again")


IMAGES = RefusedWrite(since=BEGIN, what=Unwritten.IMAGES, text="8MiB of 10MiB", fault=WriteFault.TOO_MUCH)
DATABASE = RefusedWrite(
    since=BEGIN + timedelta(minutes=3), what=Unwritten.DATABASE, text="locked", fault=WriteFault.LOCKED
)


@pytest.mark.parametrize("standing", [(IMAGES, DATABASE), (DATABASE, IMAGES)])
def test_each_kind_of_refused_write_is_told_with_its_own_time_and_remedy(standing: tuple[RefusedWrite, ...]) -> None:
    told = {each.subject: each for each in write_refused(appliance(vitals=Vitals(at=BEGIN, refused_writes=standing)))}
    images, database = told.pop("images"), told.pop("the database")
    assert told == {}
    assert images.cause == (
        f"The registry has no room for more images since {BEGIN:%H:%M:%S} UTC: images that are pushed, loaded or fetched are refused."
    )
    assert images.evidence[0].endswith("refused for the first time: 8MiB of 10MiB")
    assert images.remedy.endswith(" Afterwards push or load the image again.")
    assert database.cause.startswith("Another program has locked the appliance's database")
    assert f" since {DATABASE.since:%H:%M:%S} UTC: what machines and people send is not kept." in database.cause
    assert "`sqlite3`" in database.remedy


def test_each_kind_of_refused_write_is_a_condition_of_its_own_that_lasts() -> None:
    def conditions(*standing: RefusedWrite) -> set[tuple[str, str]]:
        found = diagnose(appliance(vitals=Vitals(at=BEGIN, refused_writes=standing)))
        return {(rule, subject) for rule, _, _, subject in identified(found) if rule == "WriteRefused"}

    both = {("WriteRefused", "images"), ("WriteRefused", "the database")}
    assert conditions(IMAGES, DATABASE) == both
    assert conditions(IMAGES, replace(DATABASE, fault=WriteFault.FULL, text="full")) == both, "for another reason"
    assert conditions(IMAGES) == {("WriteRefused", "images")}, "the database takes writes again"


@pytest.mark.parametrize("what", [each for each in Unwritten if each is not Unwritten.DAMAGED])
@pytest.mark.parametrize("fault", WriteFault)
def test_whatever_is_refused_for_whichever_reason_is_told(what: Unwritten, fault: WriteFault) -> None:
    write = RefusedWrite(since=BEGIN, what=what, text="it says why", fault=fault)
    (found,) = write_refused(appliance(vitals=Vitals(at=BEGIN, refused_writes=(write,))))
    assert (found.gravity, found.subject) == (Gravity.FAULT, what)


def test_a_refused_image_keeps_no_machine_from_anything() -> None:
    def since(*standing: RefusedWrite) -> list[datetime | None]:
        return [each.stops.since for each in faults(appliance(vitals=Vitals(at=BEGIN, refused_writes=standing)))]

    assert since(IMAGES, replace(IMAGES, what=Unwritten.REGISTRY)) == []
    assert since(IMAGES, DATABASE) == [DATABASE.since]


@pytest.mark.parametrize("fault", WriteFault)
def test_what_to_do_about_a_refused_write_without_a_way_out_quotes_the_refusal(fault: WriteFault) -> None:
    (found,) = write_refused(appliance(disk=ROOMY, vitals=refused("it says {why}.", fault)))
    assert "what the refusal says: it says {why}. " in found.remedy
    assert "`tinkbox doctor`" not in found.remedy


@pytest.mark.parametrize(("most", "gravity"), [(20 << 20, Gravity.FAULT), (16 << 30, Gravity.SUSPECT)])
def test_a_limit_on_the_size_of_files_is_told(most: int, gravity: Gravity) -> None:
    (found,) = file_size_limited(appliance(vitals=Vitals(at=BEGIN, file_size_limit=most)))
    assert found.gravity is gravity
    assert "`LimitFSIZE=` of its unit" in found.remedy
    assert not list(file_size_limited(appliance(vitals=Vitals(at=BEGIN))))
