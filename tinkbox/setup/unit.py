"""The systemd unit: its files, and the commands that make it run."""

import subprocess
from collections.abc import Callable, Sequence

from tinkbox.model.errors import Unavailable
from tinkbox.setup.placing import PLACES, packed, put

UNIT = "tinkbox.service"
_SYSCTL = "/usr/lib/systemd/systemd-sysctl"  # of systemd, unlike sysctl(8)
Run = Callable[[Sequence[str]], None]


def install(run: Run) -> list[str]:
    """Put its files where systemd reads them, and have them read; returns the paths of those that changed.

    They are read each time: somebody may have stopped us between the two.
    """
    changed = [str(path) for name, path in PLACES.items() if put(path, packed(name))]
    run(["systemd-sysusers", str(PLACES["sysusers.conf"])])
    run([_SYSCTL, str(PLACES["sysctl.conf"])])
    run(["systemctl", "daemon-reload"])
    return changed


def start(run: Run) -> None:
    """Have it run now and after each boot of the host, with what it runs and reads as it is now.

    `start` would join an attempt that began before the cause of the last failure was removed, and fail with it.
    """
    run(["systemctl", "--quiet", "enable", UNIT])
    run(["systemctl", "restart", UNIT])


def run(command: Sequence[str]) -> None:
    """Raises Unavailable when a command fails."""
    try:
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Unavailable(f"cannot start {command[0]}: {error.strerror}") from None
    if ended.returncode:
        said = " ".join(ended.stderr.split())[-300:]
        raise Unavailable(
            f"`{' '.join(command)}` failed: {said or f'status {ended.returncode}'}: `journalctl -u {UNIT}` says more"
        )
