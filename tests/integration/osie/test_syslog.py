"""What the OSIE tells the appliance by syslog, by its own script under busybox, in a file tree of its own."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.integration.cli.serving import own_ports
from tests.integration.worker.machine import until
from tinkbox.wire.syslog import MAX_DATAGRAM, parse

# The kernel's words belong to this host: here somebody else speaks for it.
KLOGD = '#!/bin/sh\nlogger -t kernel -p kern.info "Linux version 6.1"\nexec sleep 60\n'


@pytest.fixture
def osie(osie: Path) -> Path:
    """With a kernel log of its own."""
    (osie / "dev" / "null").touch()
    (osie / "bin" / "klogd").unlink()
    (osie / "bin" / "klogd").write_text(KLOGD)
    (osie / "bin" / "klogd").chmod(0o755)
    (osie / "run" / "osie" / "log").write_text("[0.51] tinkbox OSIE 1: runs in memory\n")
    return osie


@contextmanager
def appliance() -> Iterator[socket.socket]:
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as heard:
        heard.bind(("127.0.0.1", 0))
        heard.settimeout(60)
        yield heard


@contextmanager
def running(root: Path, command_line: str) -> Iterator[subprocess.Popen[bytes]]:
    (root / "proc" / "cmdline").write_text(f"quiet {command_line} console=ttyS0\n")
    command = ["chroot", str(root), "/bin/sh", "/osie/syslog"]
    process = subprocess.Popen(command, env={"PATH": os.environ["PATH"]}, start_new_session=True)
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(60)


def next_of(heard: socket.socket) -> tuple[str, str]:
    (message,) = parse(heard.recv(MAX_DATAGRAM))
    return message.program, message.text


def test_what_was_said_before_there_was_a_network_is_told_then_and_what_is_said_later_as_well(osie: Path) -> None:
    with appliance() as heard, running(osie, f"tinkbox.syslog=127.0.0.1:{heard.getsockname()[1]}"):
        heard.settimeout(1)
        with pytest.raises(TimeoutError):
            heard.recv(1)
        heard.settimeout(60)
        (osie / "run" / "osie" / "online").touch()
        assert {next_of(heard), next_of(heard)} == {
            ("osie", "[0.51] tinkbox OSIE 1: runs in memory"),
            ("kernel", "Linux version 6.1"),
        }
        log = osie / "run" / "osie" / "log"
        with log.open("a") as more:
            more.write("[9.0] starting the worker\n")
        assert next_of(heard) == ("osie", "[9.0] starting the worker")
        log.rename(log.with_suffix(".old"))
        log.write_text("[10.0] a new log\n")
        assert next_of(heard) == ("osie", "[10.0] a new log")


def test_an_appliance_that_is_away_for_a_while_is_told_again_when_it_is_back(osie: Path) -> None:
    (port,) = own_ports(1)
    (osie / "run" / "osie" / "online").touch()
    log = osie / "run" / "osie" / "log"
    with running(osie, f"tinkbox.syslog=127.0.0.1:{port}"), closing(socket.socket(type=socket.SOCK_DGRAM)) as heard:
        heard.settimeout(2)
        texts: set[str] = set()
        for second in range(20):
            if second == 1:
                heard.bind(("127.0.0.1", port))
            with log.open("a") as more:
                more.write(f"[{second}.0] still here\n")
            try:
                texts.add(next_of(heard)[1])
            except TimeoutError:
                continue
            if any("still here" in text for text in texts):
                return
    pytest.fail(f"nothing was heard but {texts}")


def test_without_a_receiver_nothing_is_started(osie: Path) -> None:
    (osie / "run" / "osie" / "online").touch()
    with running(osie, "tinkbox.server=http://172.30.0.1") as process:
        # That is how it ends: there is nothing to do any more.
        until(lambda: Path(f"/proc/{process.pid}/cmdline").read_bytes().startswith(b"sleep\0"), "it to sleep")
        assert not (osie / "dev" / "log").exists()
