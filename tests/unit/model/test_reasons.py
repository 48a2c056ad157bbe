"""The reasons that tinkbox itself gives."""

import json
import re
from typing import get_type_hints

import pytest

from tinkbox.model.disks.disks import Disk, Refused
from tinkbox.model.reasons import AnyReason, Giver, Reason, ReasonText, hint, known, markdown
from tinkbox.model.services import Standing
from tinkbox.model.workflow import Outcome, Workflow
from tinkbox.runtime import ContainerFailed


@pytest.mark.parametrize("reason", Reason)
def test_reason_is_a_word_explained_in_half_a_sentence_with_a_hint(reason: Reason) -> None:
    assert re.fullmatch(r"[A-Z][A-Za-z]+", reason.value)
    assert reason.name.replace("_", "").lower() == reason.value.lower()
    assert reason.givers
    for text in (reason.means, reason.hint):
        assert text
        assert not text.endswith(".")
        assert "\n" not in text
        assert "|" not in text, "it would break the table"


def test_reason_travels_and_is_stored_as_its_word() -> None:
    assert json.dumps({"reason": Reason.NO_SPACE}) == '{"reason": "NoSpace"}'
    assert f"{Reason.NO_SPACE}" == str(Reason.NO_SPACE) == Reason.NO_SPACE == "NoSpace"


def test_only_our_own_reasons_are_known_and_have_hints() -> None:
    assert all(known(reason.value) is reason for reason in Reason)
    assert hint("NoSpace") == Reason.NO_SPACE.hint
    for own in ("DiskNotFound", "nospace", "NO_SPACE", ""):
        assert known(own) is None
        assert hint(own) == ""


def test_table_has_a_row_for_each() -> None:
    rows = markdown().splitlines()
    assert len(rows) == len(Reason) + 2
    assert rows[2].startswith("| `NonZeroExit` | worker | ")
    assert Reason.TIMEOUT.givers == Giver.WORKER | Giver.APPLIANCE
    assert any(row.startswith("| `Timeout` | worker, appliance | ") for row in rows)


@pytest.mark.parametrize("holder", [Outcome, Workflow, Standing, Refused, Disk, ContainerFailed.__init__])
def test_a_plain_string_is_no_reason_to_the_type_checker(holder: object) -> None:
    assert get_type_hints(holder)["reason"] is AnyReason is ReasonText
