"""`tinkbox hardware leases`."""

import json
from collections.abc import Callable

import pytest

from tests.unit.cli.conftest import FakeAppliance, Printed

LENT = {
    "address": "172.30.0.100",
    "mac": "08:00:27:00:00:01",
    "state": "bound",
    "until": "2026-11-21T04:00:00+00:00",
    "hostname": "lab\x1b1",
    "client_id": "",
    "proven": True,
    "hardware_id": "0eba0bf8",
}
Tinkbox = Callable[..., Printed]


@pytest.fixture
def leases(appliance: FakeAppliance) -> FakeAppliance:
    appliance.answers["GET /v1/leases"] = [LENT]
    return appliance


def test_the_addresses_that_are_lent_are_a_table(tinkbox: Tinkbox, leases: FakeAppliance) -> None:
    assert tinkbox("hardware", "leases").out == (
        "IP            MAC                STATE  UNTIL                    NAME   HARDWARE\n"
        "172.30.0.100  08:00:27:00:00:01  bound  2026-11-21 04:00:00 UTC  lab 1  0eba0bf8\n"
    )


def test_every_other_format_works_as_for_other_lists(tinkbox: Tinkbox, leases: FakeAppliance) -> None:
    assert tinkbox("hardware", "leases", "-q").out == "172.30.0.100\n"
    assert json.loads(tinkbox("hardware", "leases", "--format", "json").out) == [LENT]
    assert "mac: 08:00:27:00:00:01" in tinkbox("hardware", "leases", "--format", "yaml").out
    assert tinkbox("hardware", "leases", "--format", "csv", "--no-headers").out == (
        "172.30.0.100,08:00:27:00:00:01,bound,2026-11-21T04:00:00+00:00,lab 1,0eba0bf8\n"
    )
