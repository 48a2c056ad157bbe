"""The section `limits`."""

from pathlib import Path

import pytest

from tests.unit.settings.configured import loaded, problems_of
from tinkbox.model.limits import DECLARED, NODE_CONNECTIONS


def test_without_a_word_limits_are_as_they_are_declared(tmp_path: Path) -> None:
    assert loaded(tmp_path, "").limits.holdings == tuple(DECLARED)


@pytest.mark.parametrize(
    ("written", "each", "total"),
    [("{each: 5, all: 50}", 5, 50), ("{each: 5}", 5, NODE_CONNECTIONS.all), ("{all: 50}", 50, 50)],
)
def test_limits_may_be_written_in_part(tmp_path: Path, written: str, each: int, total: int) -> None:
    (chosen, *others) = loaded(tmp_path, f"limits: {{node_connections: {written}}}").limits.holdings
    assert (chosen.name, chosen.each, chosen.all) == ("node_connections", each, total)
    assert others == list(DECLARED[1:])


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("head: 0s", "limits.head: expected a time of at least 1s"),
        ("node_connections: 5", "limits.node_connections: expected {each: 128, all: 8192}, or one of the two, not 5"),
        ("node_connections: {some: 5}", "limits.node_connections: expected {each: 128, all: 8192}"),
        ("node_connections: {each: 0}", "limits.node_connections.each: expected a number between 1 and 1000000, not 0"),
        ("node_connections: {all: many}", "limits.node_connections.all: expected a number"),
        ("node_connections: {each: 9, all: 8}", "limits.node_connections: each is 9, which is more than all, 8"),
        ("connections: {each: 9}", "limits.connections: unknown key; did you mean"),
    ],
)
def test_a_wrong_limit_is_named_with_what_is_expected(tmp_path: Path, written: str, problem: str) -> None:
    (found,) = problems_of(tmp_path, f"limits: {{{written}}}")
    assert found.startswith(problem)
