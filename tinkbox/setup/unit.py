"""The systemd unit: its files, and the commands that make it run."""

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from tinkbox.installed_unit import FOLDERS, UNIT, is_hidden, opening
from tinkbox.model.errors import Unavailable
from tinkbox.serving_unit import given_by_init, serving_unit
from tinkbox.setup.placing import PLACES, packed, put

PATIENCE_SECONDS = 10.0
# Left where init was stopped between a change and the restart that it needs; a boot of the host removes it.
RESTART_IS_DUE = Path("/run/tinkbox-restart-is-due")
_WRITTEN_BY = "# Written by `tinkbox init`: the folders that tinkbox.yaml names, and that the unit may write to."
_SYSCTL = "/usr/lib/systemd/systemd-sysctl"  # of systemd, unlike sysctl(8)
_OF_ONE: Final = 0o700  # as StateDirectoryMode= of the unit
Run = Callable[[Sequence[str]], None]


def install(run: Run, data: Path, folders: Sequence[Path]) -> list[str]:
    """Put its files where systemd reads them, and have them read; returns the paths of those that changed.

    It may write to these `folders` then, which the appliance that serves `data` writes to.  The files are read each time:
    somebody may have stopped us between the two.  Raises Unavailable, also for folders that the unit does not see.
    """
    changed = [str(path) for name, path in PLACES.items() if put(path, packed(name))]
    changed += open_folders(data, folders)
    run(["systemd-sysusers", str(PLACES["sysusers.conf"])])
    run([_SYSCTL, str(PLACES["sysctl.conf"])])
    run(["systemctl", "daemon-reload"])
    return changed


def open_folders(data: Path, folders: Sequence[Path]) -> list[str]:
    """Let the unit write to folders; returns the drop-in where that had to be changed.  What it says already stays."""
    unit = serving_unit(data)
    if unit is None:
        return []
    if hidden := unit.hidden(folders):
        raise Unavailable(is_hidden(hidden))
    closed = unit.closed(folders)
    if not closed:
        return []
    try:
        before = FOLDERS.read_text() if FOLDERS.exists() else f"{_WRITTEN_BY}\n"
    except (OSError, UnicodeDecodeError) as error:
        raise Unavailable(f"cannot read {FOLDERS}: {error}") from None
    put(FOLDERS, "\n".join([before.rstrip("\n"), *opening(closed), ""]).encode())
    return [str(FOLDERS)]


def give_folder(data: Path) -> None:
    """Give the data folder to the user of the unit that serves it, as systemd gives that of `StateDirectory=`.  Raises Unavailable.

    One that has something in it stays as it is.
    """
    unit = serving_unit(data)
    if unit is None or unit.user is None or not given_by_init(data, unit):
        return
    user = unit.user
    try:
        there = os.open(data, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fchown(there, user.pw_uid, user.pw_gid)
            os.fchmod(there, _OF_ONE)
        finally:
            os.close(there)
    except OSError as error:
        raise Unavailable(
            f"cannot give the data folder {data} to {user.pw_name}, as which {UNIT} runs: {error.strerror}: name another with --data"
        ) from None


def start(run: Run) -> None:
    """Have it run now and after each boot of the host, with what it runs and reads as it is now.

    `start` would join an attempt that began before the cause of the last failure was removed, and fail with it.
    """
    run(["systemctl", "--quiet", "enable", UNIT])
    run(["systemctl", "restart", UNIT])


def run(command: Sequence[str], slow: Callable[[], None] = lambda: None, patience: float = PATIENCE_SECONDS) -> None:
    """Run a command to its end, and call `slow` once when it takes longer than `patience`, in seconds.

    Raises Unavailable when it fails.
    """
    try:
        running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    except OSError as error:
        raise Unavailable(f"cannot start {command[0]}: {error.strerror}") from None
    with running:
        try:
            try:
                _, errors = running.communicate(timeout=patience)
            except subprocess.TimeoutExpired:
                slow()
                _, errors = running.communicate()
        except BaseException:
            running.kill()
            raise
    if running.returncode:
        said = " ".join(errors.split())[-300:]
        raise Unavailable(
            f"`{' '.join(command)}` failed: {said or f'status {running.returncode}'}: `journalctl -u {UNIT}` says more"
        )


def jobs() -> list[str]:
    """The other units that systemd starts now, which the start of ours may wait for; none where that cannot be asked."""
    try:
        told = subprocess.run(
            ["systemctl", "list-jobs", "--plain", "--no-legend", "--no-pager"],
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return jobs_in(told.stdout)


def jobs_in(listed: str) -> list[str]:
    """Those that run, of the rows NUMBER UNIT TYPE STATE of systemctl."""
    rows = [line.split() for line in listed.splitlines()]
    return [row[1] for row in rows if len(row) == 4 and row[3] == "running" and row[1] != UNIT]
