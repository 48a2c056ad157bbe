"""The storage format by itself; that old rows are read stands in tests/integration/compatibility/test_old_database.py."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.store.formats.values import ACTION, FORMATS, OUTCOME, Format
from tinkbox.model.breakpoint import Breakpoints, Override
from tinkbox.model.workflow import Outcome, PlannedAction, State
from tinkbox.store.formats.actions import action_of, action_text, outcome_of, outcome_text, override_of, override_text
from tinkbox.store.formats.breakpoints import breakpoints_of, breakpoints_text, verdict_of
from tinkbox.store.formats.services import files_of, files_text


@pytest.mark.parametrize("form", FORMATS, ids=str)
@given(data=st.data())
def test_written_value_is_read_again(form: Format, data: st.DataObject) -> None:
    value = data.draw(form.values)
    written = form.write(value)
    assert written.isascii(), "SQLite takes no halves of characters"
    assert form.read(written) == value
    assert form.write(form.read(written)) == written


@given(value=ACTION)
def test_action_of_schema_1_is_read_with_defaults(value: PlannedAction) -> None:
    entry = json.loads(action_text(value))
    for name in ("retries", "reboot", "helper", "wipes", "disk", "network"):
        entry.pop(name, None)
    found = action_of(json.dumps(entry))
    assert (found.spec.retries, found.spec.reboot, found.spec.helper, found.spec.wipes) == (0, False, True, ())
    assert (found.spec.disk, found.spec.network) == ("", "")
    spec = value.spec
    assert (found.spec.name, found.spec.command, found.spec.environment) == (spec.name, spec.command, spec.environment)


@given(value=OUTCOME)
def test_outcome_of_schema_1_is_read_with_defaults(value: Outcome) -> None:
    entry = json.loads(outcome_text(value))
    del entry["signal"], entry["hint"]
    found = outcome_of(json.dumps(entry))
    assert found is not None
    assert (found.signal, found.hint, found.reason) == ("", "", value.reason)


def test_nothing_is_an_empty_column() -> None:
    assert override_text(None) == override_text(Override()) == breakpoints_text(Breakpoints()) == ""
    assert override_of("") is outcome_of(None) is verdict_of(None) is None
    assert breakpoints_of("") == Breakpoints()


def test_half_a_character_is_read_as_a_question_mark() -> None:
    half: dict[str, Any] = {"state": State.FAILED, "reason": "a\ud800b", "message": "\udfff", "tail": ("\ud83d\ude00",)}
    whole = {"state": State.FAILED, "reason": "a?b", "message": "?", "tail": ("😀",)}
    written = outcome_text(Outcome(**half))
    assert written.isascii()
    assert outcome_of(json.dumps(json.loads(written))) == Outcome(**whole)


def test_path_of_a_written_file_stays_as_it_is_spelled() -> None:
    files = {"a\udcff": "f"}
    assert files_of(files_text(files, {})) == (files, {})
