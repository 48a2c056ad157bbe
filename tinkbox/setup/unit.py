"""The systemd unit: its files, and the commands that make it run."""

import subprocess
from collections.abc import Callable, Sequence

from tinkbox.model.errors import Unavailable
from tinkbox.setup.placing import PLACES, packed, put

UNIT = "tinkbox.service"
Run = Callable[[Sequence[str]], None]


def install(run: Run) -> list[str]:
    """Put its files where systemd reads them; returns the paths of those that changed."""
    changed = [name for name, path in PLACES.items() if put(path, packed(name))]
    if "sysusers.conf" in changed:
        run(["systemd-sysusers"])
    if "sysctl.conf" in changed:
        run(["sysctl", "--quiet", "--load", str(PLACES["sysctl.conf"])])
    if UNIT in changed:
        run(["systemctl", "daemon-reload"])
    return [str(PLACES[name]) for name in changed]


def start(run: Run, *, anew: bool) -> None:
    """Have it run now and after each boot of the host; `anew` when what it runs or reads has changed."""
    run(["systemctl", "--quiet", "enable", UNIT])
    run(["systemctl", "restart" if anew else "start", UNIT])


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
