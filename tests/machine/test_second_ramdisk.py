"""The firmware of cards as it was really built, of Debian's packages; no machine is needed to look at it."""

import hashlib
import subprocess

import zstandard

from tests.machine.lab import built
from tinkbox.osie.image import FIRMWARE, LICENCES, read

MOST = 64 << 20


def test_firmware_is_what_its_description_says() -> None:
    folder = built("build/osie/x86_64")
    image = read(folder)
    assert image.firmware is not None
    octets = (folder / FIRMWARE).read_bytes()
    file = image.files[FIRMWARE]
    assert (len(octets), hashlib.sha256(octets).hexdigest()) == (file.size, file.sha256)
    assert len(octets) % 512 == 0, "another ramdisk follows"
    assert len(octets) < 12 << 20
    archive = zstandard.ZstdDecompressor().stream_reader(octets).read(MOST)
    listed = subprocess.run(["cpio", "--quiet", "-t"], input=archive, check=True, capture_output=True).stdout.decode()
    held = {each.removeprefix("usr/lib/firmware/") for each in listed.splitlines()}
    assert set(image.firmware.files) <= held
    assert "usr/share/doc/firmware/copyright" in held
    assert b"linux-firmware" in (folder / LICENCES).read_bytes()


def test_firmware_has_what_usual_cards_cannot_work_without() -> None:
    image = read(built("build/osie/x86_64"))
    assert image.firmware is not None
    assert {"bnx2", "bnx2x", "cxgb4", "ice", "nfp", "qed", "qla2xxx", "r8169", "tg3"} <= image.firmware.modules.keys()
    # What Debian may not pass on, or nobody has: mostly of cards of the last century.
    assert len(image.firmware.absent) < 30
