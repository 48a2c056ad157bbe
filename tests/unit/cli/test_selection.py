"""`-l` selects by labels wherever keys are named, and `label` changes labels."""

import json
import shlex
from collections.abc import Callable

import pytest

from tests.unit.cli.conftest import FakeAppliance, Printed
from tests.unit.cli.documents import MACHINE_NAMED
from tests.unit.cli.rollout_documents import ID, standing
from tinkbox.cli.selection import in_words
from tinkbox.cli.terminal.questions import Questions
from tinkbox.model.key_kinds import KeyKind

Tinkbox = Callable[..., Printed]
RACK = "label=rack%3Dr1"
UNFINISHED = "state=PENDING%2CRUNNING%2CSTOPPING"


def workflow(identity: str, machine: str = "node3") -> dict[str, object]:
    return {"id": identity, "name": "ubuntu", "machines": [{**MACHINE_NAMED, "hostname": machine}]}


def state(identity: str, machine: str = "node3") -> dict[str, object]:
    """Where a workflow stands, which has its id under another name."""
    told = workflow(identity, machine)
    return {"workflow_id": told.pop("id"), **told}


def asked(appliance: FakeAppliance) -> list[str]:
    return [request for request, _ in appliance.asked]


def test_what_labels_select_stands_behind_the_keys_that_are_named(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers[f"GET /v1/workflows?{UNFINISHED}&{RACK}"] = [workflow("w1"), workflow("w2")]
    for each in ("w9", "w1", "w2"):
        appliance.answers[f"POST /v1/workflows/{each}/cancel"] = {"id": each, "state": "CANCELED"}
    printed = tinkbox("workflow", "cancel", "w9", "w1", "-l", "rack=r1", "--yes")
    assert printed.out.split() == [word for each in ("w9", "w1", "w2") for word in ("Canceled", "Workflow:", each)]
    assert asked(appliance)[1:] == [f"POST /v1/workflows/{each}/cancel" for each in ("w9", "w1", "w2")]


def test_nothing_with_such_labels_is_told_and_nothing_is_done(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers[f"GET /v1/hardware?{RACK}&sort=name"] = []
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


# What destroys, with what it is asked of one that is named, and what is sent for it.
DESTROYING = [
    ("hardware delete", "node7", "Forget machine node7?", "DELETE /v1/hardware/node7"),
    ("hardware retire", "node7", "Retire machine node7?", "POST /v1/hardware/node7/retire"),
    ("template delete", "ubuntu", "Forget template ubuntu?", "DELETE /v1/templates/ubuntu"),
    ("image delete", "a:v1", "Forget image a:v1?", "DELETE /v1/images?reference=a:v1"),
    ("workflow cancel", "node3", "Cancel workflow 1b2c3d4e (ubuntu on node3)?", "POST /v1/workflows/1b2c3d4e5/cancel"),
    ("workflow delete", "node3", "Forget workflow 1b2c3d4e (ubuntu on node3)?", "DELETE /v1/workflows/1b2c3d4e5"),
    ("rollout cancel", "2e6f", f"Cancel rollout {ID[:8]} (ubuntu on 3 machines)?", f"POST /v1/rollouts/{ID}/cancel"),
    ("rollout delete", "2e6f", f"Forget rollout {ID[:8]} (ubuntu on 3 machines)?", f"DELETE /v1/rollouts/{ID}"),
]


@pytest.fixture
def known(appliance: FakeAppliance) -> FakeAppliance:
    appliance.answers["GET /v1/workflows/node3/state"] = state("1b2c3d4e5")
    appliance.answers["GET /v1/rollouts/2e6f"] = standing(counts={"RUNNING": 3})
    return appliance


def changes(appliance: FakeAppliance) -> list[str]:
    return [each for each in asked(appliance) if not each.startswith("GET ")]


@pytest.mark.parametrize(("verb", "key", "question", "sent"), DESTROYING)
def test_what_destroys_asks_at_a_terminal(
    tinkbox: Tinkbox,
    known: FakeAppliance,
    monkeypatch: pytest.MonkeyPatch,
    verb: str,
    key: str,
    question: str,
    sent: str,
) -> None:
    monkeypatch.setattr(Questions, "can_ask", True)
    refused = tinkbox(*verb.split(), key, stdin=b"no\n")
    assert (refused.status, changes(known)) == (1, [])
    assert refused.out == f"{question} (yes or no) [no]: "
    assert "you did not say yes, so nothing was done" in refused.err
    tinkbox(*verb.split(), key, stdin=b"yes\n")
    assert changes(known) == [sent]
    assert "(yes or no)" not in tinkbox(*verb.split(), key, "--yes").out


@pytest.mark.parametrize(("verb", "key"), [each[:2] for each in DESTROYING])
def test_without_a_terminal_what_is_named_is_done(tinkbox: Tinkbox, known: FakeAppliance, verb: str, key: str) -> None:
    tinkbox(*verb.split(), key)
    (sent,) = asked(known)
    assert key in sent


@pytest.mark.parametrize(
    "line",
    [
        "hardware delete node7 -l rack=r1",
        "hardware retire -l rack=r1 --reason 'no use'",
        "template delete -l rack=r1",
        "workflow cancel -l rack=r1 --force",
        "workflow delete -l rack=r1",
    ],
)
def test_without_a_terminal_what_labels_select_needs_yes(tinkbox: Tinkbox, known: FakeAppliance, line: str) -> None:
    for noun in ("hardware", "templates", "workflows"):
        known.answers[f"GET /v1/{noun}?{RACK}"] = known.answers[f"GET /v1/{noun}?{RACK}&sort=name"] = [workflow("w1")]
    known.answers[f"GET /v1/workflows?{UNFINISHED}&{RACK}"] = [workflow("w1")]
    refused = tinkbox(*shlex.split(line))
    assert (refused.status, refused.out, changes(known)) == (1, "", [])
    assert f"there is no terminal: type `tinkbox {line} --yes`" in refused.err
    tinkbox(*shlex.split(line), "--yes")
    assert changes(known)


def test_a_question_names_what_labels_select(
    tinkbox: Tinkbox, known: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Questions, "can_ask", True)
    known.answers[f"GET /v1/workflows?{UNFINISHED}&{RACK}"] = [workflow("w1"), workflow("w2", "node4")]
    known.answers[f"GET /v1/hardware?{RACK}&sort=name"] = [{"id": "m1", "name": "node7"}, {"id": "m2", "name": ""}]
    said = tinkbox("workflow", "cancel", "nosuch", "node3", "-l", "rack=r1", stdin=b"no\n").out
    assert "Cancel 4 workflows: nosuch, 1b2c3d4e (ubuntu on node3), w1 (ubuntu on node3), w2 (ubuntu on node4)?" in said
    assert "Retire 2 machines: node7, m2?" in tinkbox("hardware", "retire", "-l", "rack=r1", stdin=b"no\n").out


def test_a_name_stays_a_name_for_the_appliance_to_refuse(
    tinkbox: Tinkbox, known: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Questions, "can_ask", True)
    known.answers["GET /v1/workflows/ubuntu/state"] = state("1b2c3d4e5")
    tinkbox("workflow", "delete", "ubuntu", stdin=b"yes\n")
    assert changes(known) == ["DELETE /v1/workflows/ubuntu"]


def test_retired_machines_are_selected_to_return(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    selected = f"GET /v1/hardware?state=retired&{RACK}&sort=name"
    appliance.answers[selected] = [{"id": "m1", "name": "node7"}]
    appliance.answers["POST /v1/hardware/m1/return"] = {"id": "m1", "name": "node7"}
    assert tinkbox("hardware", "return", "-l", "rack=r1").out == "Returned to service: node7\n"
    appliance.answers[selected] = []
    assert (
        "rack=r1: `tinkbox hardware list --state retired` shows" in tinkbox("hardware", "return", "-l", "rack=r1").err
    )


def test_labels_of_what_is_selected_are_told_by_name(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers[f"GET /v1/hardware?{RACK}&sort=name"] = [{"id": "m1", "name": "node7"}]
    appliance.answers["PATCH /v1/hardware/m1/labels"] = {"labels": {"a": "b"}}
    assert tinkbox("hardware", "label", "-l", "rack=r1", "a=b").out == "node7: a=b\n"


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
