"""`tinkbox service list`."""

import csv
import io
import json
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from tests.golden import text as golden
from tests.unit.cli.conftest import FakeAppliance, Printed
from tests.unit.cli.documents import AT, WORKFLOW_ID, service
from tinkbox.cli.output import printable
from tinkbox.model.services import Phase

Tinkbox = Callable[..., Printed]
TROUBLE: dict[Phase, dict[str, object]] = {
    Phase.PENDING: {"begun_at": None, "ready_at": None, "message": "waiting for the Docker engine\x1b[2J"},
    Phase.STARTING: {"ready_at": None, "host": "machine-1"},
    Phase.RESTARTING: {"restarts": 12, "reason": "NonZeroExit", "message": "exit code 1, started again in 2 s"},
    Phase.FAILED: {"ready_at": None, "reason": "ImageNotFound", "message": "no such image " * 20},
}
EACH = [service(name=f"is-{phase.lower()}", state=phase, **TROUBLE.get(phase, {})) for phase in Phase]


@pytest.fixture(autouse=True)
def at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printable, "now", lambda: datetime(2020, 7, 8, 16, 20, 5, 250000, tzinfo=UTC))


def test_services_in_each_phase_are_a_table(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers["GET /v1/services"] = EACH
    listed = tinkbox("service", "list")
    assert (listed.status, listed.out) == (0, golden("cli/service-list.txt"))


def test_an_appliance_without_services_has_only_headers(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers["GET /v1/services"] = []
    assert tinkbox("service", "list", "--no-headers").out == ""
    assert tinkbox("service", "list").out.split()[0] == "SERVICE"


def test_those_of_named_workflows_are_asked_for_one_after_another(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers["GET /v1/services?workflow=hello+world%2F1"] = [service()]
    appliance.answers["GET /v1/services?workflow=other"] = [service(id="o/s", name="s")]
    assert tinkbox("service", "list", "hello world/1", "other", "-q").out == f"{WORKFLOW_ID}/boot files\no/s\n"
    missing = tinkbox("service", "list", "nothing")
    assert (missing.status, missing.out) == (1, "")


def test_programs_get_the_whole_documents(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers["GET /v1/services"] = EACH
    assert json.loads(tinkbox("service", "list", "--format", "json").out) == EACH
    assert "is-unhealthy" in tinkbox("service", "list", "--format", "yaml").out
    first, *rest = csv.DictReader(io.StringIO(tinkbox("service", "list", "--format", "csv").out))
    assert (first["name"], first["ready_after"], first["begun_at"]) == ("is-pending", "", "")
    assert [row["state"] for row in rest] == list(Phase)[1:]


def test_a_clock_that_is_behind_the_appliances_makes_nothing_negative(
    tinkbox: Tinkbox, appliance: FakeAppliance
) -> None:
    appliance.answers["GET /v1/services"] = [service(begun_at="2030-01-01T00:00:00+00:00", ready_at=AT)]
    _, line = tinkbox("service", "list", "-o", "wide").out.splitlines()
    assert line.split()[-2:] == ["0s", "0s"]
    appliance.answers["GET /v1/services"] = [service(begun_at=AT, ready_at=AT.replace(":0", ":1", 1))]
    (row,) = csv.DictReader(io.StringIO(tinkbox("service", "list", "-o", "csv").out))
    assert float(row["ready_after"]) > 0, "seconds, as a number"
