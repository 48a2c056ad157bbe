"""The section `limits`."""

from pathlib import Path

import pytest

from tests.unit.settings.configured import loaded, problems_of
from tinkbox.api.requests import MAX_DOCUMENT
from tinkbox.model.limits import BODY_BYTES, DECLARED, NODE_CONNECTIONS, Limit
from tinkbox.registry.manifests.manifests import MAX_MANIFEST
from tinkbox.wire.ephemeral_limits import MAX_ARCHIVE_BYTES


def test_without_a_word_limits_are_as_they_are_declared(tmp_path: Path) -> None:
    assert loaded(tmp_path, "").limits.holdings == tuple(DECLARED)


@pytest.mark.parametrize(
    ("written", "each", "total"),
    [("{each: 20, all: 50}", 20, 50), ("{each: 20}", 20, NODE_CONNECTIONS.all), ("{all: 50}", 50, 50)],
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
        (
            "node_connections: {each: 29, all: 28}",
            "limits.node_connections.each: 29 is more than limits.node_connections.all, 28: lower it, or raise that",
        ),
        (
            "body_bytes: {each: 256MiB}",
            "limits.body_bytes.each: 256MiB is more than limits.body_bytes.all, 48MiB: lower",
        ),
        ("connections: {each: 9}", "limits.connections: unknown key; did you mean"),
    ],
)
def test_a_wrong_limit_is_named_with_what_is_expected(tmp_path: Path, written: str, problem: str) -> None:
    (found,) = problems_of(tmp_path, f"limits: {{{written}}}")
    assert found.startswith(problem)


@pytest.mark.parametrize("limit", [each for each in DECLARED if each.least > 1], ids=lambda each: each.name)
@pytest.mark.parametrize("size", ["each", "all"])
def test_a_limit_with_which_nothing_works_is_refused_with_the_least(tmp_path: Path, limit: Limit, size: str) -> None:
    written = f"limits: {{{limit.name}: {{{size}: {limit.least - 1}}}}}"
    (found,) = problems_of(tmp_path, written)
    assert found.startswith(f"{limit.key}.{size}: expected at least ")
    assert found.endswith(f": {limit.needed_for}")
    (least,) = (
        each
        for each in loaded(tmp_path, f"limits: {{{limit.name}: {{{size}: {limit.least}}}}}").limits.holdings
        if each.name == limit.name
    )
    assert getattr(least, size) == limit.least


def test_the_least_body_is_the_largest_that_is_ever_sent() -> None:
    assert max(MAX_ARCHIVE_BYTES, MAX_DOCUMENT, MAX_MANIFEST) == BODY_BYTES.least


@pytest.mark.parametrize("key", ["memory", "most_memory"])
def test_less_memory_than_docker_starts_a_container_with_is_refused(tmp_path: Path, key: str) -> None:
    (found,) = problems_of(tmp_path, f"services: {{{key}: 1MiB}}")
    assert found == f"services.{key}: expected at least 6MiB, not 1MiB: Docker starts no container with less"
