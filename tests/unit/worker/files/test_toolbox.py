import os
from pathlib import Path

import pytest

from tinkbox.model.errors import Unavailable
from tinkbox.worker.files.toolbox import DEBUG_COMMANDS, TOOLS, install


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "entrypoint").write_bytes(b"the helper")
    (folder / "busybox").write_bytes(b"busybox")
    (folder / "applets").write_text("[\nls\nsh\n")
    return folder


def test_the_tools_are_laid_out_as_containers_see_them(tmp_path: Path, source: Path) -> None:
    folder = install(tmp_path / "worker" / "tools", source)
    assert folder == tmp_path / "worker" / "tools"
    assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*")) == [
        "bin",
        "bin/busybox",
        "bin/entrypoint",
        "busybox",
        "busybox/[",
        "busybox/ls",
        "busybox/sh",
        "ca.crt",
        "control",
        "debug",
        "debug/info",
        "debug/scripts",
        *sorted(f"debug/scripts/{name}" for name in DEBUG_COMMANDS),
        "run",
    ]
    for path, content in {
        "bin/entrypoint": b"the helper",
        "bin/busybox": b"busybox",
        "busybox/[": b"busybox",
    }.items():
        assert (folder / path).read_bytes() == content
    assert (folder / "debug" / "info").readlink() == Path("../control/info")
    assert (folder / "debug" / "scripts" / "debug-retry").readlink() == Path("/tinkbox/bin/entrypoint")


def test_any_user_may_run_them(tmp_path: Path, source: Path) -> None:
    (source / "entrypoint").chmod(0o600)
    old = os.umask(0o077)
    try:
        folder = install(tmp_path / "tools", source)
    finally:
        os.umask(old)
    for path in (folder, *(each for each in folder.rglob("*") if not each.is_symlink())):
        # Nobody runs certificates.
        assert path.stat().st_mode & 0o777 == (0o644 if path.name == "ca.crt" else 0o755), path


def test_what_is_the_same_is_left_alone(tmp_path: Path, source: Path) -> None:
    folder = install(tmp_path / "tools", source)

    def identities() -> set[tuple[str, int, int]]:
        found = [(path, path.lstat()) for path in folder.rglob("*")]
        return {(str(path), status.st_ino, status.st_mtime_ns) for path, status in found}

    before = identities()
    install(folder, source)
    assert identities() == before


def test_a_new_version_takes_the_place_of_one_that_runs(tmp_path: Path, source: Path) -> None:
    folder = install(tmp_path / "tools", source)
    with (folder / "bin" / "entrypoint").open("rb") as running:
        (source / "entrypoint").write_bytes(b"a newer helper")
        install(folder, source)
        assert running.read() == b"the helper"
    assert (folder / "bin" / "entrypoint").read_bytes() == b"a newer helper"
    assert (folder / "bin" / "entrypoint").stat().st_mode & 0o777 == 0o755


def test_what_was_damaged_is_repaired(tmp_path: Path, source: Path) -> None:
    folder = install(tmp_path / "tools", source)
    (folder / "bin" / "busybox").chmod(0o644)
    (folder / "bin" / "busybox.new").write_bytes(b"half a bu")
    for path in ("busybox/ls", "debug/info"):
        (folder / path).unlink()
        (folder / path).symlink_to("nowhere")
        (folder / f"{path}.new").symlink_to("nowhere")
    install(folder, source)
    assert (folder / "bin" / "busybox").stat().st_mode & 0o777 == 0o755
    assert (folder / "busybox" / "ls").read_bytes() == b"busybox"
    assert (folder / "debug" / "info").readlink() == Path("../control/info")
    assert not list(folder.rglob("*.new"))


@pytest.mark.parametrize("name", ["entrypoint", "busybox", "applets"])
def test_a_missing_tool_says_how_to_get_it(tmp_path: Path, source: Path, name: str) -> None:
    (source / name).unlink()
    with pytest.raises(Unavailable, match=rf"{name}\): run `make helper`"):
        install(tmp_path / "tools", source)
    assert not (tmp_path / "tools").exists()


def test_the_programs_own_tools_can_be_installed(tmp_path: Path) -> None:
    folder = install(tmp_path / "tools")
    assert (folder / "bin" / "entrypoint").read_bytes()[:4] == b"\x7fELF"
    assert {"sh", "vi", "ps"} <= {path.name for path in (folder / "busybox").iterdir()}
    assert "GPL" in (TOOLS / "LICENCE.busybox").read_text()
