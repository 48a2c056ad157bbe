"""Which keys end a view; tests/integration/cli/test_status.py has a person at a terminal."""

import pytest

from tinkbox.cli.terminal.quit_key import quits


@pytest.mark.parametrize("keys", [b"q", b"Q", b"xq", b"\x1b[A\x1b[1;5Bq", b"\x1bq"])
def test_q_quits(keys: bytes) -> None:
    assert quits(keys)


@pytest.mark.parametrize("keys", [b"x", b"\x1bOq", b"\x1b[1;2q", b"\x1b", b"\r\x04"])
def test_other_keys_do_not_quit(keys: bytes) -> None:
    assert not quits(keys)
