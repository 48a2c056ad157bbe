"""A system image that is small and whole, as an OCI archive for `tinkbox image load`."""

import io
import tarfile
from pathlib import Path

from tinkbox.model.images.system_image import FRAME, About, BlockMap, Config, Firmware, RawDisk, Source
from tinkbox.wire.system_images import (
    digest_of,
    encode_block_map,
    encode_config,
    index_text,
    manifest_text,
)


def system_image(path: Path, image_id: str = "debian-13", version: str = "20261101") -> str:
    """Write one whose disk is all zeros; returns its digest."""
    disk, raw = b"no frames", RawDisk(size=FRAME, digest=digest_of(bytes(FRAME)))
    source = Source(file="debian.qcow2", digest=digest_of(b"source"), size=6)
    about = About(
        id=image_id, version=version, source=source, title="Debian 13", firmware=(Firmware.BIOS, Firmware.UEFI),
        default_user="debian", least_disk=2 << 30,
    )  # fmt: skip
    config = encode_config(Config(about=about, raw=raw))
    blocks = encode_block_map(BlockMap(raw=raw))
    manifest = manifest_text(config, (digest_of(disk), len(disk)), blocks, {})
    index = index_text(manifest, (f"{image_id}:{version}", f"{image_id}:latest"))
    files = {"oci-layout": b'{"imageLayoutVersion": "1.0.0"}', "index.json": index}
    files |= {f"blobs/sha256/{digest_of(each).partition(':')[2]}": each for each in (config, disk, blocks, manifest)}
    with tarfile.open(path, "w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return digest_of(manifest)
