"""What exit codes of containers tell."""

import pytest

from tinkbox.runtime.exit_codes import KILLED, signal_of


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (0, ""), (127, ""), (128, ""), (129, "SIGHUP"), (KILLED, "SIGKILL"), (143, "SIGTERM"), (160, "signal 32"),
        (162, "SIGRTMIN"), (163, "SIGRTMIN+1"), (192, "SIGRTMAX"), (193, ""), (255, ""), (-1, ""),
    ],
)  # fmt: skip
def test_a_code_tells_of_a_signal_by_its_name(code: int, name: str) -> None:
    assert signal_of(code) == name
