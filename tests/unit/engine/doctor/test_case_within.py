"""What is left of a case for whoever may not know all machines, and of a workflow."""

from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from typing import Any

import pytest

from tinkbox.engine.doctor.case import Case, Work
from tinkbox.engine.doctor.case_within import (
    general_within,
    machine_within,
    names_of,
    sightings_within,
    work_within,
)
from tinkbox.model.boot import Stage
from tinkbox.model.hardware import MacAddress
from tinkbox.model.sightings import OTHER_HOST, Fact, Sighting
from tinkbox.model.telling import OUTSIDE
from tinkbox.model.workflow import State

NOW = datetime(2026, 11, 21, 3, tzinfo=UTC)
MAC = MacAddress("08:00:27:00:00:01")
# Of the machine itself, what it is given, and how the appliance is set up; whoever adds a field decides where it belongs.
TOLD = {
    "now", "since", "address", "mode", "mac", "interface", "ticket", "waited_since", "heard_at", "left", "installed",
    "retired", "discovers", "firmware_traits", "inventory", "inventory_at", "subnets", "osie", "osie_trouble",
    "osie_served", "osie_folder", "osie_gone", "surveyed", "pushed_at", "barred", "own", "own_macs",
}  # fmt: skip
# What is put in afterwards, for who asks: by the timeline, by the scope, and by asking for the machine's own address and relay.
ANEW = {"sightings", "parked", "lost_work", "work", "conflict", "relay_answers"}
# What nobody asks for within a scope.
NEVER_ASKED = {"static_port", "behind", "static_neighbour"}


@pytest.mark.parametrize("name", sorted({each.name for each in fields(Case)} - TOLD - ANEW - NEVER_ASKED))
def test_nothing_of_other_hosts_and_of_the_appliances_trouble_is_left_in_a_case(name: str) -> None:
    secret: Any = object()
    case = replace(Case(now=NOW, since=NOW, address=IPv4Address("172.30.0.1")), **{name: secret})
    told = machine_within(general_within(case), (), "")
    assert getattr(told, name) is not secret


def seen(second: int, stage: Stage, **facts: Fact) -> Sighting:
    return Sighting(mac=MAC, at=NOW + timedelta(seconds=second), stage=stage, detail="words", facts=facts)


def test_a_timeline_is_left_with_what_is_told_whole() -> None:
    own = [seen(1, Stage.DISCOVER), seen(2, Stage.LEASED), seen(3, Stage.ACTION, workflow="mine", attempt="a")]
    theirs = seen(4, Stage.ACTION, workflow="theirs", attempt="b")
    assert sightings_within([*own, theirs], {"theirs"}) == (own, True)
    other = seen(5, Stage.SCRIPT, **{OTHER_HOST: "08:00:27:00:00:02"})
    assert sightings_within([*own, other, theirs], {"theirs"}) == (own, False)


def test_a_ticket_that_was_refused_is_told_where_it_came_from_the_machine_itself() -> None:
    own, other = (seen(2, Stage.TICKET_REFUSED, neighbour=each) for each in (str(MAC), "08:00:27:00:00:02"))
    assert sightings_within([seen(1, Stage.REVOKED), own], ()) == ([seen(1, Stage.REVOKED), own], True)
    assert sightings_within([seen(1, Stage.REVOKED), other], ()) == ([seen(1, Stage.REVOKED)], False)


def work(**more: Any) -> Work:
    return Work(id="mine", name="mine", state=State.PENDING, created_at=NOW, **more)


def test_a_workflow_is_told_without_the_words_of_work_outside() -> None:
    waits = work(before=("theirs",), waits="workflow 'theirs'", waits_of=("theirs",))
    assert set(names_of(waits)) == {"mine", "theirs"}
    assert work_within(waits, {"theirs"}, "") == (None, f"it waits for {OUTSIDE}")
    assert work_within(waits, (), "") == (waits, "")
    assert work_within(work(), {"mine"}, "") == (None, f"it is {OUTSIDE}")
    overtaken, _ = work_within(work(overtaken="theirs is newer", overtaken_of=("theirs",)), {"theirs"}, "")
    assert overtaken is not None
    assert overtaken.overtaken == OUTSIDE
    parked, _ = work_within(
        work(parked="push 0000 again", waits="node1, which is parked: push 0000 again"), (), "push node1 again"
    )
    assert parked is not None
    assert parked.waits == "node1, which is parked: push node1 again"
