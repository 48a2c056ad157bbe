"""The tools that travel inside the program, for containers: the helper, and busybox with its licence."""

from contextlib import suppress
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

from tinkbox.model.errors import Unavailable
from tinkbox.runtime.authority_file import NAME

TOOLS: Final = resources.files("tinkbox.worker") / "tools"
SCRIPTS = "debug/scripts"
DEBUG_COMMANDS = (
    "debug-continue",
    "debug-continue-failure",
    "debug-breakpointexit",
    "debug-retry",
    "debug-skip",
    "debug-abort",
    "debug-info",
)


def install(folder: Path, source: Traversable = TOOLS) -> Path:
    """Lay the tools out as containers see them below /tinkbox; returns the folder.

    Containers may be running what is there: a file that is the same is left alone, another takes its place at
    once.  Raises Unavailable when the tools were not built, OSError when they cannot be written.
    """
    try:
        programs = {name: (source / name).read_bytes() for name in ("entrypoint", "busybox")}
        applets = (source / "applets").read_text().split()
    except OSError as error:
        raise Unavailable(f"a tool is missing ({error.filename}): run `make helper` in the checkout") from None
    for name in ("bin", "busybox", SCRIPTS, "control", "run"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for place in (folder, *(each for each in folder.rglob("*") if each.is_dir() and not each.is_symlink())):
        place.chmod(0o755)  # images run as any user
    # All of it is read-only in a container: what is mounted within has to be there.
    authority = folder / NAME
    if not authority.exists():
        authority.touch()
        authority.chmod(0o644)
    for name, content in programs.items():
        _write(folder / "bin" / name, content)
    for name in applets:
        _link(folder / "busybox" / name, "../bin/busybox")
    for name in DEBUG_COMMANDS:
        _link(folder / SCRIPTS / name, "/tinkbox/bin/entrypoint")  # from wherever it is seen
    _link(folder / "debug" / "info", "../control/info")
    return folder


def _write(path: Path, content: bytes) -> None:
    if path.is_file() and path.read_bytes() == content and path.stat().st_mode & 0o777 == 0o755:
        return
    fresh = path.with_suffix(".new")
    fresh.write_bytes(content)
    fresh.chmod(0o755)
    fresh.replace(path)


def _link(path: Path, target: str) -> None:
    with suppress(OSError):
        if str(path.readlink()) == target:
            return
    fresh = path.with_name(f"{path.name}.new")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(target)
    fresh.replace(path)
