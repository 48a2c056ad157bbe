"""The kernel's log as it is now, without waiting for more of it."""

import os
from pathlib import Path
from typing import Final

MOST_RECORDS: Final = 50_000
MOST_BYTES: Final = 16 << 20
_RECORD: Final = 8192  # the longest that the kernel gives, and it gives no part of one


def read_kernel_log(path: Path = Path("/dev/kmsg")) -> str:
    """Empty where it cannot be read."""
    try:
        log = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    pieces, size = [], 0
    try:
        for _ in range(MOST_RECORDS):
            try:
                piece = os.read(log, _RECORD)
            except BrokenPipeError:
                continue  # it was overwritten meanwhile: the next read gives the oldest that is left
            except OSError:
                break  # mostly that there is nothing more now
            size += len(piece)
            if not piece or size > MOST_BYTES:
                break
            pieces.append(piece)
    finally:
        os.close(log)
    return b"".join(pieces).decode(errors="replace")
