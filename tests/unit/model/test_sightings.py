"""What is kept of a sighting."""

from dataclasses import FrozenInstanceError
from datetime import UTC, datetime

import pytest

from tinkbox.model.boot import Stage
from tinkbox.model.hardware import MacAddress
from tinkbox.model.sightings import Line, Sighting

MAC, NOW = MacAddress("08:00:27:00:00:01"), datetime(2026, 11, 21, tzinfo=UTC)


def test_a_sighting_needs_no_words_and_its_facts_are_its_own() -> None:
    first, second = (Sighting(mac=MAC, at=NOW, stage=Stage.DISCOVER) for _ in range(2))
    assert first == second
    assert (first.detail, first.facts) == ("", {})
    assert first.facts is not second.facts


def test_what_was_seen_and_said_is_past_and_does_not_change() -> None:
    sighting = Sighting(mac=MAC, at=NOW, stage=Stage.DISCOVER)
    line = Line(mac=MAC, at=NOW, severity=6, program="kernel", text="Linux version 6.1")
    for fact, name in ((sighting, "at"), (line, "text")):
        with pytest.raises(FrozenInstanceError):
            setattr(fact, name, NOW)
