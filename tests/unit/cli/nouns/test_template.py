"""`tinkbox template`."""

import json
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.unit.cli.conftest import FakeAppliance, Printed
from tests.unit.cli.documents import TEMPLATE, TEMPLATE_ID
from tinkbox.cli.output import formats, printable, progress_line
from tinkbox.cli.output.progress_line import ProgressLine
from tinkbox.client.operator import quick_connection

Tinkbox = Callable[..., Printed]


@pytest.fixture
def templates(appliance: FakeAppliance) -> FakeAppliance:
    appliance.answers = {
        "GET /v1/templates": [TEMPLATE],
        "GET /v1/templates?sort=name": [TEMPLATE],
        "POST /v1/templates": {"id": TEMPLATE_ID},
        "POST /v1/templates/validate": {"verdicts": [], "notes": []},
        f"GET /v1/templates/{TEMPLATE_ID}": TEMPLATE,
        f"PUT /v1/templates/{TEMPLATE_ID}": {"id": TEMPLATE_ID},
        f"DELETE /v1/templates/{TEMPLATE_ID}": {"id": TEMPLATE_ID},
    }
    return appliance


def test_creating_prints_the_id_after_two_spaces(tinkbox: Tinkbox, templates: FakeAppliance, tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text("näme: x\n")
    created = tinkbox("template", "create", "-n", "hello", "--path", str(tmp_path / "t.yaml"))
    assert created.out == f"Created Template:  {TEMPLATE_ID}\n"
    assert json.loads(templates.asked[0][1]) == {"name": "hello", "data": "näme: x\n"}


def test_templates_are_told_in_the_order_of_the_file_with_what_became_of_them(
    tinkbox: Tinkbox, templates: FakeAppliance
) -> None:
    templates.answers["POST /v1/templates"] = {
        "id": TEMPLATE_ID,
        "results": [
            {"id": TEMPLATE_ID, "name": "hello", "outcome": "unchanged"},
            {"id": "2", "name": "b", "outcome": "created"},
            {"id": "3", "name": "c", "outcome": "unchanged"},
        ],
        "created": [{"id": "2", "name": "b"}],
        "notes": [{"text": "template hello is there already"}],
    }
    again = tinkbox("template", "create", "-n", "hello", stdin=b"x")
    assert (again.status, again.out) == (
        0,
        f"Existing Template:  {TEMPLATE_ID}\nCreated Template:  2\nExisting Template:  3\n",
    )
    assert again.err == "tinkbox: template hello is there already\n"


def test_images_are_required_where_that_is_said(tinkbox: Tinkbox, templates: FakeAppliance) -> None:
    assert tinkbox("template", "validate", "--require-images", stdin=b"x").status == 0
    assert json.loads(templates.asked[-1][1]) == {"data": "x", "require_images": True}


def test_strict_is_asked_for_and_notes_are_told(tinkbox: Tinkbox, templates: FakeAppliance) -> None:
    note = {"text": "unknown key args is ignored", "line": 7, "key": "tasks[0].actions[0].args"}
    for answer in ("POST /v1/templates", f"PUT /v1/templates/{TEMPLATE_ID}"):
        templates.answers[answer] = {"id": TEMPLATE_ID, "notes": [note]}
    templates.answers["POST /v1/templates/validate"] = {"verdicts": [], "notes": [note]}
    for words in (("create", "-n", "x"), ("update", TEMPLATE_ID), ("validate",)):
        told = tinkbox("template", *words, "--strict", stdin=b"text")
        assert (told.status, told.err) == (
            0,
            "tinkbox: line 7, tasks[0].actions[0].args: unknown key args is ignored\n",
        )
        assert json.loads(templates.asked[-1][1])["strict"] is True
        tinkbox("template", *words, stdin=b"text")
        assert "strict" not in json.loads(templates.asked[-1][1])


def test_the_list_has_names_and_ages(
    tinkbox: Tinkbox, templates: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(printable, "now", lambda: datetime(2020, 7, 11, 15, 17, 3, tzinfo=UTC))
    assert tinkbox("template", "list").out == ("ID        NAME   AGE  CHANGED  LABELS\n75ab8483  hello  3d   2d\n")
    assert tinkbox("template", "list", "-o", "name").out == "hello\n"
    assert tinkbox("template", "get", TEMPLATE_ID, "-o", "name").out == "hello\n"
    assert tinkbox("template", "get", TEMPLATE_ID, "-q").out == f"{TEMPLATE_ID}\n"


def test_a_name_that_is_no_key_is_printed_as_the_id(tinkbox: Tinkbox, templates: FakeAppliance) -> None:
    odd = [{**TEMPLATE, "name": each} for each in ("-rf", "a b", "x-", TEMPLATE_ID.upper())]
    templates.answers["GET /v1/templates?sort=name"] = odd
    assert tinkbox("template", "list", "-o", "name").out == f"{TEMPLATE_ID}\n"
    templates.answers["GET /v1/templates?sort=name"] = [{**each, "id": str(at)} for at, each in enumerate(odd)]
    assert tinkbox("template", "list", "-o", "name").out == "0\n1\n2\n3\n"


def test_json_is_2021s_object_for_scripts_of_its_time(tink: Tinkbox, templates: FakeAppliance) -> None:
    assert json.loads(tink("template", "get", "--format", "json").out) == {"data": [TEMPLATE]}
    assert json.loads(tink("template", "get", TEMPLATE_ID, "--format", "json").out) == {"data": [TEMPLATE]}


def test_the_list_is_2020s_table(tink: Tinkbox, templates: FakeAppliance) -> None:
    border = f"+{'-' * 38}+---------------+-------------------------------+-------------------------------+\n"
    assert tink("template", "list").out == (
        border
        + "| TEMPLATE ID                          | TEMPLATE NAME | CREATED AT                    "
        + "| UPDATED AT                    |\n"
        + border
        + "| 75ab8483-6f42-42a9-a80d-a9f6196130df | hello         | 2020-07-08 15:17:02 +0000 UTC "
        + "| 2020-07-09 01:02:03 +0000 UTC |\n"
        + border
    )
    assert tink("template", "get").out == tink("template", "list").out


def test_a_template_is_its_text_with_the_last_line_ended(tinkbox: Tinkbox, templates: FakeAppliance) -> None:
    assert tinkbox("template", "get", TEMPLATE_ID, TEMPLATE_ID).out == 'version: "0.1"\nname: hello\n' * 2
    assert json.loads(tinkbox("template", "get", TEMPLATE_ID, "--format", "json").out) == TEMPLATE
    assert tinkbox("template", "get", TEMPLATE_ID, "-q").out == f"{TEMPLATE_ID}\n"


def test_a_text_steers_no_terminal_and_is_whole_in_a_file(
    tinkbox: Tinkbox, templates: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = "# \x1b]0;mine\x07\x1b[2J\n\tname: x\n"
    templates.answers = {**templates.answers, f"GET /v1/templates/{TEMPLATE_ID}": {**TEMPLATE, "data": hostile}}
    assert tinkbox("template", "get", TEMPLATE_ID).out == hostile
    monkeypatch.setattr(formats, "is_terminal", lambda: True)
    assert tinkbox("template", "get", TEMPLATE_ID).out == "# �]0;mine��[2J\n\tname: x\n"


@pytest.mark.parametrize(
    ("flags", "stdin", "sent"),
    [
        (["-n", "new"], b"ignored in cron", {"name": "new", "data": None}),
        ([], b"text", {"name": None, "data": "text"}),
        (["-n", "new", "--file", "FILE"], b"", {"name": "new", "data": "from the file"}),
    ],
)
def test_updating_changes_what_is_given(
    tinkbox: Tinkbox, templates: FakeAppliance, tmp_path: Path, flags: list[str], stdin: bytes, sent: object
) -> None:
    (tmp_path / "t.yaml").write_text("from the file")
    named = [str(tmp_path / "t.yaml") if flag == "FILE" else flag for flag in flags]
    updated = tinkbox("template", "update", TEMPLATE_ID, *named, stdin=stdin)
    assert updated.out == f"Updated Template:  {TEMPLATE_ID}\n"
    assert json.loads(templates.asked[0][1]) == sent


@pytest.mark.parametrize(
    "verb", ["template create -f", "template update t -f", "template validate", "workflow create -f"]
)
def test_a_document_that_is_empty_is_told_without_asking(
    tinkbox: Tinkbox, templates: FakeAppliance, tmp_path: Path, verb: str
) -> None:
    empty = tmp_path / "empty.yaml"
    empty.write_text(" \n")
    for place, where in ((str(empty), f"in {empty}"), ("-", "on standard input")):
        refused = tinkbox(*verb.split(), place)
        assert (refused.status, refused.out, templates.asked) == (1, "", [])
        assert refused.err.startswith(f"tinkbox: there is nothing {where}, where the ")


def verdict(machine: str, *problems: str, template: str = "") -> dict[str, object]:
    listed = [{"line": 7, "key": "tasks", "text": each} for each in problems]
    return {"template": template, "id": "x", "machine": machine, "devices": {}, "problems": listed}


def test_validating_says_how_long_the_appliance_works(
    tinkbox: Tinkbox, templates: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard, call = threading.Event(), ProgressLine.__call__

    def told(self: ProgressLine[float], seconds: float) -> None:
        call(self, seconds)
        heard.set()

    def late() -> object:
        assert heard.wait(30)
        return {"verdicts": [], "notes": []}

    monkeypatch.setattr(ProgressLine, "__call__", told)
    monkeypatch.setattr(progress_line, "ELSEWHERE", 0.0)
    monkeypatch.setattr(quick_connection, "TICK", 0.01)
    templates.answers["POST /v1/templates/validate"] = late
    validated = tinkbox("template", "validate", stdin=b"x")
    assert validated.status == 0
    assert validated.err.splitlines()[0] == "rendering the template: the appliance works, 0 s"


def test_validating_says_for_each_machine_that_all_is_well(tinkbox: Tinkbox, templates: FakeAppliance) -> None:
    templates.answers["POST /v1/templates/validate"] = {
        "verdicts": [verdict("server001"), verdict("server002", template="t"), verdict("")],
        "notes": [],
    }
    validated = tinkbox("template", "validate", stdin=b"x")
    assert validated.out == "server001: ok\nt for server002: ok\nthe template: ok\nthe template is valid\n"
    assert validated.status == 0
    assert templates.asked == [("POST /v1/templates/validate", b'{"data": "x"}')]


def test_validating_tells_templates_of_one_name_by_their_namespaces(tinkbox: Tinkbox, templates: FakeAppliance) -> None:
    both = [{**verdict("server001", template="t"), "namespace": each} for each in ("a", "b")]
    other = {**verdict("server001", template="u"), "namespace": "a"}
    templates.answers["POST /v1/templates/validate"] = {"verdicts": [*both, other], "notes": []}
    assert tinkbox("template", "validate", stdin=b"x").out == (
        "t of namespace a for server001: ok\nt of namespace b for server001: ok\nu for server001: ok\n"
        "the template is valid\n"
    )


def test_validating_fails_when_one_machine_has_a_problem(tinkbox: Tinkbox, templates: FakeAppliance) -> None:
    verdicts = [verdict("server001"), verdict("server002", "no disk", "no\x1b[2J name")]
    templates.answers["POST /v1/templates/validate"] = {"verdicts": verdicts, "notes": [{"text": "left"}]}
    validated = tinkbox("template", "validate", stdin=b"x")
    assert validated.status == 1
    assert validated.out == (
        "server001: ok\nserver002: problems\n  line 7, tasks: no disk\n  line 7, tasks: no [2J name\n"
    )
    assert validated.err == "tinkbox: left\n"


def test_the_same_problems_of_several_machines_are_told_once(tinkbox: Tinkbox, templates: FakeAppliance) -> None:
    same = [verdict(f"server{number}", "no image") for number in range(6)]
    verdicts = [*same[:2], verdict("other", "no disk"), *same[2:]]
    templates.answers["POST /v1/templates/validate"] = {"verdicts": verdicts, "notes": []}
    validated = tinkbox("template", "validate", stdin=b"x")
    assert (validated.status, validated.out) == (
        1,
        (
            "server0, server1, server2, server3 and 2 more: problems\n  line 7, tasks: no image\n"
            "other: problems\n  line 7, tasks: no disk\n"
        ),
    )


def test_validating_without_machines_says_so(tinkbox: Tinkbox, templates: FakeAppliance) -> None:
    validated = tinkbox("template", "validate", stdin=b"x")
    assert (validated.status, validated.out) == (0, "the template is valid, and no machine is known to render it for\n")


def test_a_file_or_a_stored_template_is_validated(tinkbox: Tinkbox, templates: FakeAppliance, tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text("from the file")
    tinkbox("template", "validate", str(tmp_path / "t.yaml"))
    tinkbox("template", "validate", "--file", str(tmp_path / "t.yaml"))
    tinkbox("template", "validate", "hello", "-r", '{"device_1": "m"}')
    assert [json.loads(body) for _, body in templates.asked] == [
        {"data": "from the file"},
        {"data": "from the file"},
        {"template": "hello", "hardware": {"device_1": "m"}},
    ]


def test_who_needs_a_template_that_is_deleted_is_told(tinkbox: Tinkbox, templates: FakeAppliance) -> None:
    note = {"line": None, "key": "", "text": "rule set all needs template hello, which is gone"}
    templates.answers[f"DELETE /v1/templates/{TEMPLATE_ID}"] = {"id": TEMPLATE_ID, "notes": [note]}
    deleted = tinkbox("template", "delete", TEMPLATE_ID)
    assert (deleted.status, deleted.out) == (0, f"Deleted Template:  {TEMPLATE_ID}\n")
    assert deleted.err == "tinkbox: rule set all needs template hello, which is gone\n"


def test_the_templates_of_a_file_are_all_created(tinkbox: Tinkbox, templates: FakeAppliance) -> None:
    templates.answers["POST /v1/templates"] = {
        "id": "1",
        "created": [{"id": "1", "name": "a"}, {"id": "2", "name": "b"}],
        "notes": [{"line": 9, "key": "", "text": "Hardware m is left for `tinkbox hardware push`"}],
    }
    created = tinkbox("template", "create", stdin=b"kind: Template")
    assert created.out == "Created Template:  1\nCreated Template:  2\n"
    assert created.err == "tinkbox: line 9: Hardware m is left for `tinkbox hardware push`\n"
    assert json.loads(templates.asked[0][1]) == {"name": "", "data": "kind: Template"}


BUILT_IN = {"name": "install", "about": "Puts a system image on a disk.", "stored": "", "data": "version: x\n"}


def test_the_catalogue_lists_what_is_built_in_and_shows_a_text(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers = {"GET /v1/template-catalogue": [BUILT_IN]}
    assert "install  Puts a system image on a disk.\n" in tinkbox("template", "catalogue").out
    assert tinkbox("template", "catalogue", "-q").out == "install\n"
    assert tinkbox("template", "catalogue", "install") == Printed(0, "version: x\n", "")
    unknown = tinkbox("template", "catalogue", "nothing")
    assert (unknown.status, "there is install" in unknown.err) == (1, True)


def test_the_catalogue_says_which_stored_template_is_used_instead(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers = {"GET /v1/template-catalogue": [{**BUILT_IN, "stored": TEMPLATE_ID}]}
    assert TEMPLATE_ID[:8] in tinkbox("template", "catalogue").out
    assert TEMPLATE_ID in tinkbox("template", "catalogue", "install").err
