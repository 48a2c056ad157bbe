"""`/v1/apply`, `/v1/export` and `/v1/workflows/plan` at the operator door."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import aiohttp
import pytest

from tests.integration.api.door import TOKEN, Door
from tests.integration.engine.appliance import HELLO, mac
from tests.integration.engine.applying.documents import flow, machine, of_2020, site, template
from tinkbox.api.routes.documents import apply
from tinkbox.door.answers import answers
from tinkbox.engine.applying.exporting import Exported
from tinkbox.engine.applying.manifests import Manifest
from tinkbox.engine.templates import rendering
from tinkbox.engine.templates.dialects import Dialect
from tinkbox.engine.templates.rendering import Data
from tinkbox.model.applying import MAX_FILES
from tinkbox.model.declaration import RETIRED_ANNOTATION
from tinkbox.model.errors import Problem
from tinkbox.model.limits import ANSWER_BYTES
from tinkbox.thread_turns import Turn


def asked(*texts: str, **how: object) -> dict[str, object]:
    return {"files": [{"name": f"{number}.yaml", "text": text} for number, text in enumerate(texts)], **how}


async def test_a_template_whose_name_two_namespaces_have_is_told_by_its_id(door: Door) -> None:
    mine, theirs = (template().replace("metadata: {", f"metadata: {{namespace: {each}, ") for each in ("a", "b"))
    (alone,) = (await door.done("POST", "/v1/apply", asked(mine)))["results"]
    assert alone["key"] == "hello"
    both = (await door.done("POST", "/v1/apply", asked(mine, theirs)))["results"]
    assert [each["key"] for each in both] == [each["id"] for each in both]
    listed = {each["id"]: each["namespace"] for each in await door.done("GET", "/v1/templates")}
    assert [listed[each["key"]] for each in both] == ["a", "b"]
    rehearsed = await door.done("POST", "/v1/apply", asked(mine, theirs, machine(1), of_2020(2), dry_run=True))
    assert [each["namespace"] for each in rehearsed["results"]] == ["default", "", "a", "b"]


async def test_documents_are_applied_exported_and_applied_again(door: Door) -> None:
    answer = await door.done("POST", "/v1/apply", asked(site(2)))
    assert [(each["kind"], each["name"], each["outcome"]) for each in answer["results"]] == [
        ("hardware", "node1", "created"),
        ("hardware", "node2", "created"),
        ("template", "hello", "created"),
        ("workflow", "install-1", "created"),
        ("workflow", "install-2", "created"),
    ]
    assert answer["results"][0]["id"] == door.box.machines.known.find("node1").hardware.id
    assert "old" not in answer["results"][0]
    exported = await door.done("GET", "/v1/export?what=hardware&label=rack=r1")
    assert [each["name"] for each in exported["items"]] == ["node1", "node2"]
    assert (await door.done("GET", "/v1/export?what=workflow/install-2"))["items"][0]["manifest"]["kind"] == "Workflow"
    again = await door.done("POST", "/v1/apply", asked(site(2)))
    assert {each["outcome"] for each in again["results"]} == {"unchanged"}


async def test_an_export_tells_what_was_named_and_is_left_out(door: Door) -> None:
    await door.done("POST", "/v1/apply", asked(template(), machine(1)))
    ids = [await door.box.workflows.create("hello", {"device_1": mac(1)}) for _ in range(2)]
    answer = await door.done("GET", f"/v1/export?what=workflows/{ids[0]}&what=workflow/{ids[1]}&what=hardware/node1")
    assert [each["name"] for each in answer["items"]] == ["node1"]
    assert answer["absent"] == [f"workflow/{each}" for each in ids]


async def test_an_export_tells_what_it_left_out_and_that_it_is_out_of_service(door: Door) -> None:
    await door.done("POST", "/v1/apply", asked(machine(1)))
    await door.box.machine(2)
    for name in ("node1", "machine-2"):
        await door.box.departures.retire(name, "ann", "no disk")
    node1, machine2 = (await door.done("GET", "/v1/export?what=hardware"))["left_out"]
    assert (node1["key"], machine2["key"]) == ("node1", "machine-2")
    assert node1["manifest"]["metadata"]["annotations"] == {RETIRED_ANNOTATION: "no disk"}
    assert machine2["manifest"].keys() == {"id", "retired"}


async def test_each_is_answered_with_what_means_it_alone(door: Door) -> None:
    alike = machine(2).replace("hostname: node2", "hostname: node1")
    answer = await door.done("POST", "/v1/apply", asked(machine(1), alike, template()))
    keys = {each["name"]: each["key"] for each in answer["results"]}
    known = door.box.machines.known
    assert keys == {"node1": str(answer["results"][0]["id"]), "node2": "node2", "hello": "hello"}
    assert known.find(keys["node1"]).hardware.name == "node1"


async def test_the_name_of_a_workflow_that_means_others_too_is_no_key(door: Door) -> None:
    flows = [flow(1).replace("name: install-1", f"name: {each}") for each in ("node1", "hello_world_workflow", "alone")]
    assert len(set(flows)) == 3
    applied = await door.done("POST", "/v1/apply", asked(machine(1), template(), *flows))
    await door.done("POST", "/v1/workflows", {"template": "hello", "hardware": {"device_1": mac(1)}})
    for answer in (applied, await door.done("POST", "/v1/apply", asked(*flows))):
        told = {each["name"]: each for each in answer["results"] if each["kind"] == "workflow"}
        assert told["node1"]["key"] == told["node1"]["id"], "a machine is called so"
        assert told["alone"]["key"] == "alone"
    twice = told["hello_world_workflow"]
    assert twice["key"] == twice["id"], "another workflow is called so by its template"


async def test_a_dry_run_shows_what_each_was_and_would_be(door: Door) -> None:
    await door.done("POST", "/v1/apply", asked(machine(1)))
    answer = await door.done("POST", "/v1/apply", asked(machine(1, rack="r2"), template(), dry_run=True, diff=True))
    changed, new = answer["results"]
    assert answer["dry_run"]
    assert (changed["old"]["metadata"]["labels"], changed["new"]["metadata"]["labels"]) == (
        {"rack": "r1"},
        {"rack": "r2"},
    )
    assert (new["old"], new["id"]) == (None, "")
    assert door.box.machines.known.find("node1").hardware.labels == {"rack": "r1"}


async def test_what_changes_is_left_out_where_an_answer_has_no_room_for_it(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = asked(*map(machine, range(1, 9)), dry_run=True, diff=True)
    whole = await door.done("POST", "/v1/apply", documents)
    monkeypatch.setattr(answers, "ANSWER_BYTES", replace(ANSWER_BYTES, each=2048))
    answer = await door.done("POST", "/v1/apply", documents)
    shown = [each for each in answer["results"] if "new" in each]
    assert 1 < len(shown) < 8
    assert all(each in whole["results"] for each in shown)
    heads = [(each["name"], each["outcome"]) for each in answer["results"]]
    assert heads == [(each["name"], each["outcome"]) for each in whole["results"]]
    (note,) = [each["text"] for each in answer["notes"] if each not in whole["notes"]]
    assert note == (
        f"what changes of {8 - len(shown)} documents is left out, for one answer may have 2KiB (limits.answer_bytes in "
        "tinkbox.yaml): compare fewer files at once"
    )


async def test_pruning_takes_a_selector_and_what_was_agreed(door: Door) -> None:
    await door.done("POST", "/v1/apply", asked(machine(1), machine(2)))
    status, answer = await door.ask("POST", "/v1/apply", asked(machine(1), prune="rack=r1", agreed=[]))
    assert (status, "node2 would be pruned too" in answer["detail"]) == (409, True)
    answer = await door.done("POST", "/v1/apply", asked(machine(1), prune="rack=r1"))
    assert [each["outcome"] for each in answer["results"]] == ["unchanged", "pruned"]


async def test_what_was_agreed_has_the_times_of_a_rehearsal_or_is_a_list_of_ids(door: Door) -> None:
    await door.done("POST", "/v1/apply", asked(machine(1), machine(2)))
    rehearsed = await door.done("POST", "/v1/apply", asked(machine(1), prune="rack=r1", dry_run=True))
    kept, shown = rehearsed["results"]
    found = await door.done("GET", "/v1/hardware/node2")
    assert ("created_at" in kept, shown["created_at"]) == (False, found["created_at"])
    another = {shown["id"]: "2026-01-01T00:00:00+00:00"}
    for agreed, answered, told in (
        (another, 409, "node2 would be pruned too"),
        ({shown["id"]: "soon"}, 422, "'soon' is no time"),
        ({shown["id"]: 7}, 422, "agreed is an object of texts"),
        (None, 409, "node2 would be pruned too"),
        ({}, 409, "node2 would be pruned too"),
    ):
        status, answer = await door.ask("POST", "/v1/apply", asked(machine(1), prune="rack=r1", agreed=agreed))
        assert (status, told in answer["detail"]) == (answered, True), answer
    for agreed in ({shown["id"]: shown["created_at"]}, [shown["id"]]):
        answer = await door.done("POST", "/v1/apply", asked(machine(1), prune="rack=r1", agreed=agreed))
        assert answer["results"][-1]["outcome"] == "pruned"
        await door.done("POST", "/v1/apply", asked(machine(2)))


@pytest.mark.parametrize(
    ("document", "status", "told"),
    [
        ({}, 422, "files is a list"),
        ({"files": []}, 422, "files is a list"),
        ({"files": [1]}, 422, "an object with a name and a text"),
        ({"files": [{"name": "a", "text": 7}]}, 422, "the text of each is text"),
        ({"files": [{"name": "", "text": "x"}]}, 422, "name is required"),
        ({"files": [{"name": "a", "text": ""}, {"name": "a", "text": ""}]}, 422, "two files have the same name"),
        ({"files": [{"name": "a", "text": ""}]}, 422, "there are no documents"),
        ({"files": [{"name": "a", "text": ""}], "prune": ""}, 422, "prune is required"),
        ({"files": [{"name": "a", "text": ""}], "prune": "a=%"}, 422, "no value of a label"),
        ({"files": [{"name": "a", "text": ""}], "forcee": True}, 422, "'forcee' means nothing here"),
        ({"files": [{"name": "a", "text": "kind: [\n"}]}, 422, "there is 1 problem"),
        ({"files": [{"name": "a", "text": "&a [*a, *a]\n"}]}, 422, "there is 1 problem"),
        ({"files": [{"name": "a", "text": "x" * (1 << 20) + "x"}]}, 422, "there is 1 problem"),
        ({"files": [{"name": str(each), "text": ""} for each in range(MAX_FILES + 1)]}, 413, "files: at most"),
    ],
    ids=lambda each: str(each)[:40],
)
async def test_what_is_no_list_of_files_is_refused(door: Door, document: object, status: int, told: str) -> None:
    answered, answer = await door.ask("POST", "/v1/apply", document)
    assert (answered, told in answer["detail"]) == (status, True), answer


async def test_more_than_there_is_room_for_is_refused(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apply, "MAX_APPLIED", 1000)
    status, answer = await door.ask("POST", "/v1/apply", asked("# " + "x" * 600, "# " + "x" * 600))
    assert (status, "apply them in parts" in answer["detail"]) == (413, True)


async def test_an_unknown_filter_of_an_export_is_refused(door: Door) -> None:
    assert (await door.ask("GET", "/v1/export?kind=hardware"))[0] == 422
    assert (await door.ask("GET", "/v1/export?what=nodes"))[0] == 422
    assert (await door.ask("GET", "/v1/export?what=hardware/nope"))[0] == 404


async def test_an_export_that_no_answer_has_room_for_is_refused_before_all_of_it_is_made(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    await door.done("POST", "/v1/apply", asked(*map(machine, range(1, 9)), template("hello", HELLO)))
    made = list[str]()
    document = apply._document

    def noted(exported: Exported, manifest: Manifest) -> apply.ExportedDocument:
        made.append(exported.name)
        return document(exported, manifest)

    monkeypatch.setattr(apply, "_document", noted)
    monkeypatch.setattr(answers, "ANSWER_BYTES", replace(ANSWER_BYTES, each=1024))
    status, problem = await door.ask("GET", "/v1/export")
    assert status == 413
    assert problem["detail"] == (
        "this is more than one answer may have, 1KiB (limits.answer_bytes in tinkbox.yaml): export one kind at a time "
        "(`tinkbox export hardware`), or what has a label (`tinkbox export hardware -l rack=r1`)"
    )
    assert 1 < len(made) < 8
    assert len((await door.done("GET", "/v1/export?what=template"))["items"]) == 1


async def test_who_may_only_look_applies_nothing(door: Door) -> None:
    async with aiohttp.ClientSession(headers={"Authorization": "Bearer look-token"}) as session:
        for dry_run, status in ((True, 200), (False, 403)):
            async with session.post(f"{door.url}/v1/apply", json=asked(machine(1), dry_run=dry_run)) as answer:
                assert answer.status == status
        async with session.get(f"{door.url}/v1/export") as answer:
            assert answer.status == 200


async def test_templates_of_who_may_only_look_are_rendered_in_processes_of_their_own(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A template may be made to take time and memory: in our process it is of those who may operate."""
    confined: list[int] = []
    render_confined = rendering.render_confined

    async def noted(
        text: str, several: Sequence[Data], turn: Turn, dialect: Dialect, moment: datetime | None = None
    ) -> list[str | Problem]:
        confined.append(len(several))
        return await render_confined(text, several, turn, dialect, moment)

    monkeypatch.setattr(rendering, "render_confined", noted)
    documents = (site(2), template("logic", f"{HELLO}# {{{{ if .x }}}}{{{{ end }}}}\n"))
    answers = []
    for token, apart in ((TOKEN, False), ("look-token", True)):
        async with (
            aiohttp.ClientSession(headers={"Authorization": f"Bearer {token}"}) as session,
            session.post(f"{door.url}/v1/apply", json=asked(*documents, dry_run=True)) as answer,
        ):
            assert answer.status == 200, await answer.text()
            answers.append(await answer.json())
        assert bool(confined) is apart
    assert answers[0] == answers[1]
    assert sorted(confined) == [1, 1, 2]


@pytest.mark.parametrize(
    ("was", "would_be"),
    [
        ("name: hello_world", "name: 'x{{ fail (toJson .Hardware.Metadata.Instance.ID) }}'"),
        ("{{.device_1}}", "{{ .Hardware.Metadata.Instance.ID }}"),
    ],
    ids=["rendered", "bound"],
)
async def test_who_may_only_operate_is_not_shown_by_a_dry_run_what_a_template_makes_of_documents(
    door: Door, was: str, would_be: str
) -> None:
    known = machine(1) + "  metadata: {instance: {id: topsecret}}\n"
    await door.done("POST", "/v1/apply", asked(known))
    text = HELLO.replace(was, would_be, 1)
    assert text != HELLO
    documents = (template(text=text), flow(1))

    async def told(token: str, *, dry_run: bool) -> tuple[int, str]:
        async with (
            aiohttp.ClientSession(headers={"Authorization": f"Bearer {token}"}) as session,
            session.post(f"{door.url}/v1/apply", json=asked(*documents, dry_run=dry_run)) as answer,
        ):
            return answer.status, await answer.text()

    status, found = await told("operate-token", dry_run=True)
    assert (status, "topsecret" in found) == (422, False), found
    assert "the template cannot be used for it; to see why you need the right to look" in found
    for token, dry_run in (("look-token", True), ("operate-token", False)):
        status, found = await told(token, dry_run=dry_run)
        assert (status, "topsecret" in found) == (422, True), found
    assert not await door.box.workflows.all()


async def test_a_plan_is_answered_for_a_machine_and_for_devices(door: Door) -> None:
    await door.done("POST", "/v1/apply", asked(machine(1), template()))
    door.box.registry |= {"hello-world": "sha256:1", "tools/second:v1": "sha256:2"}
    plan = await door.done("POST", "/v1/workflows/plan", {"template": "hello", "machine": "node1"})
    assert plan["possible"]
    assert [(each["action"], each["image"]["digest"]) for each in plan["actions"]] == [
        ("hello_world", "sha256:1"),
        ("second", "sha256:2"),
    ]
    plan = await door.done("POST", "/v1/workflows/plan", {"template": "hello", "hardware": {"device_1": mac(1)}})
    assert [each["name"] for each in plan["machines"]] == ["node1"]
    for wrong in ({"template": "hello"}, {"template": "hello", "machin": "x"}, {"machine": "node1"}):
        assert (await door.ask("POST", "/v1/workflows/plan", wrong))[0] == 422
    assert (await door.ask("POST", "/v1/workflows/plan", {"template": "nope", "machine": "node1"}))[0] == 404
    assert not await door.box.workflows.all()


async def test_an_osie_that_is_missing_is_told_of_new_workflows(door: Door) -> None:
    arm = machine(2).replace("hostname: node2", "hostname: node2\n        arch: aarch64")
    notes = (await door.done("POST", "/v1/apply", asked(template(), machine(1), flow(1), arm, flow(2))))["notes"]
    told = [each["text"] for each in notes if "OSIE" in each["text"]]
    missing = "there is no OSIE for aarch64, which machine node2 boots: `tinkbox osie build` makes one"
    assert missing in told
    assert not any("x86_64" in each for each in told)
