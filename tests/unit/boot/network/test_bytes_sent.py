"""What the kernel counts of an interface."""

from pathlib import Path

import pytest

from tinkbox.boot.network.bytes_sent import bytes_sent


def test_the_kernel_tells_how_much_was_sent() -> None:
    assert bytes_sent("lo") >= 0


@pytest.mark.parametrize(("told", "number"), [("4096\n", 4096), ("", 0), ("nonsense", 0), (None, 0)])
def test_an_interface_that_tells_nothing_sent_nothing(tmp_path: Path, told: str | None, number: int) -> None:
    statistics = tmp_path / "eth1" / "statistics"
    statistics.mkdir(parents=True)
    if told is not None:
        (statistics / "tx_bytes").write_text(told)
    assert bytes_sent("eth1", tmp_path) == number
