"""Starting this machine's own programs."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tinkbox.model.errors import Unavailable


def run(command: Sequence[str], *, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run it to its end and return what it said.  Raises Unavailable when there is no such program."""
    try:
        return subprocess.run(
            command,
            cwd=folder,
            env=environment(os.environ),
            stdin=subprocess.DEVNULL,
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
        )
    except FileNotFoundError:
        raise Unavailable(f"there is no {command[0]} here: building from packages needs Debian or Ubuntu") from None


def environment(ours: Mapping[str, str]) -> dict[str, str]:
    """An environment for other programs: messages in English, no questions."""
    return {**ours, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
