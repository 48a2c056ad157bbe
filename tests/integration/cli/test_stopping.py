"""An appliance that is told to stop while people look on."""

import re
import socket
import subprocess
from contextlib import ExitStack
from pathlib import Path

from tests.integration.cli.serving import ROOT, Configuration, clean_environment, give_osie
from tests.integration.cli.shell_lab import ShellLab
from tinkbox.app import GRACE_SECONDS

UNIT = (ROOT / "systemd" / "tinkbox.service").read_text()
SIZE = 64 << 20  # more than the kernel holds for a client that does not read


def asks(stack: ExitStack, configuration: Configuration, request: str, port: int = 0) -> socket.socket:
    """A client that asked, and reads no further than the beginning of its answer."""
    if port:
        client = socket.create_connection(("127.0.0.1", port))
    else:
        client = socket.socket(socket.AF_UNIX)
        client.connect(str(configuration.data / "operator.sock"))
    stack.enter_context(client)
    client.sendall(f"{request} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    assert client.recv(16).startswith(b"HTTP/1.1 200")
    return client


def test_watchers_shells_and_stalled_clients_do_not_keep_the_appliance(tmp_path: Path) -> None:
    with ShellLab(tmp_path) as lab, ExitStack() as stack:
        configuration = lab.configuration
        give_osie(configuration.data)
        (configuration.data / "osie" / "x86_64" / "vmlinuz").write_bytes(bytes(SIZE))
        asks(stack, configuration, "GET /v1/events")
        asks(stack, configuration, f"GET /v1/workflows/{lab.workflow}/logs?follow=1")
        asks(stack, configuration, "GET /v1/status")
        asks(stack, configuration, "GET /boot/osie/x86_64/vmlinuz", port=configuration.http_port)
        half = asks(stack, configuration, "GET /healthz")
        half.sendall(b"POST /v1/hardware HTTP/1.1\r\nHost: x\r\nContent-Length: 10000\r\n\r\n{")
        shell = stack.enter_context(
            subprocess.Popen(
                lab.stream("sh", "-c", "echo here; cat"), cwd=ROOT, env=clean_environment(),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            )
        )  # fmt: skip
        stack.callback(shell.kill)
        assert shell.stdout is not None
        assert shell.stdout.readline() == b"here\n"
        lab.appliance.terminate()
        # So long systemd waits before it kills; aiohttp waits twice for requests that do not end.
        (patience,) = re.findall(r"^TimeoutStopSec=(\d+)$", UNIT, re.MULTILINE)
        assert lab.appliance.wait(int(patience)) == 0
        assert 2 * GRACE_SECONDS < 3 < int(patience)
        assert not [line for line in (tmp_path / "stderr").read_text().splitlines() if "Traceback" in line]
