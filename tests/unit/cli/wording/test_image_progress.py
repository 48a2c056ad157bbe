"""How far the download and the packing of a system image are, in words."""

import pytest

from tinkbox.catalogue.downloading import Arrived
from tinkbox.cli.wording.image_progress import downloading, packing
from tinkbox.model.images.system_image import Progress, Stage


@pytest.mark.parametrize(
    ("arrived", "text"),
    [
        (Arrived(done=1 << 20, total=0, rate=0), "1MiB"),
        (Arrived(done=1 << 20, total=4 << 20, rate=0), "1MiB of 4MiB (25%)"),
        (Arrived(done=1 << 20, total=61 << 20, rate=1 << 19), "1MiB of 61MiB (1%), 512KiB/s, 2:00 left"),
        (
            Arrived(done=1 << 20, total=4 << 20, rate=9, silent_seconds=20.5),
            "1MiB of 4MiB (25%), nothing came for 20 s",
        ),
    ],
)
def test_a_download_tells_bytes_speed_and_time(arrived: Arrived, text: str) -> None:
    assert downloading("lab:1", arrived) == f"Downloading lab:1: {text}"


def test_packing_tells_its_stage() -> None:
    assert packing(Progress(stage=Stage.PACKING, done=2 << 30, total=4 << 30)) == "Packing the disk: 2GiB of 4GiB (50%)"
    assert packing(Progress(stage=Stage.UNPACKING, done=5 << 20, total=0)) == "Decompressing the file: 5MiB"
