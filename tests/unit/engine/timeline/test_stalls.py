"""Whether a machine that boots has stopped on its way."""

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.unit.engine.timeline.test_sighting_rules import seen
from tinkbox.engine.timeline.stalls import FORGOTTEN_AFTER, LOOK_AT, PATIENCE, stalled
from tinkbox.model.boot import Boot, Stage
from tinkbox.model.sightings import Sighting

DOCS = Path(__file__).parents[4] / "docs" / "operating.md"


def after(sighting: Sighting, seconds: float) -> str:
    return stalled(sighting, sighting.at + timedelta(seconds=seconds))


@pytest.mark.parametrize("stage", PATIENCE)
def test_a_machine_has_stalled_when_it_stays_longer_than_its_stage_takes(stage: Stage) -> None:
    assert after(seen(stage), PATIENCE[stage]) == ""
    assert after(seen(stage), PATIENCE[stage] + 1).startswith("stalled here for ")


def test_how_long_is_said_as_people_say_it() -> None:
    found = seen(Stage.DISCOVER)
    assert after(found, 41) == "stalled here for 41 s"
    assert after(found, 125.9) == "stalled here for 2 min 5 s"
    assert after(found, 3_780) == "stalled here for 1 h 3 min"


@pytest.mark.parametrize("stage", PATIENCE)
def test_there_is_something_to_look_at_for_each_stage_as_the_docs_have_it(stage: Stage) -> None:
    rows = re.findall(r"^\| ([^|]+?) \| ([^|]+?) \|$", DOCS.read_text(), re.MULTILINE)
    assert [look for stages, look in rows if stage in stages.split(", ")] == [LOOK_AT[stage]]


def test_where_bytes_flow_a_boot_does_not_stand_still() -> None:
    flows = replace(seen(Stage.KERNEL), facts={"moved": 500.0})
    assert after(flows, 500 + PATIENCE[Stage.KERNEL]) == ""
    assert after(flows, 600) == "stalled here for 1 min 40 s"


def test_what_was_seen_long_ago_has_not_stalled() -> None:
    assert after(seen(Stage.DISCOVER), FORGOTTEN_AFTER) == ""


@pytest.mark.parametrize(
    "stage",
    [Stage.WORKER, Stage.LOCAL_DISK, Stage.DISK_BOOTED, Stage.PARKED, Stage.SERVICES, Stage.INVENTORY, Stage.OWN_BOOT],
)
def test_where_nothing_has_to_follow_nothing_stalls(stage: Stage) -> None:
    assert after(seen(stage), 4_000) == ""


@pytest.mark.parametrize("stage", [Stage.OFFERED, Stage.LEASED])
def test_machine_that_boots_from_another_server_does_not_stall(stage: Stage) -> None:
    assert after(replace(seen(stage), facts={"boot": Boot.ELSEWHERE.value}), 4_000) == ""
    assert after(replace(seen(stage), facts={"boot": Boot.OSIE.value}), 4_000) != ""
