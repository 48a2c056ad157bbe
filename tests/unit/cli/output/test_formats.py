"""Tables as go-pretty prints them, and the formats for programs."""

import csv
import io
import json
from argparse import Namespace

import pytest
import yaml

from tinkbox.cli.output.formats import Column, show, show_notes
from tinkbox.cli.output.printable import clean, clean_block, moment
from tinkbox.cli.output.tables import fields, table

MACHINES = [
    {"id": "0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94", "name": "eins", "size": 7},
    {"id": "ce2e62ed-826f-4485-a39f-a82bb74338e2", "name": "dreizehn", "size": 1234},
]
COLUMNS = [
    Column("ID", "id"),
    Column("Name", lambda each: each["name"]),
    Column("Size", "size", int),
]
TABLE = """\
+--------------------------------------+----------+------+
| ID                                   | NAME     | SIZE |
+--------------------------------------+----------+------+
| 0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94 | eins     |    7 |
| ce2e62ed-826f-4485-a39f-a82bb74338e2 | dreizehn | 1234 |
+--------------------------------------+----------+------+
"""
HOSTILE = "a\x1b[2J\x9b31m\rb\nc\x7f\u202ed\ud800"


def chosen(**flags: object) -> Namespace:
    return Namespace(**{"format": "table", "no_headers": False, "quiet": False, **flags})


def shown(capsys: pytest.CaptureFixture[str], documents: list[dict[str, object]], **flags: object) -> str:
    show(chosen(**flags), documents, COLUMNS)
    return capsys.readouterr().out


def test_a_table_has_upper_case_headers_and_numbers_to_the_right(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, MACHINES) == TABLE


def test_a_table_without_rows_ends_in_two_borders_as_2020s_tink_printed_it() -> None:
    assert table(["ID", "MAC Address", "IP Address", "Hostname"], []) == (
        "+----+-------------+------------+----------+\n"
        "| ID | MAC ADDRESS | IP ADDRESS | HOSTNAME |\n"
        "+----+-------------+------------+----------+\n"
        "+----+-------------+------------+----------+\n"
    )


def test_a_table_without_headers_is_its_rows_in_a_frame(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, MACHINES[:1], no_headers=True) == (
        "+--------------------------------------+------+---+\n"
        "| 0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94 | eins | 7 |\n"
        "+--------------------------------------+------+---+\n"
    )
    assert shown(capsys, [], no_headers=True) == ""


def test_fields_are_names_with_values() -> None:
    assert fields([("ID", "x"), ("Hostname", "machine-1")]) == (
        "+------------+-----------+\n"
        "| FIELD NAME | VALUE     |\n"
        "+------------+-----------+\n"
        "| ID         | x         |\n"
        "| Hostname   | machine-1 |\n"
        "+------------+-----------+\n"
    )


def test_csv_has_the_columns_and_quotes_what_needs_it(capsys: pytest.CaptureFixture[str]) -> None:
    documents = [{"id": "1", "name": 'two, "three"', "size": 4}]
    assert shown(capsys, documents, format="csv") == 'ID,Name,Size\n1,"two, ""three""",4\n'
    assert shown(capsys, documents, format="csv", no_headers=True) == '1,"two, ""three""",4\n'


def test_json_and_yaml_have_the_whole_documents(capsys: pytest.CaptureFixture[str]) -> None:
    documents = [{**MACHINES[0], "hidden": ["täglich", None]}]
    printed = shown(capsys, documents, format="json")
    assert json.loads(printed) == documents
    assert "täglich" in printed
    assert yaml.safe_load(shown(capsys, documents, format="yaml")) == documents
    assert (shown(capsys, [], format="json"), shown(capsys, [], format="yaml")) == ("[]\n", "[]\n")


def test_quiet_prints_each_id_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, [*MACHINES, MACHINES[0]], quiet=True, format="json") == (
        "0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94\nce2e62ed-826f-4485-a39f-a82bb74338e2\n"
    )


@pytest.mark.parametrize("format_", ["table", "csv", "json", "yaml"])
def test_no_format_lets_a_machines_text_steer_the_terminal(capsys: pytest.CaptureFixture[str], format_: str) -> None:
    printed = shown(capsys, [{"id": "1", "name": HOSTILE, "size": 1}], format=format_)
    assert all(letter.isprintable() or letter == "\n" for letter in printed)
    if format_ == "json":
        assert json.loads(printed)[0]["name"] == HOSTILE
    if format_ == "yaml":
        assert yaml.safe_load(printed)[0]["name"] == HOSTILE
    if format_ == "csv":
        assert list(csv.reader(io.StringIO(printed)))[1] == ["1", "a [2J 31m b c  d ", "1"]


def test_cleaned_text_is_one_line_and_as_long_as_before() -> None:
    assert clean("a\tb\nc\x1b[1m é") == "a b c [1m é"


def test_a_cleaned_block_keeps_its_lines_and_makes_lines_of_a_progress_display() -> None:
    assert clean_block("10 %\r20 %\r\nready\n\tdone\x1b[0m\x9b") == "10 %\n20 %\nready\n\tdone�[0m�"


def test_times_look_as_go_prints_them() -> None:
    assert moment("2020-07-08T15:17:02.123456+00:00") == "2020-07-08 15:17:02 +0000 UTC"
    assert moment("2020-07-08T17:17:02+02:00") == "2020-07-08 15:17:02 +0000 UTC"
    assert (moment(None), moment("")) == ("", "")


def test_notes_go_to_standard_error_and_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    show_notes(
        {
            "notes": [
                {"line": 3, "key": "spec.bmcRef", "text": "not\x1b[2J honoured"},
                {"text": "b", "line": None, "key": ""},
            ]
        }
    )
    show_notes({})
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "tinkbox: line 3, spec.bmcRef: not [2J honoured\ntinkbox: b\n")
