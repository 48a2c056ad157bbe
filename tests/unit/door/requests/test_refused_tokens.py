"""Tokens that are not valid."""

import logging

import pytest

from tinkbox.door.requests.refused_tokens import RefusedTokens
from tinkbox.model.limits import REMEMBERED


def test_refused_tokens_are_counted_and_logged_less_and_less_often(caplog: pytest.LogCaptureFixture) -> None:
    refused = RefusedTokens()
    with caplog.at_level(logging.WARNING):
        for _ in range(9):
            refused.note("08:00:27:00:00:66", "operator door")
        refused.note("172.30.0.7", "registry")
    assert refused.total == 10
    assert [each.message.rpartition(" ")[2] for each in caplog.records] == ["1", "2", "4", "8", "1"]
    assert caplog.records[0].message.startswith("08:00:27:00:00:66 showed the operator door a token that is not valid")


def test_memory_is_bounded_however_many_hosts_guess() -> None:
    refused = RefusedTokens()
    for each in range(REMEMBERED * 2):
        refused.note(str(each), "registry")
    assert len(refused._by_host) == REMEMBERED
    assert refused.total == REMEMBERED * 2
