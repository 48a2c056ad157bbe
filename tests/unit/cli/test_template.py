"""`tinkbox template`."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.cli.conftest import FakeAppliance, Printed
from tests.unit.cli.documents import TEMPLATE, TEMPLATE_ID

Tinkbox = Callable[..., Printed]


@pytest.fixture
def templates(appliance: FakeAppliance) -> FakeAppliance:
    appliance.answers = {
        "GET /v1/templates": [TEMPLATE],
        "POST /v1/templates": {"id": TEMPLATE_ID},
        "POST /v1/templates/validate": {},
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


def test_the_list_is_2020s_table(tinkbox: Tinkbox, templates: FakeAppliance) -> None:
    border = f"+{'-' * 38}+---------------+-------------------------------+-------------------------------+\n"
    assert tinkbox("template", "list").out == (
        border
        + "| TEMPLATE ID                          | TEMPLATE NAME | CREATED AT                    "
        + "| UPDATED AT                    |\n"
        + border
        + "| 75ab8483-6f42-42a9-a80d-a9f6196130df | hello         | 2020-07-08 15:17:02 +0000 UTC "
        + "| 2020-07-09 01:02:03 +0000 UTC |\n"
        + border
    )
    assert tinkbox("template", "get").out == tinkbox("template", "list").out


def test_a_template_is_its_text_with_the_last_line_ended(tinkbox: Tinkbox, templates: FakeAppliance) -> None:
    assert tinkbox("template", "get", TEMPLATE_ID, TEMPLATE_ID).out == 'version: "0.1"\nname: hello\n' * 2
    assert json.loads(tinkbox("template", "get", TEMPLATE_ID, "--format", "json").out) == [TEMPLATE]
    assert tinkbox("template", "get", TEMPLATE_ID, "-q").out == f"{TEMPLATE_ID}\n"


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


def test_deleting_is_silent(tinkbox: Tinkbox, templates: FakeAppliance) -> None:
    deleted = tinkbox("template", "delete", TEMPLATE_ID)
    assert (deleted.status, deleted.out, deleted.err) == (0, "", "")


def test_validating_says_that_all_is_well(tinkbox: Tinkbox, templates: FakeAppliance) -> None:
    assert tinkbox("template", "validate", stdin=b"x").out == "the template is valid\n"
    assert templates.asked == [("POST /v1/templates/validate", b'{"data": "x"}')]
