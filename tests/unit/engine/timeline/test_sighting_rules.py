"""Where a boot begins, what only repeats, and what is kept of it."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.engine.timeline.sighting_rules import (
    MAX_FACT,
    MAX_FACTS,
    MAX_NAME,
    MOST_TOLD_APART,
    Entry,
    begins,
    cleaned_facts,
    ended_at,
    repeated,
)
from tinkbox.model.boot import Asker, Stage
from tinkbox.model.hardware import MacAddress
from tinkbox.model.sightings import Fact, Sighting

MAC = MacAddress("08:00:27:00:00:01")
START = datetime(2026, 11, 21, tzinfo=UTC)


def seen(stage: Stage, at: float = 0, detail: str = "", **facts: Fact) -> Sighting:
    return Sighting(mac=MAC, at=START + timedelta(seconds=at), stage=stage, detail=detail, facts=facts)


def discover(asker: Asker, at: float = 0, **facts: Fact) -> Sighting:
    return seen(Stage.DISCOVER, at, asker, asker=asker, **facts)


FIRMWARE = [discover(Asker.PXE), seen(Stage.OFFERED), seen(Stage.REQUESTED), seen(Stage.LEASED)]
LOADED = [*FIRMWARE, seen(Stage.LOADER_REQUESTED), seen(Stage.LOADER)]


@pytest.mark.parametrize(
    ("boot", "next_one", "expected"),
    [
        ([], seen(Stage.IGNORED), True),
        (FIRMWARE, discover(Asker.PXE, 5), True),
        ([discover(Asker.PXE)], discover(Asker.PXE, 4), False),
        ([discover(Asker.PXE)], discover(Asker.HTTP, 4), True),
        (LOADED, discover(Asker.IPXE, 5), False),
        ([*LOADED, seen(Stage.SCRIPT)], discover(Asker.IPXE, 30), True),
        ([*LOADED, seen(Stage.SCRIPT)], seen(Stage.DISCOVER, 30), False),
        ([*LOADED, seen(Stage.LOCAL_DISK)], seen(Stage.DISK_BOOTED, 30), False),
        ([*LOADED, seen(Stage.LOCAL_DISK)], seen(Stage.DISK_BOOTED, 900), False),
        ([*LOADED, seen(Stage.WORKER)], seen(Stage.DISK_BOOTED, 30), False),
        ([*LOADED, seen(Stage.WORKER)], seen(Stage.DISK_BOOTED, 900), True),
        (LOADED, discover(Asker.IPXE, 600), False),
        (LOADED, discover(Asker.IPXE, 601), True),
        (LOADED, seen(Stage.LEASED, 601), False),
        ([discover(Asker.IPXE), seen(Stage.OFFERED)], discover(Asker.IPXE, 5), False),
    ],
)
def test_a_boot_begins_where_firmware_asks_or_after_a_pause(
    boot: list[Sighting], next_one: Sighting, expected: bool
) -> None:
    assert begins(boot, next_one) is expected


@pytest.mark.parametrize(
    ("boot", "next_one", "expected"),
    [
        ([discover(Asker.PXE)], discover(Asker.PXE, 8), 0),
        ([discover(Asker.PXE), seen(Stage.OFFERED)], discover(Asker.PXE, 8), 0),
        ([discover(Asker.PXE), seen(Stage.OFFERED)], seen(Stage.OFFERED, 8), 1),
        ([*FIRMWARE[:3], seen(Stage.REFUSED)], discover(Asker.PXE, 8), 0),
        ([discover(Asker.PXE)], discover(Asker.IPXE, 8), None),
        ([discover(Asker.PXE)], discover(Asker.PXE, 121), None),
        ([discover(Asker.PXE, count=2, lasted=100)], discover(Asker.PXE, 200), 0),
        ([*LOADED], discover(Asker.PXE, 8), None),
        ([seen(Stage.LEASED)], seen(Stage.LEASED, 100_000), 0),
        ([seen(Stage.LEASED, detail="172.30.0.1")], seen(Stage.LEASED, 1, "172.30.0.2"), None),
        ([seen(Stage.SCRIPT)], seen(Stage.SCRIPT), None),
        ([seen(Stage.SERVICES)], seen(Stage.SERVICES, 900), 0),
        ([seen(Stage.SERVICES), seen(Stage.DISCOVER)], seen(Stage.SERVICES), None),
        ([seen(Stage.PARKED)], seen(Stage.PARKED, 36_000), 0),
        ([seen(Stage.PARKED), seen(Stage.DISCOVER)], seen(Stage.PARKED), None),
        ([seen(Stage.SERVICES)], seen(Stage.PARKED), None),
        (
            [discover(Asker.PXE), *[seen(Stage.IGNORED, detail=str(each)) for each in range(4)]],
            discover(Asker.PXE),
            None,
        ),
    ],
)
def test_what_goes_round_repeats_what_was_seen(boot: list[Sighting], next_one: Sighting, expected: int | None) -> None:
    entries = [Entry(number, each) for number, each in enumerate(boot)]
    found = repeated(entries, next_one, next_one.at)
    assert (found and found.number) == expected


@pytest.mark.parametrize("fact", ["uuid", "relay", "circuit"])
def test_machines_that_share_a_mac_are_told_apart_and_one_that_invents_many_is_bounded(fact: str) -> None:
    boot: list[Entry] = []

    def ask(told: str, second: float) -> None:
        asked = discover(Asker.PXE, second, **cleaned_facts({fact: told}))
        found = repeated(boot, asked, asked.at)
        if found is None:
            boot.append(Entry(len(boot), asked))
        else:
            found.repeat(asked.at)

    for turn in range(6):
        ask("ab"[turn % 2] * 200, turn)
    assert [each.sighting.facts["count"] for each in boot] == [3, 3]
    for turn in range(100):
        ask(f"{turn}", 10 + turn)
    assert len(boot) == MOST_TOLD_APART


def test_an_offer_to_one_machine_alone_repeats_none_that_went_to_all() -> None:
    to_all, alone = seen(Stage.OFFERED, 1, "172.30.0.21"), seen(Stage.OFFERED, 2, "172.30.0.21", sent_alone=1)
    boot = [Entry(0, discover(Asker.PXE)), Entry(1, to_all)]
    assert repeated(boot, to_all, to_all.at) is boot[1]
    assert repeated(boot, alone, alone.at) is None
    boot.append(Entry(2, alone))
    assert [repeated(boot, each, alone.at) for each in (to_all, alone)] == boot[1:]


def test_a_repeated_sighting_stays_as_it_was_and_counts() -> None:
    first = seen(Stage.DISCOVER, 1, "PXE", secs=0)
    entry = Entry(1, first)
    assert entry.sighting is first
    entry.repeat(START + timedelta(seconds=5))
    twice = entry.sighting
    assert twice == seen(Stage.DISCOVER, 1, "PXE", secs=0, count=2, lasted=4.0)
    assert entry.sighting is twice
    entry = Entry(1, twice)  # read from the store again
    assert entry.ended == START + timedelta(seconds=5)
    entry.repeat(START + timedelta(seconds=13.5))
    thrice = entry.sighting
    assert (thrice.facts["count"], thrice.facts["lasted"]) == (3, 12.5)
    assert (ended_at(first), ended_at(thrice)) == (first.at, START + timedelta(seconds=13.5)) == (first.at, entry.ended)


@given(st.lists(st.floats(0, 10_000, allow_nan=False), min_size=1, max_size=20), st.sets(st.integers(0, 20)))
def test_repeated_sighting_is_told_the_same_whenever_one_looks(times: list[float], looks: set[int]) -> None:
    """One that is counted tells what one would tell that was made anew at every repetition."""
    first = seen(Stage.DISCOVER, times[0], "PXE", secs=0)
    entry, expected = Entry(1, first), first
    for number, seconds in enumerate(times[1:], 2):
        at = START + timedelta(seconds=seconds)
        entry.repeat(at)
        lasted = round((at - first.at).total_seconds(), 3)
        expected = seen(Stage.DISCOVER, times[0], "PXE", secs=0, count=number, lasted=lasted)
        if number in looks:
            assert entry.sighting == expected
    assert entry.sighting == expected
    assert abs(entry.ended - ended_at(expected)) < timedelta(milliseconds=1)


def test_no_fact_looks_like_a_command_of_ours() -> None:
    assert cleaned_facts({"name": "`tinkbox workflow cancel node1`"}) == {"name": "'tinkbox workflow cancel node1'"}


def test_facts_are_few_and_short_and_json_can_say_them() -> None:
    hostile: dict[str, Fact] = {
        "n\n" * 100: "\x1b" + "x" * 5_000,
        "nan": float("nan"),
        "inf": float("-inf"),
        "huge": 10**400,
        "low": -(10**400),
        "yes": 1.5,
        **{str(each): each for each in range(100)},
    }
    kept = cleaned_facts(hostile)
    assert len(kept) == MAX_FACTS
    assert max(map(len, kept)) <= MAX_NAME
    assert all(name.isprintable() for name in kept)
    assert next(iter(kept.values())) == "x" * (MAX_FACT - 1)
    assert (kept["nan"], kept["inf"], kept["huge"], kept["low"], kept["yes"]) == (0, 0, 2**53, -(2**53), 1.5)
    assert json.loads(json.dumps(kept, allow_nan=False)) == kept
