"""A folder's list of names on the disk."""

import os
from pathlib import Path


def sync_folder(path: Path) -> None:
    """Put a folder's list of names on the disk: a rename is for good only then."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
