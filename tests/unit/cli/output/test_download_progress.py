"""How far a download is."""

import io

import pytest

from tinkbox.catalogue.downloading import Arrived
from tinkbox.cli.output.download_progress import DownloadProgress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("arrived", "text"),
    [
        (Arrived(done=1 << 20, total=0, rate=0), "1MiB"),
        (Arrived(done=1 << 20, total=4 << 20, rate=0), "1MiB of 4MiB (25%)"),
        (Arrived(done=1 << 20, total=61 << 20, rate=1 << 19), "1MiB of 61MiB (1%), 512KiB/s, 2:00 left"),
    ],
)
def test_a_line_tells_bytes_speed_and_time(arrived: Arrived, text: str) -> None:
    out, clock = io.StringIO(), iter([0.0, 60.0])
    DownloadProgress("lab:1", out, lambda: next(clock))(arrived)
    assert out.getvalue() == f"Downloading lab:1: {text}\n"


def test_a_terminal_has_one_line_that_goes() -> None:
    out, clock = Terminal(), iter([0.0, 1.0, 1.01, 2.0])
    progress = DownloadProgress("lab:1", out, lambda: next(clock))
    for done in (1, 2, 3):
        progress(Arrived(done=done, total=0, rate=0))
    progress.close()
    erase = "\r\x1b[2K"
    assert out.getvalue() == f"{erase}Downloading lab:1: 1 byte{erase}Downloading lab:1: 3 bytes{erase}"
