"""What was seen of machines, as `tinkbox hardware` prints it."""

import json
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from tests.unit.cli.conftest import FakeAppliance, Printed
from tests.unit.cli.documents import AT, MACHINE, MACHINE_ID
from tinkbox.cli.output import printable
from tinkbox.cli.wording.timelines import detail

Tinkbox = Callable[..., Printed]
SEEN = {
    "mac": "08:00:27:00:00:09",
    "at": AT,
    "stage": "asked for an address",
    "detail": "PXE\x07",
    "facts": {"count": 5, "lasted": 31.7},
    "hardware_id": "",
    "hostname": "",
    "stalled": "stalled here for 40 s",
}


@pytest.mark.parametrize(
    ("lasted", "words"), [(0, "within a second"), (0.4, "within a second"), (1.2, "in 1 s"), (32, "in 32 s")]
)
def test_a_repetition_within_a_second_is_said_in_words(lasted: float, words: str) -> None:
    assert detail({"detail": "PXE", "facts": {"count": 2, "lasted": lasted}}) == f"PXE (2 times {words})"


def test_an_unknown_machine_is_shown_with_what_was_seen_of_it(tink: Tinkbox, appliance: FakeAppliance) -> None:
    again = {**SEEN, "detail": ""}
    appliance.answers["GET /v1/seen/08:00:27:00:00:09"] = {**SEEN, "timeline": [SEEN, again]}
    appliance.answers[f"GET /v1/hardware/{MACHINE_ID}"] = MACHINE
    appliance.answers[f"GET /v1/hardware/{MACHINE_ID}/timeline"] = []
    assert tink("hardware", "get", "08:00:27:00:00:09").out == (
        "+-------------------+-------------------+------------+----------+\n"
        "| ID                | MAC ADDRESS       | IP ADDRESS | HOSTNAME |\n"
        "+-------------------+-------------------+------------+----------+\n"
        "| 08:00:27:00:00:09 | 08:00:27:00:00:09 |            |          |\n"
        "+-------------------+-------------------+------------+----------+\n"
        "+-------------------------------+----------------------+------------------------+\n"
        "| AT                            | STAGE                | DETAIL                 |\n"
        "+-------------------------------+----------------------+------------------------+\n"
        "| 2020-07-08 15:17:02 +0000 UTC | asked for an address | PXE  (5 times in 32 s) |\n"
        "| 2020-07-08 15:17:02 +0000 UTC | asked for an address | 5 times in 32 s        |\n"
        "+-------------------------------+----------------------+------------------------+\n"
        "stalled here for 40 s\n"
    )
    assert tink("hardware", "get", "08:00:27:00:00:09", "-o", "table").out == (
        "ID:          08:00:27:00:00:09\n"
        "State:       unknown\n"
        "Why:         stalled here for 40 s\n"
        "Interfaces:  08:00:27:00:00:09\n"
        "TIME                     STAGE                 DETAIL\n"
        "2020-07-08 15:17:02 UTC  asked for an address  PXE  (5 times in 32 s)\n"
        "2020-07-08 15:17:02 UTC  asked for an address  5 times in 32 s\n"
        "stalled here for 40 s\n"
    )
    both = tink("hardware", "get", MACHINE_ID, "08:00:27:00:00:09", "--format", "json").out
    assert [each["id"] for each in json.loads(both)["data"]] == [MACHINE_ID, "08:00:27:00:00:09"]


def test_who_is_neither_known_nor_was_seen_is_told(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    shown = tinkbox("hardware", "get", "08:00:27:00:00:08")
    assert (shown.status, shown.out) == (1, "")
    assert appliance.asked[-2:] == [
        ("GET /v1/hardware/08:00:27:00:00:08", b""),
        ("GET /v1/seen/08:00:27:00:00:08", b""),
    ]


def test_every_machine_that_was_seen_is_listed_on_request(
    tinkbox: Tinkbox, appliance: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {**SEEN, "mac": "08:00:27:00:00:01", "hardware_id": MACHINE_ID, "hostname": "machine-1", "facts": {}}
    appliance.answers["GET /v1/seen"] = [SEEN, {**known, "stalled": "", "stage": "fetched the kernel", "detail": ""}]
    monkeypatch.setattr(printable, "now", lambda: datetime(2020, 7, 8, 15, 22, 3, tzinfo=UTC))
    assert tinkbox("hardware", "list", "--seen").out == (
        "MAC                NAME       STATE                  AGE  DETAIL\n"
        "08:00:27:00:00:09  (unknown)  stalled: asks address  5m   PXE  (5 times in 32 s)\n"
        "08:00:27:00:00:01  machine-1  kernel                 5m\n"
    )
    stranger, machine = tinkbox("hardware", "list", "--seen", "-o", "tink").out.splitlines()[3:-1]
    assert [cell.strip() for cell in stranger.split("|")] == [
        "",
        "08:00:27:00:00:09",
        "(nobody knows it)",
        "2020-07-08 15:17:02 +0000 UTC",
        "asked for an address",
        "PXE  (5 times in 32 s)",
        "stalled here for 40 s",
        "",
    ]
    assert [cell.strip() for cell in machine.split("|")][2:5] == [
        "machine-1",
        "2020-07-08 15:17:02 +0000 UTC",
        "fetched the kernel",
    ]
    assert tinkbox("hardware", "list", "--seen", "-q").out == "08:00:27:00:00:09\n08:00:27:00:00:01\n"
    assert [each["mac"] for each in json.loads(tinkbox("hardware", "list", "--seen", "--format", "json").out)] == [
        "08:00:27:00:00:09",
        "08:00:27:00:00:01",
    ]
