"""Where there is neither an engine nor /proc: a bare root with the tools and one program in it."""

import os
import shutil
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.integration.worker.machine import until
from tinkbox.model.breakpoint import Armed, Kind
from tinkbox.worker.files.helper_files import ENTRYPOINT, HelperFiles
from tinkbox.worker.files.toolbox import TOOLS, install

LISTENS = 0.1  # seconds after a container's beginning, in which every engine was seen to listen
PT_LOAD, PT_INTERP = 1, 3  # elf(5)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    install(tmp_path / "tinkbox")
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "null").touch()  # what a shell starts in the background reads from there, or does not start
    return tmp_path


@pytest.fixture
def files(root: Path) -> HelperFiles:
    files = HelperFiles(root, "tinkbox")
    files.prepare()
    return files


def inside(root: Path, *words: str) -> list[str]:
    """The command line to run one in the root, in a process namespace of its own."""
    return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "chroot", str(root), *words]


@pytest.fixture
def process(root: Path, files: HelperFiles) -> Iterator["subprocess.Popen[bytes]"]:
    files.set_command_line(["/tinkbox/bin/busybox", "sh", "-c", "exit 7"])
    files.set_policy(Armed(on_failure=True))
    process = subprocess.Popen(inside(root, ENTRYPOINT))
    yield process
    process.kill()
    process.wait()


def test_without_proc_a_command_runs_and_is_held(process: "subprocess.Popen[bytes]", files: HelperFiles) -> None:
    for run in (1, 2):
        until(lambda: files.status().held is Kind.FAILURE and files.status().run == run, "the hold")  # noqa: B023
        assert files.status().exited == 7
        if run == 1:
            files.command("retry")


def test_without_proc_there_is_a_shell_but_nothing_to_find_a_session_by(root: Path, files: HelperFiles) -> None:
    shell = inside(root, ENTRYPOINT, "shell", "s1")
    done = subprocess.run(shell, input=b"echo $TINKBOX_SHELL\n", capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"s1\n")
    done = subprocess.run(inside(root, ENTRYPOINT, "reap", "s1"), capture_output=True, check=False)
    assert (done.returncode, b"no /proc" in done.stderr) == (1, True)


def test_without_the_workers_files_nothing_runs(root: Path) -> None:
    done = subprocess.run(inside(root, ENTRYPOINT), capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (127, b"", b"")


def test_without_a_place_for_facts_the_command_still_runs(root: Path, files: HelperFiles) -> None:
    files.set_command_line(["/tinkbox/bin/busybox", "sh", "-c", "exit 7"])
    shutil.rmtree(files.run)
    assert subprocess.run(inside(root, ENTRYPOINT), check=False, timeout=60).returncode == 7


def seconds(root: Path, files: HelperFiles, script: str) -> float:
    """How long the helper lasts that runs this, with a /proc as a container has."""
    shutil.rmtree(files.run)
    files.prepare()
    files.set_command_line(["/tinkbox/bin/busybox", "sh", "-c", script])
    (root / "proc").mkdir(exist_ok=True)
    with_proc = ["sh", "-ec", 'mount -t proc proc "$0/proc"; exec chroot "$0" "$1"', str(root), ENTRYPOINT]
    began = time.monotonic()
    subprocess.run([*inside(root)[:5], *with_proc], capture_output=True, check=True, timeout=60)
    return time.monotonic() - began


PRINTS = {
    "an echo": "echo said",
    "an error": "echo said >&2",
    "a child": "/tinkbox/bin/busybox echo said",
    "a copy within the kernel": "/tinkbox/bin/busybox cat /tinkbox/control/argv",
    "somebody who is left": "(echo said; exec /tinkbox/bin/busybox sleep 60) & /tinkbox/bin/busybox usleep 20000",
}


@pytest.mark.parametrize("what", PRINTS)
def test_what_prints_lasts_until_an_engine_listens(root: Path, files: HelperFiles, what: str) -> None:
    for _ in range(5):
        assert seconds(root, files, PRINTS[what]) >= LISTENS


def test_what_prints_nothing_need_not_last(root: Path, files: HelperFiles) -> None:
    until(lambda: seconds(root, files, "exit 0") < LISTENS, "an end that comes at once")


LOST: dict[str, Callable[[Path], object]] = {
    "flooded": lambda path: path.write_text("x" * 100_000),
    "a folder": lambda path: path.mkdir(),
    "a pipe": lambda path: os.mkfifo(path),
    "another file": lambda path: path.symlink_to("/tinkbox/control/environ"),
}


@pytest.mark.parametrize("became", LOST)
def test_where_facts_were_lost_the_command_is_not_run_a_second_time(
    root: Path, files: HelperFiles, became: str
) -> None:
    files.set_command_line(["/tinkbox/bin/busybox", "sh", "-c", "exit 7"])
    (files.run / "status").unlink()
    LOST[became](files.run / "status")
    assert subprocess.run(inside(root, ENTRYPOINT), check=False, timeout=60).returncode == 137
    assert (root / "tinkbox" / "control" / "environ").read_bytes() == b""


def test_of_many_facts_the_last_count(root: Path, files: HelperFiles) -> None:
    (files.run / "status").write_text("exited 1 8\n" + "x" * 100_000 + "\nexited 1 9\n")
    assert subprocess.run(inside(root, ENTRYPOINT), check=False, timeout=60).returncode == 9


def test_the_helper_is_small_and_needs_no_library() -> None:
    content = (TOOLS / "entrypoint").read_bytes()
    assert len(content) < 1_000_000
    (start,), (size, count) = struct.unpack_from("<Q", content, 32), struct.unpack_from("<HH", content, 54)
    segments = {struct.unpack_from("<I", content, start + number * size)[0] for number in range(count)}
    assert PT_LOAD in segments
    assert PT_INTERP not in segments, "it names a dynamic linker"
