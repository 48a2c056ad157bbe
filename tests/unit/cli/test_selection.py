"""`-l` selects by labels wherever keys are named, and `label` changes labels."""

import json
from collections.abc import Callable

import pytest

from tests.unit.cli.conftest import FakeAppliance, Printed
from tinkbox.cli.selection import in_words
from tinkbox.model.key_kinds import KeyKind

Tinkbox = Callable[..., Printed]
RACK = "label=rack%3Dr1"


def asked(appliance: FakeAppliance) -> list[str]:
    return [request for request, _ in appliance.asked]


def test_what_labels_select_stands_behind_the_keys_that_are_named(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers[f"GET /v1/workflows?{RACK}"] = [{"id": "w1", "name": "x"}, {"id": "w2", "name": "x"}]
    for each in ("w9", "w1", "w2"):
        appliance.answers[f"POST /v1/workflows/{each}/cancel"] = {"id": each, "state": "CANCELED"}
    printed = tinkbox("workflow", "cancel", "w9", "w1", "-l", "rack=r1")
    assert printed.out.split() == [word for each in ("w9", "w1", "w2") for word in ("Canceled", "Workflow:", each)]
    assert asked(appliance)[1:] == [f"POST /v1/workflows/{each}/cancel" for each in ("w9", "w1", "w2")]


def test_nothing_with_such_labels_is_told_and_nothing_is_done(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers[f"GET /v1/hardware?{RACK}"] = []
    printed = tinkbox("hardware", "delete", "-l", "rack=r1")
    assert (printed.status, printed.out, len(appliance.asked)) == (1, "", 1)
    assert "no machine has the labels rack=r1: `tinkbox hardware list` shows" in printed.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["workflow", "delete"], "name at least one WORKFLOW, or select some by their labels, such as -l rack=r1"),
        (["template", "delete", "-l", "rack in"], "is no key of a label"),
        (["hardware", "label", "rack=r1"], "name at least one MACHINE"),
        (["hardware", "label", "node7", "rack=r 1"], "is no value of a label"),
        (["hardware", "label", "node7", "rack=r1", "rack-"], "is set and removed at once"),
    ],
)
def test_a_wrong_selection_is_found_before_the_appliance_is_asked(
    tinkbox: Tinkbox, appliance: FakeAppliance, words: list[str], said: str
) -> None:
    printed = tinkbox(*words)
    assert (printed.status, appliance.asked) == (2, [])
    assert said in printed.err


def test_labels_are_set_and_removed_of_each(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    for each in ("node7", "node8"):
        appliance.answers[f"PATCH /v1/hardware/{each}/labels"] = {"labels": {"rack": "r1"}}
    printed = tinkbox("hardware", "label", "node7", "rack=r1", "node8", "gpu-")
    assert printed.out == "node7: rack=r1\nnode8: rack=r1\n"
    assert [json.loads(body) for _, body in appliance.asked] == [{"set": {"rack": "r1"}, "remove": ["gpu"]}] * 2


def test_labels_are_shown_without_a_change(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers["GET /v1/templates/ubuntu"] = {"labels": {"team": "a", "os": "linux"}}
    appliance.answers["GET /v1/templates/other"] = {"labels": {}}
    assert tinkbox("template", "label", "ubuntu", "other").out == "ubuntu: os=linux,team=a\nother: no labels\n"


@pytest.mark.parametrize(
    ("words", "path"),
    [
        (["workflow", "create", "-t", "ubuntu", "-r", '{"device_1": "m"}'], "/v1/workflows"),
        (["template", "create", "-n", "ubuntu"], "/v1/templates"),
    ],
)
def test_what_is_made_has_the_labels_that_are_given(
    tinkbox: Tinkbox, appliance: FakeAppliance, words: list[str], path: str
) -> None:
    appliance.answers[f"POST {path}"] = {"id": "1", "created": [{"id": "1"}]}
    assert tinkbox(*words, "--label", "team=a", "--label", "os=linux", stdin=b"version: x").status == 0
    ((_, body),) = appliance.asked
    assert json.loads(body)["labels"] == {"team": "a", "os": "linux"}


def test_a_question_names_what_it_is_about() -> None:
    assert in_words(["node7"], KeyKind.MACHINE) == "machine node7"
    many = [f"w{number}" for number in range(10)]
    assert in_words(many, KeyKind.WORKFLOW) == "10 workflows: w0, w1, w2, w3, w4, w5, w6, w7 and 2 more"
