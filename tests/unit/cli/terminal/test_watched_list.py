"""`--watch` of lists."""

from collections.abc import Callable

import pytest

from tests.unit.cli.conftest import FakeAppliance, Printed
from tests.unit.cli.documents import LISTED_WORKFLOW, TEMPLATE
from tinkbox.cli.output import formats
from tinkbox.cli.terminal import watched_list

Tinkbox = Callable[..., Printed]
FIRST, SECOND = LISTED_WORKFLOW, {**LISTED_WORKFLOW, "id": "b" * 36, "state": "PENDING"}
NEWEST = "GET /v1/workflows?sort=-created_at&limit=100"


@pytest.fixture
def looks(appliance: FakeAppliance, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What the appliance answers at one look after the other; None: it is away.  At the end Ctrl-C is typed."""
    answers: list[object] = []

    async def look_again(_: float) -> None:
        if not answers:
            raise KeyboardInterrupt
        following = answers.pop(0)
        appliance.away = following is None
        appliance.answers[NEWEST] = following or []

    monkeypatch.setattr("asyncio.sleep", look_again)
    return answers


def test_into_a_pipe_lines_that_changed_are_printed(
    tinkbox: Tinkbox, appliance: FakeAppliance, looks: list[object]
) -> None:
    appliance.answers[NEWEST] = [FIRST, SECOND]
    looks += [[FIRST, SECOND], None, [{**FIRST, "state": "FAILED"}, SECOND], [SECOND]]
    watched = tinkbox("workflow", "list", "--watch")
    lines = [line.split()[:1] + line.split()[4:5] for line in watched.out.splitlines()]
    assert lines == [["ID", "STATE"], ["a8984b09", "RUNNING"], ["bbbbbbbb", "PENDING"], ["a8984b09", "FAILED"]]
    assert watched.err.count("trying again") == 1
    assert watched.status == 130


def test_programs_can_watch_ids(tinkbox: Tinkbox, appliance: FakeAppliance, looks: list[object]) -> None:
    appliance.answers["GET /v1/workflows?sort=-created_at"] = [FIRST]
    looks += [[], []]
    assert tinkbox("workflow", "list", "-w", "-q").out == f"{FIRST['id']}\n"


def test_a_terminal_that_only_prints_gets_lines(
    tinkbox: Tinkbox, appliance: FakeAppliance, looks: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formats, "is_terminal", lambda: True)
    monkeypatch.setenv("TERM", "dumb")
    appliance.answers[NEWEST] = [FIRST]
    looks += [[FIRST]]
    assert "\x1b" not in tinkbox("workflow", "list", "-w").out


def test_on_a_terminal_the_table_is_drawn_anew(
    tinkbox: Tinkbox, appliance: FakeAppliance, looks: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watched_list, "is_drawn_on", lambda: True)
    monkeypatch.setenv("LINES", "6")
    appliance.answers[NEWEST] = [FIRST]
    looks += [[{**FIRST, "id": f"{number}" * 36} for number in range(9)]]
    first, second = tinkbox("workflow", "list", "-w").out.split("\x1b[H\x1b[J")[1:]
    assert len(first.splitlines()) == 2
    assert second.splitlines()[-1] == "3 of 9 shown; --limit 0 shows all"
    assert len(second.splitlines()) == 5


def test_an_appliance_that_was_never_there_is_3(
    tinkbox: Tinkbox, appliance: FakeAppliance, looks: list[object]
) -> None:
    appliance.away = True
    assert tinkbox("workflow", "list", "-w").status == 3


@pytest.mark.parametrize("format_", ["json", "yaml"])
def test_whole_documents_are_not_watched(tinkbox: Tinkbox, appliance: FakeAppliance, format_: str) -> None:
    wrong = tinkbox("template", "list", "-w", "-o", format_)
    assert (wrong.status, appliance.asked) == (2, [])
    assert "tinkbox events watch" in wrong.err


def test_without_watch_it_is_one_look(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers["GET /v1/templates?sort=name"] = [TEMPLATE]
    assert tinkbox("template", "list").status == 0
    assert len(appliance.asked) == 1
