"""The table of reasons."""

import re

from tinkbox.model.reasons import REASONS, hint, markdown


def test_every_reason_is_a_word_explained_in_half_a_sentence_with_a_hint() -> None:
    for name, reason in REASONS.items():
        assert re.fullmatch(r"[A-Z][A-Za-z]+", name)
        for text in (reason.means, reason.hint):
            assert text
            assert not text.endswith(".")
            assert "\n" not in text
            assert "|" not in text, "it would break the table"


def test_only_our_own_reasons_have_hints() -> None:
    assert hint("NoSpace") == REASONS["NoSpace"].hint
    assert hint("DiskNotFound") == hint("") == ""


def test_the_table_has_a_row_for_each() -> None:
    rows = markdown().splitlines()
    assert len(rows) == len(REASONS) + 2
    assert rows[2].startswith("| `NonZeroExit` | ")
