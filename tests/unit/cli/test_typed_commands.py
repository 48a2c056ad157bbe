"""What a person is told to type reaches the appliance that was asked."""

import json
from collections.abc import Callable

import pytest

from tests.unit.cli.conftest import FakeAppliance, Printed
from tests.unit.cli.documents import AT, EVENTS, STATE, TEMPLATE, WORKFLOW_ID
from tinkbox import settings

Tinkbox = Callable[..., Printed]
SAID = "`tinkbox osie build` makes it; or `systemctl restart tinkbox`"
TYPED = "`tinkbox --data '/a b' osie build` makes it; or `systemctl restart tinkbox`"
DOCTOR = {
    "at": AT,
    "mode": "off",
    "machine": "",
    "machines": 0,
    "unasked": "",
    "servers": [],
    "diagnoses": [
        {"rule": "NoOsie", "gravity": "fault", "machine": "", "cause": SAID, "evidence": [SAID], "remedy": SAID}
    ],
}
CONDITION = {**EVENTS[0], "kind": "condition.began", "workflow_id": "", "remedy": SAID}


@pytest.fixture
def there(tinkbox: Tinkbox, appliance: FakeAppliance, monkeypatch: pytest.MonkeyPatch) -> Tinkbox:
    """Commands with `--data`, which names the fake appliance."""
    of_environment = settings.client_target
    monkeypatch.setattr(settings, "client_target", lambda _: of_environment())

    def run(*arguments: str) -> Printed:
        return tinkbox("--data", "/a b", *arguments)

    return run


@pytest.mark.parametrize("form", ["table", "wide", "csv", "json", "yaml"])
def test_a_remedy_of_the_doctor_can_be_typed_in_every_format(
    there: Tinkbox, tinkbox: Tinkbox, appliance: FakeAppliance, form: str
) -> None:
    appliance.answers["GET /v1/doctor?machine="] = DOCTOR
    printed = " ".join(there("doctor", "-o", form).out.replace("''", "'").split())
    assert TYPED in printed
    assert SAID not in printed
    assert SAID in " ".join(tinkbox("doctor", "-o", form).out.split())


def test_a_hint_can_be_typed_also_by_a_program(there: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers[f"GET /v1/workflows/{WORKFLOW_ID}/state"] = {**STATE, "hint": SAID, "waiting": SAID}
    found = json.loads(there("workflow", "state", WORKFLOW_ID, "-o", "json").out)
    assert (found["hint"], found["waiting"]) == (TYPED, TYPED)


def test_an_event_tells_a_remedy_that_can_be_typed(there: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers[f"GET /v1/workflows/{WORKFLOW_ID}/events?after=0"] = [CONDITION]
    assert json.loads(there("workflow", "events", WORKFLOW_ID, "-o", "json").out)[0]["remedy"] == TYPED


def test_a_refusal_tells_a_command_that_can_be_typed(there: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.problem = {"detail": SAID, "problems": [{"text": SAID}], "status": 422}
    assert there("template", "list").err == f"tinkbox: {TYPED}\n  {TYPED}\n"


def test_what_people_wrote_comes_to_the_letter(there: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers["GET /v1/templates/one"] = {**TEMPLATE, "data": f"# {SAID}\n"}
    assert there("template", "get", "one").out == f"# {SAID}\n"
    assert json.loads(there("template", "get", "one", "-o", "json").out)["data"] == f"# {SAID}\n"
