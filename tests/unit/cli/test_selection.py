"""`-l` selects by labels wherever keys are named, and `label` changes labels."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlencode

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
RETRIABLE = "state=FAILED%2CTIMEOUT%2CCANCELED"


def workflow(identity: str, machine: str = "node3") -> dict[str, object]:
    return {"id": identity, "name": "ubuntu", "machines": [{**MACHINE_NAMED, "hostname": machine}]}


def state(identity: str, machine: str = "node3") -> dict[str, object]:
    """Where a workflow stands, which has its id under another name."""
    told = workflow(identity, machine)
    return {"workflow_id": told.pop("id"), **told}


def asked(appliance: FakeAppliance) -> list[str]:
    return [request for request, _ in appliance.asked]


def test_what_labels_select_stands_for_keys(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers[f"GET /v1/workflows?{UNFINISHED}&{RACK}"] = [workflow("w1"), workflow("w2")]
    for each in ("w1", "w2"):
        appliance.answers[f"POST /v1/workflows/{each}/cancel"] = {"id": each, "state": "CANCELED"}
    printed = tinkbox("workflow", "cancel", "-l", "rack=r1", "--yes")
    assert printed.out.split() == [word for each in ("w1", "w2") for word in ("Canceled", "Workflow:", each)]
    assert asked(appliance)[1:] == [f"POST /v1/workflows/{each}/cancel" for each in ("w1", "w2")]


@pytest.mark.parametrize(
    "line",
    [
        "hardware retire n1 -l rack=r1 --yes",
        "hardware get n1 -l rack=r1",
        "hardware label n1 a=b -l rack=r1",
        "workflow cancel n1 -l rack=r1 --yes",
        "breakpoint extend n1 2h -l rack=r1",
        "doctor n1 -l rack=r1",
        "service list n1 -l rack=r1",
        "workflow create -t ubuntu n1 -l rack=r1 --yes",
        "workflow plan -t ubuntu n1 -l rack=r1",
    ],
)
def test_who_names_and_selects_at_once_is_refused(tinkbox: Tinkbox, appliance: FakeAppliance, line: str) -> None:
    printed = tinkbox(*line.split())
    assert (printed.status, appliance.asked) == (2, [])
    assert "n1 is named beside -l: name each " in printed.err


def test_labels_that_are_given_several_times_must_all_hold(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    both = "label=rack%3Dr3%2Cgpu%3Dyes&sort=name"
    appliance.answers[f"GET /v1/hardware?{both}"] = [{"id": "m1", "name": "node7"}]
    refused = tinkbox("hardware", "retire", "-l", "rack=r3", "-l", "gpu=yes")
    assert "type `tinkbox hardware retire -l rack=r3 -l gpu=yes --yes`" in refused.err
    for line in ("hardware retire -l rack=r3 -l gpu=yes --yes", "workflow list -l rack=r3 --label gpu=yes"):
        appliance.asked.clear()
        tinkbox(*line.split())
        assert "label=rack%3Dr3%2Cgpu%3Dyes" in asked(appliance)[0]


def test_labels_of_a_rollout_an_export_and_of_what_may_be_pruned_must_all_hold(
    tinkbox: Tinkbox, appliance: FakeAppliance, tmp_path: Path
) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("kind: Hardware\n")
    both = ("-l", "rack=r3", "-l", "gpu=yes")
    for line in (
        "workflow create -t ubuntu --yes",
        f"apply -f {path} --prune --yes",
        "export",
        "workflow plan -t ubuntu",
    ):
        appliance.asked.clear()
        tinkbox(*line.split(), *both)
        told = [unquote(f"{request} {body!r}") for request, body in appliance.asked]
        assert any("rack=r3,gpu=yes" in each for each in told), (line, told)


def test_what_labels_select_is_shown_as_a_list_and_without_any_all_are(
    tinkbox: Tinkbox, appliance: FakeAppliance
) -> None:
    template = {"id": "t1", "name": "ubuntu", "data": "tasks: []\n"}
    appliance.answers = {
        "GET /v1/templates?label=team%3Dlab&sort=name": [template],
        "GET /v1/templates/ubuntu": template,
        "GET /v1/templates?sort=name": [template, template],
    }
    (shown,) = json.loads(tinkbox("template", "get", "-l", "team=lab", "-o", "json").out)
    assert shown == template
    assert len(json.loads(tinkbox("template", "get", "-o", "json").out)) == 2


def test_the_services_and_the_events_of_selected_workflows_are_shown(
    tinkbox: Tinkbox, appliance: FakeAppliance
) -> None:
    appliance.answers = {
        f"GET /v1/workflows?{RACK}": [workflow("w1"), workflow("w2")],
        **{f"GET /v1/services?workflow={each}": [] for each in ("w1", "w2")},
        **{f"GET /v1/workflows/{each}/events?after=0": [] for each in ("w1", "w2")},
    }
    for words, paths in (
        ("service list", ["/v1/services?workflow=w1", "/v1/services?workflow=w2"]),
        ("workflow events", ["/v1/workflows/w1/events?after=0", "/v1/workflows/w2/events?after=0"]),
    ):
        appliance.asked.clear()
        assert tinkbox(*words.split(), "-l", "rack=r1").status == 0
        assert asked(appliance)[1:] == [f"GET {each}" for each in paths]
    assert tinkbox("workflow", "events").status == 2


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
        (["hardware", "label", "node7", "rack=r1", "rack=r2"], "label rack is set to 'r1' and to 'r2'"),
        (["hardware", "add", "08:00:27:00:00:07", "--label", "rack=r1", "-l", "rack=r2"], "rack has two values"),
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
    ("hardware delete", "node7", "Forget machine node7?", "DELETE /v1/hardware/0ffafe11"),
    ("hardware delete", "172.30.0.12", "Forget machine node7 (172.30.0.12)?", "DELETE /v1/hardware/0ffafe11"),
    ("hardware retire", "0ffaf", "Retire machine node7 (0ffaf)?", "POST /v1/hardware/0ffafe11/retire"),
    ("template delete", "ubuntu", "Forget template ubuntu?", "DELETE /v1/templates/7303811"),
    ("template delete", "73038", "Forget template ubuntu (73038)?", "DELETE /v1/templates/7303811"),
    ("image delete", "a:v1", "Forget image a:v1?", "DELETE /v1/images?reference=a:v1"),
    (
        "image delete",
        "debian-13",
        "Forget image debian-13:latest (also debian-13:20261101)?",
        "DELETE /v1/images?reference=debian-13:latest",
    ),
    ("workflow cancel", "node3", "Cancel workflow 1b2c3d4e (ubuntu on node3)?", "POST /v1/workflows/1b2c3d4e5/cancel"),
    ("workflow delete", "node3", "Forget workflow 1b2c3d4e (ubuntu on node3)?", "DELETE /v1/workflows/1b2c3d4e5"),
    (
        "breakpoint abort",
        "node3",
        "Cancel workflow 1b2c3d4e (ubuntu on node3)?",
        "POST /v1/workflows/1b2c3d4e5/breakpoints/verdict",
    ),
    (
        "hardware discard-history",
        "node7",
        "Discard the history of machine node7?",
        "POST /v1/hardware/0ffafe11/discard-history",
    ),
    ("rollout cancel", "2e6f", f"Cancel rollout {ID[:8]} (ubuntu on 3 machines)?", f"POST /v1/rollouts/{ID}/cancel"),
    ("rollout delete", "2e6f", f"Forget rollout {ID[:8]} (ubuntu on 3 machines)?", f"DELETE /v1/rollouts/{ID}"),
]


@pytest.fixture
def known(appliance: FakeAppliance) -> FakeAppliance:
    for meant in ("delete", "unfinished", "held"):
        appliance.answers[f"GET /v1/workflows/node3/state?to_change={meant}"] = state("1b2c3d4e5")
    for key in ("2e6f", "2e6f?to_change=delete"):
        for to_change in ("unfinished", "delete"):
            appliance.answers[f"GET /v1/rollouts/{key}?to_change={to_change}"] = standing(counts={"RUNNING": 3})
    for key in ("node7", "172.30.0.12", "0ffaf"):
        for meant in ("", "?to_change=delete", "?to_change=retire"):
            appliance.answers[f"GET /v1/hardware/{key}{meant}"] = {"id": "0ffafe11", "name": "node7"}
    for key in ("ubuntu", "73038"):
        appliance.answers[f"GET /v1/templates/{key}"] = {"id": "7303811", "name": "ubuntu"}
    appliance.answers["GET /v1/images"] = [
        {"name": "a", "tag": "v1", "digest": "sha256:1", "kind": "container"},
        {"name": "a", "tag": "v2", "digest": "sha256:1", "kind": "container"},
        {"name": "lab.example:5000/w", "tag": "v1", "digest": "sha256:3", "kind": "container"},
        {"name": "debian-13", "tag": "20261101", "digest": "sha256:2", "kind": "system"},
        {"name": "debian-13", "tag": "latest", "digest": "sha256:2", "kind": "system"},
    ]
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


@pytest.mark.parametrize("key", ["lab.example:5000/w:v1", "lab.example_5000/w:v1"])
def test_a_question_names_an_image_as_it_is_listed(
    tinkbox: Tinkbox, known: FakeAppliance, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setattr(Questions, "can_ask", True)
    said = tinkbox("image", "delete", key, stdin=b"yes\n")
    assert said.out.startswith("Forget image lab.example:5000/w:v1")
    assert changes(known) == ["DELETE /v1/images?reference=lab.example:5000%2Fw:v1"]


def test_what_was_asked_about_is_done_in_the_run_and_the_hold_that_was_shown(
    tinkbox: Tinkbox, known: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Questions, "can_ask", True)
    for meant in ("unfinished", "held", "delete"):
        known.answers[f"GET /v1/workflows/node3/state?to_change={meant}"] = {
            **state("1b2c3d4e5"),
            "run": 7,
            "held": {"id": "a/2"},
        }
    tinkbox("workflow", "cancel", "node3", stdin=b"yes\n")
    tinkbox("breakpoint", "abort", "node3", stdin=b"yes\n")
    sent = [json.loads(body) for request, body in known.asked if request.startswith("POST ")]
    assert sent == [{"run": 7}, {"verb": "abort", "why": "", "hold": "a/2"}]
    tinkbox("workflow", "delete", "node3", stdin=b"yes\n")
    assert changes(known)[-1] == "DELETE /v1/workflows/1b2c3d4e5?run=7"


@pytest.mark.parametrize(("verb", "key"), [each[:2] for each in DESTROYING])
def test_without_a_terminal_what_is_named_is_done(tinkbox: Tinkbox, known: FakeAppliance, verb: str, key: str) -> None:
    tinkbox(*verb.split(), key)
    (sent,) = asked(known)
    assert key in sent


@pytest.mark.parametrize(
    "line",
    [
        "hardware delete -l rack=r1",
        "hardware retire -l rack=r1 --reason 'no use'",
        "template delete -l rack=r1",
        "workflow cancel -l rack=r1 --force",
        "workflow retry -l rack=r1",
        "workflow delete -l rack=r1",
        "breakpoint abort -l rack=r1",
        "hardware discard-history -l rack=r1",
    ],
)
def test_without_a_terminal_what_labels_select_needs_yes(tinkbox: Tinkbox, known: FakeAppliance, line: str) -> None:
    for noun in ("hardware", "templates", "workflows"):
        known.answers[f"GET /v1/{noun}?{RACK}"] = known.answers[f"GET /v1/{noun}?{RACK}&sort=name"] = [workflow("w1")]
    known.answers[f"GET /v1/breakpoints?state=HELD&{RACK}"] = [workflow("w1")]
    known.answers[f"GET /v1/workflows?{UNFINISHED}&{RACK}"] = [workflow("w1")]
    known.answers[f"GET /v1/workflows?{RETRIABLE}&{RACK}&sort=-created_at"] = [workflow("w1")]
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
    said = tinkbox("workflow", "cancel", "-l", "rack=r1", stdin=b"no\n").out
    assert "Cancel 2 workflows: w1 (ubuntu on node3), w2 (ubuntu on node4)?" in said
    assert "Retire 2 machines: node7, m2?" in tinkbox("hardware", "retire", "-l", "rack=r1", stdin=b"no\n").out


def test_of_machines_of_one_name_the_question_has_the_macs(
    tinkbox: Tinkbox, known: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one of the name may have other labels: the appliance tells with each what means it alone."""
    monkeypatch.setattr(Questions, "can_ask", True)
    machines = [
        {"id": "id-1", "name": "node7", "key": "id-1", "mac": "08:00:27:00:00:01"},
        {"id": "id-2", "name": "node8", "key": "node8", "mac": "08:00:27:00:00:02"},
        {"id": "id-3", "name": "", "key": "id-3", "mac": "08:00:27:00:00:03"},
    ]
    known.answers[f"GET /v1/hardware?{RACK}&sort=name"] = machines
    said = tinkbox("hardware", "delete", "-l", "rack=r1", stdin=b"no\n").out
    assert "Forget 3 machines: node7 (08:00:27:00:00:01), node8, id-3?" in said


@pytest.mark.parametrize(
    ("verb", "unknown", "known_key", "question", "done"),
    [
        ("hardware delete", "nosuch", "node7", "Forget machine node7?", {"id": "0ffafe11", "name": "node7"}),
        ("template delete", "nosuch", "ubuntu", "Forget template ubuntu?", {"id": "7303811"}),
        ("workflow delete", "nosuch", "node3", "Forget workflow 1b2c3d4e (ubuntu on node3)?", {"id": "1b2c3d4e5"}),
        ("rollout delete", "nosuch", "2e6f", f"Forget rollout {ID[:8]} (ubuntu on 3 machines)?", {"id": ID}),
        ("image delete", "a:v9", "a:v1", "Forget image a:v1?", {}),
    ],
)
def test_a_key_that_means_nothing_is_told_before_the_question_and_is_not_in_it(
    tinkbox: Tinkbox,
    known: FakeAppliance,
    monkeypatch: pytest.MonkeyPatch,
    verb: str,
    unknown: str,
    known_key: str,
    question: str,
    done: dict[str, str],
) -> None:
    monkeypatch.setattr(Questions, "can_ask", True)
    for _, _, _, sent in DESTROYING:
        known.answers[sent] = done
    printed = tinkbox(*verb.split(), unknown, known_key, stdin=b"yes\n")
    assert printed.out.startswith(f"{question} (yes or no)")
    assert (printed.status, printed.err.count("tinkbox: "), len(changes(known))) == (1, 1, 1)
    known.asked.clear()
    printed = tinkbox(*verb.split(), unknown, f"{unknown}2", stdin=b"yes\n")
    assert (printed.status, printed.out, printed.err.count("tinkbox: ")) == (1, "", 2)
    assert changes(known) == []


def test_what_a_question_left_out_counts_among_those_that_were_typed(
    tinkbox: Tinkbox, known: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Questions, "can_ask", True)

    def last() -> dict[str, object]:
        known.away = True
        return {"id": "0ffafe11", "name": "node7"}

    known.answers["DELETE /v1/hardware/0ffafe11"] = last
    known.answers["GET /v1/hardware/node8?to_change=delete"] = {"id": "1aa", "name": "node8"}
    broken = tinkbox("hardware", "delete", "nosuch", "node7", "node8", stdin=b"yes\n")
    assert broken.out.startswith("Forget 2 machines: node7, node8? (yes or no)")
    assert (broken.status, "1 of 3 was done, and it is uncertain whether node8 (1aa) was" in broken.err) == (3, True)


def test_who_may_look_at_nothing_is_asked_about_what_was_typed(
    tinkbox: Tinkbox, known: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Questions, "can_ask", True)
    known.answers["GET /v1/hardware/node7?to_change=delete"] = {
        "status": 403,
        "detail": "cron (operate) lacks the right to look",
    }
    said = tinkbox("hardware", "delete", "node7", stdin=b"yes\n").out
    assert said.startswith("Forget machine node7? (yes or no)")
    assert changes(known) == ["DELETE /v1/hardware/node7"]


@pytest.mark.parametrize("line", ["node7", "-l rack=r1"])
def test_a_machine_is_deleted_or_retired_as_it_was_looked_up_and_not_one_that_was_registered_anew(
    tinkbox: Tinkbox, appliance: FakeAppliance, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.setattr(Questions, "can_ask", True)
    at = "2026-11-21T03:00:00+00:00"
    node7 = {"id": "0ffafe11", "name": "node7", "created_at": at}
    for verb in ("delete", "retire"):
        appliance.answers[f"GET /v1/hardware/node7?to_change={verb}"] = node7
    appliance.answers[f"GET /v1/hardware?{RACK}&sort=name"] = [node7]
    changed = f"DELETE /v1/hardware/0ffafe11?{urlencode({'created_at': at})}"
    appliance.answers[changed] = {**node7, "canceled": []}
    appliance.answers["POST /v1/hardware/0ffafe11/retire"] = {**node7, "canceled": [], "stopping": []}
    assert tinkbox("hardware", "delete", *line.split(), stdin=b"yes\n").status == 0
    assert tinkbox("hardware", "retire", *line.split(), stdin=b"yes\n").status == 0
    assert changes(appliance) == [changed, "POST /v1/hardware/0ffafe11/retire"]
    assert json.loads(appliance.asked[-1][1]) == {"reason": "", "force": False, "created_at": at}


def test_what_a_question_shows_is_changed_by_its_id(
    tinkbox: Tinkbox, known: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Questions, "can_ask", True)
    known.answers["GET /v1/workflows/ubuntu/state?to_change=delete"] = state("1b2c3d4e5")
    tinkbox("workflow", "delete", "ubuntu", stdin=b"yes\n")
    assert changes(known) == ["DELETE /v1/workflows/1b2c3d4e5"]


@pytest.mark.parametrize(
    ("line", "meant"),
    [("workflow cancel", "unfinished"), ("workflow delete", "delete"), ("breakpoint abort", "held")],
)
def test_a_name_that_several_workflows_have_is_refused_before_the_question(
    tinkbox: Tinkbox, known: FakeAppliance, monkeypatch: pytest.MonkeyPatch, line: str, meant: str
) -> None:
    monkeypatch.setattr(Questions, "can_ask", True)
    several = {"status": 409, "detail": "27 workflows are called 'three'"}
    known.answers[f"GET /v1/workflows/three/state?to_change={meant}"] = several
    refused = tinkbox(*line.split(), "three", stdin=b"yes\n")
    assert (refused.status, refused.out, refused.err) == (1, "", "tinkbox: 27 workflows are called 'three'\n")
    assert changes(known) == []


def test_what_cannot_be_deleted_yet_is_refused_before_the_question(
    tinkbox: Tinkbox, known: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Questions, "can_ask", True)
    running = {"status": 409, "detail": "rollout 2e6f is RUNNING: it can be deleted when it is over"}
    known.answers["GET /v1/rollouts/2e6f?to_change=delete"] = running
    refused = tinkbox("rollout", "delete", "2e6f", stdin=b"yes\n")
    assert (refused.status, refused.out, refused.err) == (1, "", f"tinkbox: {running['detail']}\n")


@pytest.mark.parametrize(
    ("verb", "meant", "question"),
    [
        ("delete", "delete", "Forget machine node7?"),
        ("retire", "retire", "Retire machine node7?"),
    ],
)
def test_a_machine_that_a_workflow_needs_is_in_no_question_without_force(
    tinkbox: Tinkbox, known: FakeAppliance, monkeypatch: pytest.MonkeyPatch, verb: str, meant: str, question: str
) -> None:
    monkeypatch.setattr(Questions, "can_ask", True)
    needed = {"status": 409, "detail": "workflow w1 is not over and needs machine node9: --force cancels it first"}
    known.answers[f"GET /v1/hardware/node9?to_change={meant}"] = needed
    known.answers["GET /v1/hardware/node9"] = {"id": "9aa", "name": "node9"}
    refused = tinkbox("hardware", verb, "node9", stdin=b"yes\n")
    assert (refused.status, refused.out, refused.err) == (1, "", f"tinkbox: {needed['detail']}\n")
    asks = tinkbox("hardware", verb, "node9", "node7", stdin=b"no\n")
    assert (asks.out.startswith(question), f"tinkbox: {needed['detail']}\n" in asks.err) == (True, True)
    forced = tinkbox("hardware", verb, "node9", "node7", "--force", stdin=b"no\n").out
    assert forced.startswith(f"Cancel what runs there, and {question.split()[0].lower()} 2 machines: node9, node7?")
    assert changes(known) == []


def test_what_labels_select_needs_yes_in_the_format_of_2020_too(
    tinkbox: Tinkbox, known: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TINKBOX_FORMAT", "tink")
    known.answers[f"GET /v1/workflows?{RACK}"] = [workflow("w1")]
    refused = tinkbox("workflow", "delete", "-l", "rack=r1")
    assert (refused.status, changes(known)) == (1, [])
    assert "type `tinkbox workflow delete -l rack=r1 --yes`" in refused.err
    tinkbox("workflow", "delete", "w1")
    assert changes(known) == ["DELETE /v1/workflows/w1"]


def test_what_selects_may_be_called_selector_everywhere(tinkbox: Tinkbox, known: FakeAppliance) -> None:
    known.answers[f"GET /v1/hardware?sort=name&{RACK}"] = []
    assert tinkbox("hardware", "list", "--selector", "rack=r1").status == 0
    known.answers[f"GET /v1/workflows?{RACK}"] = []
    assert "has the labels rack=r1" in tinkbox("workflow", "delete", "--selector", "rack=r1").err


def test_retired_machines_are_selected_to_return(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    selected = f"GET /v1/hardware?state=retired&{RACK}&sort=name"
    appliance.answers[selected] = [{"id": "m1", "name": "node7"}]
    appliance.answers["POST /v1/hardware/m1/return"] = {"id": "m1", "name": "node7"}
    assert tinkbox("hardware", "return", "-l", "rack=r1").out == "Returned to service: node7\n"
    appliance.answers |= {selected: [], f"GET /v1/hardware?{RACK}&limit=1": []}
    assert (
        "rack=r1: `tinkbox hardware list --state retired` shows" in tinkbox("hardware", "return", "-l", "rack=r1").err
    )


@pytest.mark.parametrize(
    ("line", "listed", "others", "told"),
    [
        (
            "workflow cancel {} --yes",
            f"workflows?{UNFINISHED}&",
            "workflows",
            "no pending or running or stopping workflow",
        ),
        ("workflow cancel {}", f"workflows?{UNFINISHED}&", "workflows", "no pending or running or stopping workflow"),
        (
            "workflow retry {} --yes",
            f"workflows?{RETRIABLE}&",
            "workflows",
            "no failed or timeout or canceled workflow",
        ),
        ("breakpoint abort {} --yes", "breakpoints?state=HELD&", "workflows", "no held workflow"),
        ("breakpoint clear {}", "breakpoints?", "workflows", "no workflow with a breakpoint"),
        ("hardware return {}", "hardware?state=retired&", "hardware", "no retired machine"),
    ],
)
def test_labels_of_what_is_in_no_state_for_it_leave_nothing_to_do_and_those_of_nothing_are_refused(
    tinkbox: Tinkbox, appliance: FakeAppliance, line: str, listed: str, others: str, told: str
) -> None:
    order = "&sort=name" if others == "hardware" else "&sort=-created_at" if "retry" in line else ""
    selected = f"GET /v1/{listed}{RACK}{order}"
    appliance.answers = {selected: [], f"GET /v1/{others}?{RACK}&limit=1": [workflow("w1")]}
    good_day = tinkbox(*line.format("-l rack=r1").split())
    assert (good_day.status, good_day.out) == (0, "")
    assert good_day.err == f"tinkbox: {told} has the labels rack=r1: there is nothing to do\n"
    assert [each.split()[0] for each in asked(appliance)] == ["GET", "GET"], "nothing was changed"
    appliance.answers[f"GET /v1/{others}?{RACK}&limit=1"] = []
    refused = tinkbox(*line.format("-l rack=r1").split())
    assert (refused.status, refused.out) == (1, "")
    assert refused.err.startswith(f"tinkbox: {told} has the labels rack=r1: `tinkbox ")


def test_labels_of_what_is_selected_are_told_by_name(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers[f"GET /v1/hardware?{RACK}&sort=name"] = [{"id": "m1", "name": "node7"}]
    appliance.answers["PATCH /v1/hardware/m1/labels"] = {"labels": {"a": "b"}}
    assert tinkbox("hardware", "label", "-l", "rack=r1", "a=b").out == "node7: a=b\n"


def test_labels_are_set_and_removed_of_each(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    for each in ("node7", "node8"):
        appliance.answers[f"GET /v1/hardware/{each}"] = {"id": each, "labels": {"gpu": "yes"}}
        appliance.answers[f"PATCH /v1/hardware/{each}/labels"] = {"labels": {"rack": "r1"}}
    printed = tinkbox("hardware", "label", "node7", "rack=r1", "node8", "gpu-")
    assert printed.out == "node7: rack=r1\nnode8: rack=r1\n"
    sent = [json.loads(body) for request, body in appliance.asked if request.startswith("PATCH")]
    assert (printed.err, sent) == ("", [{"set": {"rack": "r1"}, "remove": ["gpu"]}] * 2)


def test_a_label_that_is_to_be_removed_and_is_not_there_is_told(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers["GET /v1/hardware/node7"] = {"id": "m1", "labels": {"gpu": "yes"}}
    appliance.answers["PATCH /v1/hardware/node7/labels"] = {"labels": {"rack": "r1"}}
    printed = tinkbox("hardware", "label", "node7", "rack=r1", "gpu-", "nope-")
    assert (printed.status, printed.out) == (0, "node7: rack=r1\n")
    assert printed.err == "node7: label nope not found\n"
    appliance.answers["GET /v1/hardware/node7"] = {"status": 403, "detail": "you may not look"}
    assert tinkbox("hardware", "label", "node7", "nope-").err == "", "who may look at nothing learns of no label"


def test_labels_are_shown_without_a_change(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers["GET /v1/templates/ubuntu"] = {"id": "ubuntu", "labels": {"team": "a", "os": "linux"}}
    appliance.answers["GET /v1/templates/other"] = {"id": "other", "labels": {}}
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


def test_all_keys_are_looked_up_before_anything_is_changed_and_what_is_meant_twice_is_done_once(
    tinkbox: Tinkbox, appliance: FakeAppliance
) -> None:
    first, second = {"id": "6437", "name": "n0"}, {"id": "6437aa", "name": "n1"}
    for key, document in {"n0": first, "6437": first, "n1": second}.items():
        appliance.answers[f"GET /v1/hardware/{key}?to_change=delete"] = document
    for document in (first, second):
        appliance.answers[f"DELETE /v1/hardware/{document['id']}"] = document
    done = tinkbox("hardware", "delete", "6437", "n0", "6437", "nosuch", "n1", "--yes")
    assert done.out == "Deleted Hardware:  6437 n0\nDeleted Hardware:  6437aa n1\n"
    assert (done.status, done.err.count("tinkbox: ")) == (1, 1)
    looked_up = [f"GET /v1/hardware/{each}?to_change=delete" for each in ("6437", "n0", "nosuch", "n1")]
    assert asked(appliance)[:4] == looked_up
    assert changes(appliance) == ["DELETE /v1/hardware/6437", "DELETE /v1/hardware/6437aa"]
    appliance.asked.clear()
    again = tinkbox("hardware", "delete", "6437", "6437", "--yes")
    assert (again.status, again.err, asked(appliance)) == (0, "", ["DELETE /v1/hardware/6437"])


@pytest.mark.parametrize(
    ("line", "looked_up", "sent"),
    [
        ("workflow delete {} --yes", "workflows/{}/state?to_change=delete", "DELETE /v1/workflows/one"),
        ("workflow label {} a=b", "workflows/{}/state?to_change=1", "PATCH /v1/workflows/one/labels"),
        (
            "breakpoint extend {} 10m",
            "workflows/{}/state?to_change=held",
            "POST /v1/workflows/one/breakpoints/extend",
        ),
        ("rollout delete {} --yes", "rollouts/{}?to_change=delete", "DELETE /v1/rollouts/one"),
        ("rollout pause {}", "rollouts/{}?to_change=unfinished", "POST /v1/rollouts/one/pause"),
        ("template delete {} --yes", "templates/{}", "DELETE /v1/templates/one"),
        ("hardware return {}", "hardware/{}", "POST /v1/hardware/one/return"),
    ],
)
def test_two_keys_of_one_thing_change_it_once(
    tinkbox: Tinkbox, appliance: FakeAppliance, line: str, looked_up: str, sent: str
) -> None:
    for key in ("one", "node7"):
        appliance.answers[f"GET /v1/{looked_up.format(key)}"] = {"id": "one", "workflow_id": "one", "name": "ubuntu"}
    tinkbox(*line.format("node7 one").split())
    assert changes(appliance) == [sent]


@pytest.mark.parametrize("refused", [True, False])
def test_a_name_that_several_workflows_have_is_refused_beside_the_id_of_one(
    tinkbox: Tinkbox, appliance: FakeAppliance, refused: bool
) -> None:
    several = {"status": 409, "detail": "2 workflows are called duo"}
    for key in ("one", "duo"):
        found = several if refused and key == "duo" else {"workflow_id": "one", "name": "duo"}
        appliance.answers[f"GET /v1/workflows/{key}/state?to_change=unfinished"] = found
    appliance.answers["POST /v1/workflows/one/cancel"] = {"id": "one", "state": "CANCELED"}
    done = tinkbox("workflow", "cancel", "one", "duo", "--yes")
    assert (done.status, done.out) == (int(refused), "Canceled Workflow:  one\n")
    assert changes(appliance) == ["POST /v1/workflows/one/cancel"]


def test_what_is_left_when_the_appliance_goes_is_handed_back_by_ids(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    def last() -> dict[str, object]:
        appliance.away = True
        return {"id": "w1"}

    for number in range(1, 5):
        appliance.answers[f"GET /v1/workflows/n{number}/state?to_change=delete"] = state(f"w{number}")
    appliance.answers["DELETE /v1/workflows/w1"] = last
    broken = tinkbox("workflow", "delete", "n1", "n2", "nosuch", "n3", "n4", "--yes")
    assert (broken.status, broken.out) == (3, "Deleted Workflow:  w1\n")
    assert "1 of 5 was done, and it is uncertain whether n2 (w2) was; " in broken.err
    assert broken.err.endswith("so name the rest by their ids: w3 w4\n")


def test_who_may_look_at_nothing_can_change_several_all_the_same(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    forbidden = {"status": 403, "detail": "cron (operate) lacks the right to look"}
    for key in ("one", "two"):
        appliance.answers[f"GET /v1/workflows/{key}/state?to_change=delete"] = forbidden
        appliance.answers[f"DELETE /v1/workflows/{key}"] = {"id": key}
    done = tinkbox("workflow", "delete", "one", "two", "one", "--yes")
    assert (done.status, done.out, done.err) == (0, "Deleted Workflow:  one\nDeleted Workflow:  two\n", "")
