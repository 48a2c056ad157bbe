"""Lists in each format, for people and for programs."""

import csv
import io
import json
from argparse import Namespace
from collections.abc import Callable

import pytest
import yaml

from tinkbox.cli.output import formats
from tinkbox.cli.output.formats import As2020, Column, fields, id_columns, show, show_notes
from tinkbox.cli.output.printable import clean, clean_block
from tinkbox.cli.output.tables import table

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
ID                                    NAME      SIZE
0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94  eins      7
ce2e62ed-826f-4485-a39f-a82bb74338e2  dreizehn  1234
"""
AS_2020 = """\
+--------------------------------------+----------+------+
| ID                                   | NAME     | SIZE |
+--------------------------------------+----------+------+
| 0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94 | eins     |    7 |
| ce2e62ed-826f-4485-a39f-a82bb74338e2 | dreizehn | 1234 |
+--------------------------------------+----------+------+
"""
HOSTILE = "a\x1b[2J\x9b31m\rb\nc\x7f\u202ed\ud800"


def chosen(**flags: object) -> Namespace:
    of_2020 = flags.get("format") == "tink"
    return Namespace(**{"format": "table", "no_headers": False, "quiet": False, "as_2020": of_2020, **flags})


def shown(capsys: pytest.CaptureFixture[str], documents: list[dict[str, object]], **flags: object) -> str:
    show(chosen(**flags), documents, COLUMNS)
    return capsys.readouterr().out


def test_a_table_has_a_line_for_each_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, MACHINES) == TABLE
    assert shown(capsys, []) == "ID  NAME  SIZE\n"
    assert shown(capsys, MACHINES, no_headers=True) == TABLE.partition("\n")[2]
    assert shown(capsys, [], no_headers=True) == ""


def test_2020s_table_has_borders_and_numbers_to_the_right(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, MACHINES, format="tink") == AS_2020


def test_a_table_without_rows_ends_in_two_borders_as_2020s_tink_printed_it() -> None:
    assert table(["ID", "MAC Address", "IP Address", "Hostname"], []) == (
        "+----+-------------+------------+----------+\n"
        "| ID | MAC ADDRESS | IP ADDRESS | HOSTNAME |\n"
        "+----+-------------+------------+----------+\n"
        "+----+-------------+------------+----------+\n"
    )


def test_2020s_table_without_headers_is_its_rows_in_a_frame(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, MACHINES[:1], no_headers=True, format="tink") == (
        "+--------------------------------------+------+---+\n"
        "| 0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94 | eins | 7 |\n"
        "+--------------------------------------+------+---+\n"
    )
    assert shown(capsys, [], no_headers=True, format="tink") == ""


def test_fields_are_names_with_values() -> None:
    named = [("ID", "x"), ("Hostname", "machine-1"), ("", "more")]
    assert fields(chosen(), named) == "ID:        x\nHostname:  machine-1\n           more\n"
    assert fields(chosen(format="tink"), named) == (
        "+------------+-----------+\n"
        "| FIELD NAME | VALUE     |\n"
        "+------------+-----------+\n"
        "| ID         | x         |\n"
        "| Hostname   | machine-1 |\n"
        "|            | more      |\n"
        "+------------+-----------+\n"
    )


OWN = [*id_columns(), Column("Age", "at", lambda at: f"{at} ago"), Column("Note", "note", wide=True)]
OLD = As2020((Column("Machine ID", "id"), Column("Made At", "at", lambda at: f"at {at}")))
MADE = [{"id": "0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94", "at": "5m", "note": None, "name": "node7"}]


def made(capsys: pytest.CaptureFixture[str], **flags: object) -> str:
    show(chosen(**flags), MADE, OWN, name="name", as_2020=OLD)
    return capsys.readouterr().out


def test_wide_has_more_columns_and_whole_ids(capsys: pytest.CaptureFixture[str]) -> None:
    assert made(capsys) == "ID        AGE\n0eba0bf8  5m ago\n"
    assert made(capsys, format="wide").splitlines() == [
        "ID                                    AGE     NOTE",
        "0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94  5m ago",
    ]


def test_csv_is_for_programs_what_stands_in_the_documents(capsys: pytest.CaptureFixture[str]) -> None:
    assert made(capsys, format="csv") == "id,at,note\n0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94,5m,\n"


def test_programs_of_2020_get_the_columns_of_their_day(capsys: pytest.CaptureFixture[str]) -> None:
    line = "0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94,at 5m\n"
    assert made(capsys, format="csv", as_2020=True) == f"Machine ID,Made At\n{line}"
    assert "| MACHINE ID  " in made(capsys, format="tink")
    assert json.loads(made(capsys, format="json", as_2020=True)) == MADE


def test_a_name_is_what_people_call_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert made(capsys, format="name") == "node7\n"
    assert made(capsys, format="name", quiet=True) == "0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94\n"


def test_only_a_terminals_table_is_cut(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    long = [{"id": "1", "name": "n" * 100, "size": 1}]
    columns = [COLUMNS[0], COLUMNS[1]._replace(fit=formats.Fit(least=8)), COLUMNS[2]]
    for terminal, format_, widest in ((True, "table", 60), (False, "table", 110), (True, "wide", 110)):
        monkeypatch.setattr(formats, "is_terminal", lambda terminal=terminal: terminal)
        monkeypatch.setenv("COLUMNS", "60")
        show(chosen(format=format_), long, columns)
        assert max(map(len, capsys.readouterr().out.splitlines())) == widest


def test_csv_has_the_columns_and_quotes_what_needs_it(capsys: pytest.CaptureFixture[str]) -> None:
    documents = [{"id": "1", "name": 'two, "three"', "size": 4}]
    assert shown(capsys, documents, format="csv") == 'id,name,size\n1,"two, ""three""",4\n'
    assert shown(capsys, documents, format="csv", no_headers=True) == '1,"two, ""three""",4\n'


def test_json_and_yaml_have_the_whole_documents(capsys: pytest.CaptureFixture[str]) -> None:
    documents = [{**MACHINES[0], "hidden": ["täglich", None]}]
    printed = shown(capsys, documents, format="json")
    assert json.loads(printed) == documents
    assert "täglich" in printed
    assert yaml.safe_load(shown(capsys, documents, format="yaml")) == documents
    assert (shown(capsys, [], format="json"), shown(capsys, [], format="yaml")) == ("[]\n", "[]\n")


@pytest.mark.parametrize(("format_", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_one_thing_that_was_named_is_an_object_and_a_list_of_one_a_list(
    capsys: pytest.CaptureFixture[str], format_: str, read: Callable[[str], object]
) -> None:
    for one, expected in ((True, MACHINES[0]), (False, MACHINES[:1])):
        show(chosen(format=format_), MACHINES[:1], COLUMNS, one=one)
        assert read(capsys.readouterr().out) == expected


def test_quiet_prints_each_id_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, [*MACHINES, MACHINES[0]], quiet=True, format="json") == (
        "0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94\nce2e62ed-826f-4485-a39f-a82bb74338e2\n"
    )


def test_json_shows_what_is_not_seen_of_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    named = [{"id": "1", "name": "node1\ufe0f\U000e0100 Zürich", "size": 1}]
    printed = shown(capsys, named, format="json")
    assert '"node1\\ufe0f\\udb40\\udd00 Zürich"' in printed
    assert json.loads(printed) == named


@pytest.mark.parametrize("text", ["=HYPERLINK(1)", "+1", "-1+1", "@SUM(1)"])
def test_csv_has_no_text_that_a_spreadsheet_calculates(capsys: pytest.CaptureFixture[str], text: str) -> None:
    documents = [{"id": "1", "name": text, "size": -4}]
    assert list(csv.reader(io.StringIO(shown(capsys, documents, format="csv"))))[1] == ["1", f"'{text}", "-4"]


@pytest.mark.parametrize("format_", ["table", "wide", "tink", "csv", "json", "yaml", "name"])
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
