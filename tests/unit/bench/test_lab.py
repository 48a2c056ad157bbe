"""What a benchmark says that lacks a program."""

import pytest

from tests.bench.lab import PEERS, ToolMissing, need


def test_missing_program_is_told_with_the_command_that_gets_it() -> None:
    unpacked = str(PEERS / "no-such-peer" / "usr" / "bin" / "no-such-peer")
    with pytest.raises(ToolMissing) as told:
        need({unpacked: "no-such-peer", "no-such-tool": "no-such-package"})
    assert str(told.value).splitlines()[:2] == [
        f"{unpacked} is missing: make build/peers/no-such-peer/.ready",
        "no-such-tool is missing: apt-get install no-such-package",
    ]
