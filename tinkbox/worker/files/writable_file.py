"""Files that a container writes, whatever user it runs as."""

import os
from pathlib import Path


def make_writable(path: Path) -> None:
    """Make it, or find it, for any user to write.

    What an action put in its place is removed, for a link would lead the mode to another file of the machine.  Raises
    OSError.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    if path.is_symlink() or (path.exists() and not path.is_file()):
        path.unlink()
    descriptor = os.open(path, flags, 0o600)
    try:
        os.fchmod(descriptor, 0o666)
    finally:
        os.close(descriptor)
