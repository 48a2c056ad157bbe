"""What `tinkbox audit verify` says of the places that lines are sent to."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.cli.conftest import FakeAppliance, Printed

Tinkbox = Callable[..., Printed]
PLACE = "tcp://log:601"
LACKS = f"{PLACE} lacks 4 lines"
DELIVERY = {"place": PLACE, "first": 113, "waiting": 0, "sent": True, "missed": 0, "problem": ""}


def verdict(delivery: dict[str, Any]) -> dict[str, Any]:
    found = {"lines": 2, "first": 1, "last": 2, "wrong": 0, "problem": "", "digest": "0" * 64}
    return {**found, "deliveries": [delivery]}


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({}, f"every line from 113 on was sent to {PLACE}: examine a copy there with `tinkbox audit verify --after 112 FILE`"),
        ({"first": 1}, f"every line was sent to {PLACE}"),
        ({"first": 0}, f"every line since it was configured was sent to {PLACE}"),
        ({"first": 1, "sent": False}, f"every line was sent to {PLACE}; it took none yet since tinkbox started"),
        ({"first": 1, "problem": "it closed the connection"}, f"every line was sent to {PLACE}; now it takes none (it closed the connection)"),
        ({"waiting": 4}, f"{LACKS} so far"),
        ({"waiting": 1}, f"{PLACE} lacks 1 line so far"),
        ({"waiting": 4, "sent": False}, f"{LACKS} so far; it took none yet since tinkbox started"),
        ({"waiting": 4, "sent": False, "problem": "timed out"}, f"{LACKS}: timed out"),
        ({"waiting": 4, "missed": 9}, f"{LACKS} so far; 9 were deleted for their age before it took them"),
    ],
)  # fmt: skip
def test_place_is_told_by_what_it_is_known_to_have(
    tinkbox: Tinkbox, appliance: FakeAppliance, told: dict[str, Any], said: str
) -> None:
    appliance.answers["GET /v1/audit/verify?after=0"] = verdict({**DELIVERY, **told})
    printed = tinkbox("audit", "verify")
    assert printed.out.splitlines()[-1] == said
    assert printed.status == 0, "the lines are as they were written, wherever copies are"


def test_program_is_told_how_many_lines_a_place_lacks(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    behind = {**DELIVERY, "waiting": 4, "sent": False}
    appliance.answers["GET /v1/audit/verify?after=0"] = verdict(behind)
    assert json.loads(tinkbox("audit", "verify", "-o", "json").out)["deliveries"] == [behind]
