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
    assert watched.err.endswith(f"{FIRST['id']} left the list\n")
    assert watched.status == 130


def test_what_a_limit_leaves_out_has_not_left(tinkbox: Tinkbox, appliance: FakeAppliance, looks: list[object]) -> None:
    appliance.answers[NEWEST], appliance.totals[NEWEST] = [FIRST], 2
    looks += [[SECOND]]
    assert "left the list" not in tinkbox("workflow", "list", "-w").err


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
    assert second.splitlines()[-1] == "3 of 9 fit this terminal"
    assert len(second.splitlines()) == 5


def test_lines_that_are_wider_than_the_terminal_take_several_of_it(
    tinkbox: Tinkbox, appliance: FakeAppliance, looks: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watched_list, "is_drawn_on", lambda: True)
    monkeypatch.setenv("LINES", "12")
    monkeypatch.setenv("COLUMNS", "80")
    appliance.answers[NEWEST] = [{**FIRST, "id": f"{number}" * 36} for number in range(9)]
    (drawn,) = tinkbox("workflow", "list", "-w", "-o", "wide").out.split("\x1b[H\x1b[J")[1:]
    *lines, told = drawn.splitlines()
    assert told == f"{len(lines) - 1} of 9 fit this terminal"
    assert len(lines) in range(2, 9)
    assert 10 - max(-(-len(each) // 80) for each in lines) < sum(-(-len(each) // 80) for each in lines) <= 10


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


def test_images_are_watched_as_other_lists(tinkbox: Tinkbox, appliance: FakeAppliance, looks: list[object]) -> None:
    image = {"name": "a", "tag": "v1", "digest": "sha256:77", "kind": "container", "size": 1, "pushed_at": None}
    appliance.answers["GET /v1/images?sort=name"] = lambda: [image, {**image, "tag": "v2"}][: 2 - len(looks)]
    looks += [[]]
    watched = tinkbox("image", "list", "-w", "-o", "csv")
    assert [each.split(",")[0] for each in watched.out.splitlines()] == ["reference", "a:v1", "a:v2"]
