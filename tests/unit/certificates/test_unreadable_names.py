"""Names that nobody can read write nothing to the log."""

import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.handshakes import certificate_shown
from tinkbox.certificates import Certificates, Door
from tinkbox.certificates.unreadable_names import unreadable_names_untold


class Unraisable:
    """What goes wrong where nobody can be told."""

    def __del__(self) -> None:
        b"\xff".decode("ascii")


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    found: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", found.append)
    return found


def test_name_that_is_not_ascii_is_refused_without_a_word(tmp_path: Path, told: list[object]) -> None:
    context = Certificates.open(tmp_path, ["box"], None, datetime.now(UTC)).server_context(Door.OPERATOR)
    with unreadable_names_untold():
        assert certificate_shown(context, b"b\xc3\xbccher.example") is None
        assert certificate_shown(context, b"box") is not None
    assert told == []


def test_other_trouble_is_told_as_before(told: list[object]) -> None:
    with unreadable_names_untold():
        Unraisable()
    assert len(told) == 1
    Unraisable()
    assert len(told) == 2
