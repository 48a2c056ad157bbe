"""Rendering apart from the appliance: what a hostile template does to it is nothing."""

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tinkbox.engine.templates import rendering_process
from tinkbox.engine.templates.dialects import Dialect
from tinkbox.engine.templates.go_dialect import GoTemplate
from tinkbox.engine.templates.rendering_process import MAX_BATCH, render_confined
from tinkbox.model.errors import Problem, Unavailable


async def test_texts_come_back_in_the_order_of_their_data_whatever_their_number() -> None:
    data = [{"n": str(number)} for number in range(MAX_BATCH + 3)]
    assert await render_confined("{{ n }}\x00", data) == [f"{number}\x00" for number in range(MAX_BATCH + 3)]


async def test_a_template_alone_is_read() -> None:
    assert await render_confined("{{ n }}", []) == []
    assert await render_confined("\n{{ n", []) == [
        Problem(line=2, text="unexpected end of template, expected 'end of print statement'.")
    ]


async def test_a_go_template_is_rendered_there_as_it_is_here() -> None:
    text = '{{ .n | mustRegexReplaceAll "[0-9]+" "<$0>" }} {{ toYaml .m }} {{ fromYaml "a: 1" }} {{ sha256sum "x" | trunc 4 }}'
    data = [{"n": str(number), "m": {"a": [1, 1.5, None]}} for number in range(2)]
    assert await render_confined(text, data, dialect=Dialect.GO) == [GoTemplate(text).render(each) for each in data]
    assert await render_confined("{{ .m }}", [{}], dialect=Dialect.GO) == [
        Problem(line=1, key="m", text='at <.m>: map has no entry for key "m"')
    ]
    assert await render_confined("{{ .m }}", [], dialect=Dialect.GO) == []
    (problem,) = await render_confined("\n{{ env }}", [], dialect=Dialect.GO)
    assert isinstance(problem, Problem)
    assert problem.line == 2


async def test_each_of_the_data_has_a_process_of_its_own_where_what_is_slow_is_called() -> None:
    # So three that do the most that one may are no more than the process is given time for.
    text = "{{ derivePassword(1, 'pin', 'p', 'u', 's') and n }}"
    turns = []

    @asynccontextmanager
    async def turn() -> AsyncIterator[None]:
        turns.append(1)
        yield

    assert await render_confined(text, [{"n": "a"}, {"n": "b"}, {"n": "c"}], turn) == ["a", "b", "c"]
    assert len(turns) == 3


async def test_the_moment_is_given_to_the_process() -> None:
    moment = datetime(2026, 7, 30, 15, 10, 10, 5, tzinfo=UTC)
    for dialect, text in ((Dialect.GO, "{{ now }}"), (Dialect.JINJA, "{{ now() }}")):
        assert await render_confined(text, [{}], dialect=dialect, moment=moment) == [
            "2026-07-30 15:10:10.000005 +0000 UTC"
        ]


@pytest.mark.parametrize(
    "text",
    ["{{ 9 ** (9 ** 9) }}", "{% for a in range(99999) %}{% for b in range(99999) %}{{ '' }}{% endfor %}{% endfor %}"],
)
async def test_a_template_that_never_ends_is_ended_while_the_appliance_goes_on(text: str) -> None:
    began = looked = time.monotonic()
    worst = 0.0

    async def heartbeat() -> None:
        nonlocal worst, looked
        while True:
            await asyncio.sleep(0.01)
            worst, looked = max(worst, time.monotonic() - looked), time.monotonic()

    async with asyncio.TaskGroup() as parts:
        beating = parts.create_task(heartbeat())
        (problem,) = await render_confined(text, [{}])
        beating.cancel()
    assert isinstance(problem, Problem)
    assert "rendering takes" in problem.text
    # Five seconds of a processor: on a host that is slower all of it lasts longer.
    assert worst < max(1.0, (time.monotonic() - began) / 5)


async def test_a_process_that_hangs_is_killed_when_its_time_is_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(rendering_process, "WALL_SECONDS", 0.5)
    monkeypatch.setattr(rendering_process, "_program", lambda: hanging(tmp_path / "pids"))
    assert await render_confined("x", [{}, {}]) == [rendering_process._EXCEEDED] * 2
    assert await_gone(tmp_path / "pids")


async def test_a_caller_that_goes_away_leaves_no_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(rendering_process, "_program", lambda: hanging(tmp_path / "pids"))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await render_confined("x", [{}])
    assert await_gone(tmp_path / "pids")


async def test_a_process_that_cannot_start_is_our_fault_not_the_templates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering_process, "_program", lambda: ["/bin/false"])
    with pytest.raises(Unavailable, match="does not start"):
        await render_confined("x", [{}])


async def test_a_process_that_is_not_confined_renders_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering_process, "_program", lambda: ["/bin/printf", r"refused\nno seccomp here"])
    with pytest.raises(Unavailable, match="cannot be confined: no seccomp here"):
        await render_confined("x", [{}])


async def test_its_low_priority_counts_beside_the_appliance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Linux shares the processor among sessions first (sched(7), "The autogroup feature")."""
    tells = "import os; print(f'confined\\n[\"{os.getsid(0)}\"]')"
    monkeypatch.setattr(rendering_process, "_program", lambda: [sys.executable, "-c", tells])
    assert await render_confined("x", [{}]) == [str(os.getsid(0))]


async def test_a_process_that_says_too_much_is_not_listened_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering_process, "_MOST_SAID", 1 << 20)
    monkeypatch.setattr(rendering_process, "_program", lambda: ["/bin/sh", "-c", "echo confined; exec yes"])
    assert await render_confined("x", [{}]) == [rendering_process._EXCEEDED]


def hanging(pids: Path) -> list[str]:
    """A program with a child that say who they are, and then neither answer nor end."""
    return ["/bin/sh", "-c", f"echo $$ >> {pids}; (echo $BASHPID >> {pids}; sleep 600) & sleep 600"]


def await_gone(pids: Path) -> bool:
    """Whether none of the processes is left."""
    return not any(Path(f"/proc/{pid}").exists() and os.getpgid(int(pid)) for pid in pids.read_text().split())
