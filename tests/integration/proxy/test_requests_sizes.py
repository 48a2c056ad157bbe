"""Bodies of any size pass in constant memory, both ways."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from examples.lab.processes import start, stop
from tests.bench.usage import peak_memory
from tests.integration.proxy.servers import nginx

SIZES = [512 * 2**20, pytest.param(4 * 2**30, marks=pytest.mark.campaign)]
MARGIN = 16  # megabytes that a proxy may grow by, whatever the size: buffers of a few connections
SECONDS = 120


def port_in(path: Path) -> int:
    deadline = time.monotonic() + SECONDS
    while not path.exists():
        assert time.monotonic() < deadline, f"{path.name}: nobody listens"
        subprocess.run(["sleep", "0.02"], check=True)
    return int(path.read_text())


@contextmanager
def program(name: str, *arguments: str | Path) -> Iterator["subprocess.Popen[bytes]"]:
    process = start([sys.executable, "-m", f"tests.integration.proxy.{name}", *map(str, arguments)])
    try:
        yield process
    finally:
        stop(process)


def curl(*arguments: str) -> str:
    command = ["curl", "--silent", "--show-error", "--fail", "--max-time", str(SECONDS), *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def sparse(path: Path, size: int) -> Path:
    with path.open("wb") as file:
        file.truncate(size)
    return path


@pytest.mark.parametrize("size", SIZES)
def test_a_download_takes_no_memory(tmp_path: Path, size: int) -> None:
    (tmp_path / "root").mkdir()
    sparse(tmp_path / "root" / "zeros", size)
    with ExitStack() as running:
        port = running.enter_context(nginx(tmp_path, tmp_path / "root"))
        proxy = running.enter_context(program("bare_door", tmp_path, "127.0.0.1", "0", "127.0.0.1", str(port)))
        url = f"http://127.0.0.1:{port_in(tmp_path / 'port')}/zeros"
        curl("--range", "0-99", url)
        before = peak_memory(proxy)
        told = curl("--output", "/dev/null", "--write-out", "%{size_download}", url)
        assert int(told) == size
        assert peak_memory(proxy) - before < MARGIN


@pytest.mark.parametrize("size", SIZES)
def test_an_upload_takes_no_memory(tmp_path: Path, size: int) -> None:
    zeros, small = sparse(tmp_path / "zeros", size), sparse(tmp_path / "small", 100)
    with ExitStack() as running:
        running.enter_context(program("sink", tmp_path, "127.0.0.1", "0"))
        port = port_in(tmp_path / "sink")
        proxy = running.enter_context(program("bare_door", tmp_path, "127.0.0.1", "0", "127.0.0.1", str(port)))
        url = f"http://127.0.0.1:{port_in(tmp_path / 'port')}/zeros"
        assert curl("--upload-file", str(small), url) == "100 bytes, 0 missing\n"
        before = peak_memory(proxy)
        assert curl("--upload-file", str(zeros), url) == f"{size} bytes, 0 missing\n"
        assert peak_memory(proxy) - before < MARGIN
