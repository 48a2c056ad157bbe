"""qcow2 files written by hand, so that each field can be wrong."""

import struct
from dataclasses import dataclass, field

CLUSTER = 1 << 16
COMPRESSED = 1 << 62


@dataclass
class Qcow2File:
    """A disk of some clusters: the header, one table of tables, one table, then the data."""

    size: int = 4 * CLUSTER
    version: int = 3
    bits: int = 16
    backing_at: int = 0
    backing: bytes = b""
    encryption: int = 0
    features: int = 0
    compression: int = 0
    l1_size: int = 1
    l1_at: int = CLUSTER
    l1: list[int] = field(default_factory=lambda: [2 * CLUSTER])
    l2: dict[int, int] = field(default_factory=dict)
    data: bytes = b""  # from 3 * CLUSTER on

    def content(self) -> bytes:
        head = struct.pack(
            ">4sIQIIQIIQQIIQ",
            b"QFI\xfb",
            self.version,
            self.backing_at,
            len(self.backing),
            self.bits,
            self.size,
            self.encryption,
            self.l1_size,
            self.l1_at,
            0,
            0,
            0,
            0,
        )
        head += struct.pack(">QQQII", self.features, 0, 0, 4, 112) + bytes([self.compression]) + bytes(7)
        head = head.ljust(256, b"\0") + self.backing
        l2 = [self.l2.get(number, 0) for number in range(CLUSTER // 8)]
        return (
            head.ljust(CLUSTER, b"\0")
            + struct.pack(f">{len(self.l1)}Q", *self.l1).ljust(CLUSTER, b"\0")
            + struct.pack(f">{len(l2)}Q", *l2)
            + self.data
        )


def compressed_entry(at: int, length: int, bits: int = 16) -> int:
    split = 62 - (bits - 8)
    sectors = ((at & 511) + length + 511) // 512 - 1
    return COMPRESSED | sectors << split | at
