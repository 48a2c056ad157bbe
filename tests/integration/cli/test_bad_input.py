"""Bad input: exit status 1, one clear line or a list of all problems, and nothing stored."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from uuid import UUID

import pytest

from tests.integration.api.door import image_archive
from tests.integration.cli.serving import Configuration, Ended, run_here
from tests.integration.engine.appliance import HELLO, hardware, mac

MACHINE = str(UUID(int=1))
OF_THE_AUDIT = ('INSERT INTO "audit"', "INSERT INTO \"room\" VALUES('audit'")


@pytest.fixture(autouse=True, scope="module")
def one_machine_and_one_template(appliance: Configuration) -> None:
    """What is there already, and all that may be there afterwards."""
    assert tinkbox(appliance, "hardware", "push", stdin=json.dumps(hardware(1)).encode()).status == 0
    assert tinkbox(appliance, "template", "create", "-n", "hello", stdin=HELLO.encode()).status == 0


def tinkbox(appliance: Configuration, *arguments: str, stdin: bytes = b"") -> Ended:
    return run_here("--data", str(appliance.data), *arguments, stdin=stdin)


def stored(appliance: Configuration) -> list[str]:
    """Everything the appliance holds, its rows and its files, but that somebody tried, which the audit tells."""
    with closing(sqlite3.connect(f"file:{appliance.data}/tinkbox.sqlite?mode=ro", uri=True)) as database:
        rows = [each for each in database.iterdump() if not each.startswith(OF_THE_AUDIT)]
    assert any("machine-1" in row for row in rows)
    return rows + sorted(str(path) for path in (appliance.data / "registry").rglob("*"))


def refused(appliance: Configuration, *arguments: str, stdin: bytes = b"") -> list[str]:
    """The lines that a command fails with, which must leave everything as it was."""
    before = stored(appliance)
    ended = tinkbox(appliance, *arguments, stdin=stdin)
    assert (ended.status, ended.out) == (1, "")
    assert stored(appliance) == before
    first, *problems = ended.err.splitlines()
    assert first.startswith("tinkbox: ")
    assert all(problem.startswith("  ") for problem in problems)
    return [first.removeprefix("tinkbox: "), *(problem.strip() for problem in problems)]


@pytest.mark.parametrize(
    ("document", "told"),
    [
        (
            "no json",
            [
                "invalid Hardware: 1 problem",
                "line 1: neither a Kubernetes document, which has apiVersion and kind, nor hardware of 2020, with id and network",
            ],
        ),
        ("", ["invalid json: the document is empty"]),
        ('{"metadata": {"a": NaN}}', ["invalid json: metadata.a: NaN is no number in JSON"]),
        (
            "[" * 5000,
            ["this is not valid JSON", "line 1: invalid json: more than 64 values within each other"],
        ),
        ({"network": {}}, ["invalid json, ID is required: give the machine a uuid under the key id"]),
        (
            hardware(1) | {"id": str(UUID(int=2))},
            [f"conflicting hardware MAC address {mac(1)}: machine {MACHINE} has it already"],
        ),
    ],
)
def test_bad_hardware(appliance: Configuration, document: object, told: list[str]) -> None:
    text = document if isinstance(document, str) else json.dumps(document)
    assert refused(appliance, "hardware", "push", stdin=text.encode()) == told


def test_every_problem_of_bad_hardware_is_a_line(appliance: Configuration) -> None:
    document = {"id": MACHINE, "network": {"interfaces": [{"dhcp": {"mac": "zz"}}, {"dhcp": {"mac": 7}}]}}
    assert len(refused(appliance, "hardware", "push", stdin=json.dumps(document).encode())) >= 3


TASK = '  - name: "hello world"\n    worker: "{{.device_1}}"\n    actions: [{name: x, image: y}]\n'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (HELLO.replace("    actions:", "\tactions:"), "line 7: "),
        (HELLO.replace("        timeout: 60\n", "        retrys: 60\n"), "did you mean retries?"),
        (HELLO + TASK, "hello world"),
        (HELLO.replace("image: hello-world", 'image: "Hello World"'), "line 9, tasks[0].actions[0].image: "),
    ],
)
def test_bad_templates(appliance: Configuration, text: str, told: str) -> None:
    for command in (["create", "-n", "bad"], ["validate"], ["update", "hello"]):
        lines = refused(appliance, "template", *command, stdin=text.encode())
        assert told in "\n".join(lines)


def test_an_unknown_key_of_a_template_is_told_and_refused_where_that_is_wanted(appliance: Configuration) -> None:
    text = HELLO.replace("        timeout: 60\n", "        timeoutt: 60\n").encode()
    for command in (["create", "-n", "odd"], ["validate"], ["update", "hello"]):
        assert "did you mean timeout?" in "\n".join(refused(appliance, "template", *command, "--strict", stdin=text))
    told = tinkbox(appliance, "template", "create", "-n", "odd", stdin=text)
    assert told.status == tinkbox(appliance, "template", "delete", "odd", "--yes").status == 0
    assert "line 10, tasks[0].actions[0].timeoutt: unknown key timeoutt is ignored; did you mean timeout?" in told.err


def test_every_problem_of_a_template_is_a_line_with_its_place(appliance: Configuration) -> None:
    text = HELLO.replace("timeout: 60\n", "timeoutt: 60\n").replace("hello-world", '"Hello World"') + TASK
    first, *problems = refused(appliance, "template", "create", "-n", "bad", stdin=text.encode())
    assert "2 problem" in first, "beside them what is ignored"
    assert [problem.split(",")[0] for problem in problems] == ["line 9", "line 10", "line 14"]


def test_a_template_name_that_is_taken_or_none(appliance: Configuration) -> None:
    other = HELLO.replace("hello", "hi", 1).encode()
    assert len(refused(appliance, "template", "create", "-n", "hello", stdin=other)) == 1
    assert len(refused(appliance, "template", "create", "-n", "two words", stdin=HELLO.encode())) == 1


@pytest.mark.parametrize(
    ("devices", "told"),
    [
        ({"device_2": mac(1)}, "device_1 has no value"),
        ({"device_1": mac(9)}, f"hardware mentioned with reference {mac(9)} not found"),
    ],
)
def test_bad_workflows(appliance: Configuration, devices: dict[str, str], told: str) -> None:
    lines = refused(appliance, "workflow", "create", "-t", "hello", "-r", json.dumps(devices))
    assert told in "\n".join(lines)


def test_a_workflow_of_an_unknown_template(appliance: Configuration) -> None:
    (line,) = refused(appliance, "workflow", "create", "-t", "nothing", "-r", "{}")
    assert "nothing" in line


@pytest.mark.parametrize("damage", ["empty", "noise", "cut", "flipped"])
def test_corrupt_image_archives(appliance: Configuration, tmp_path: Path, damage: str) -> None:
    whole = image_archive()
    flipped = bytearray(whole)
    flipped[whole.index(b"a layer")] ^= 1
    content = {"empty": b"", "noise": b"\x00\xff" * 100_000, "cut": whole[:1500], "flipped": bytes(flipped)}[damage]
    (tmp_path / "image.tar").write_bytes(content)
    (line,) = refused(appliance, "image", "load", str(tmp_path / "image.tar"))
    assert "archive" in line


def test_a_file_that_is_not_there(appliance: Configuration, tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    for command in (["hardware", "push", "--file"], ["template", "create", "-n", "x", "--path"], ["image", "load"]):
        (line,) = refused(appliance, *command, missing)
        assert missing in line


@pytest.mark.parametrize(
    "command",
    [
        "hardware get", "hardware id", "hardware delete", "hardware credential", "hardware watch",
        "template get", "template delete", "workflow get", "workflow state", "workflow events", "workflow data",
        "workflow logs", "workflow watch", "workflow delete", "image delete",
    ],
)  # fmt: skip
def test_what_is_not_there_is_told_by_every_command(appliance: Configuration, command: str) -> None:
    ended = tinkbox(appliance, *command.split(), "ffffffff")
    assert (ended.status, ended.out, ended.err.count("\n")) == (1, "", 1)
    assert "ffffffff" in ended.err
