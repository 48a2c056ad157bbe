"""`tinkbox serve` as a process of its own, and the commands that speak to it."""

import io
import os
import re
import socket
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from typing import Final

from tests.processes import MOST, which
from tinkbox import __version__
from tinkbox.cli import main
from tinkbox.osie.image import FILES, OsieImage, describe, write

ROOT = Path(__file__).parents[3]
PROGRAM = [sys.executable, "-m", "tinkbox"]
DEADLINE = 60.0
_WAITING: Final = re.compile(
    r".*: the appliance works, \d+ s\n|tinkbox: the appliance at .* for 10 s: it may be busy.*\n"
)


@dataclass(frozen=True)
class Ended:
    """How a command ended; `err` is without the lines that only a slow host is told, of how long the appliance works."""

    status: int
    out: str
    err: str


def run(*arguments: str, stdin: bytes = b"", environment: Mapping[str, str] | None = None) -> Ended:
    """Run tinkbox to its end."""
    ended = subprocess.run(
        [*PROGRAM, *arguments],
        input=stdin,
        capture_output=True,
        cwd=ROOT,
        env={**clean_environment(), **(environment or {})},
        timeout=DEADLINE,
        check=False,
    )
    return Ended(ended.returncode, ended.stdout.decode(), _WAITING.sub("", ended.stderr.decode()))


def run_here(*arguments: str, stdin: bytes = b"") -> Ended:
    """The same within this process, which is much quicker."""
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(stdin))
    try:
        with redirect_stdout(out), redirect_stderr(err):
            status = main(arguments)
    finally:
        sys.stdin = before
    out.flush()
    return Ended(status, out.buffer.getvalue().decode(), _WAITING.sub("", err.getvalue()))


def clean_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("TINKBOX_")}


@dataclass(frozen=True)
class Configuration:
    """An appliance on loopback: `path` is its file, `data` its directory."""

    path: Path
    data: Path
    operator_port: int
    http_port: int
    https_port: int
    tftp_port: int

    @property
    def authority(self) -> Path:
        """The file with the certificate of its authority, once it was started."""
        return self.data / "tls" / "authority.pem"

    def trusting(self) -> ssl.SSLContext:
        """What trusts this appliance and nobody else, once it was started."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(self.authority)
        return context

    def asked(self, path: str) -> bytes:
        """What its operator door answers over TCP."""
        token = (self.data / "operator.token").read_text().strip()
        url = f"https://127.0.0.1:{self.operator_port}{path}"
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request, timeout=30, context=self.trusting()) as answer:
            return bytes(answer.read())


# Below the ports that the kernel hands out by itself, elsewhere for every test run, and others for each of its processes.
_ports = count(10_000 + os.getpgrp() * 5 % 1_500 * MOST + which(), MOST)


def _is_free(port: int) -> bool:
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        with socket.socket(socket.AF_INET, kind) as tried:
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                return False
    return True


def own_ports(number: int) -> list[int]:
    """Ports of loopback that are free, and stay so: whoever is off for a moment finds his own when he comes back."""
    return list(islice(filter(_is_free, _ports), number))


def configure(folder: Path) -> Configuration:
    """Write a configuration with ports of its own."""
    operator_port, http_port, https_port, tftp_port, dns_port = own_ports(5)
    path, data = folder / "tinkbox.yaml", folder / "data"
    path.write_text(
        f"data: {data}\n"
        "interface: lo\n"
        "address: 127.0.0.1\n"
        f'operator: {{listen: "127.0.0.1:{operator_port}", group: off}}\n'
        f"node: {{http_port: {http_port}, https_port: {https_port}, tftp_port: {tftp_port}, dns_port: {dns_port}, syslog_port: 0}}\n"
        "dhcp: {mode: off}\n"
        "docker: unix:///nowhere\n"
        "metadata: {ports: []}\n"
    )
    return Configuration(path, data, operator_port, http_port, https_port, tftp_port)


def give_osie(data: Path) -> None:
    """Put an OSIE in a data folder, of which a check sees that it is there."""
    data.mkdir(mode=0o700, exist_ok=True)
    folder = data / "osie" / "x86_64"
    folder.mkdir(parents=True)
    files = {}
    for name in FILES:
        (folder / name).write_text(name)
        files[name] = describe(folder / name)
    write(
        OsieImage(architecture="x86_64", version=__version__, kernel="6.12", files=files, packages={}, https=True),
        folder,
    )


@contextmanager
def serving(
    configuration: Configuration, program: Sequence[str] = PROGRAM, environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """An appliance that has said what it serves where; it must end with status 0 when it is told to."""
    errors = configuration.data.parent / "stderr"
    with (
        errors.open("w") as stderr,
        subprocess.Popen(
            [*program, "serve", "--config", str(configuration.path)],
            stdout=subprocess.PIPE,
            stderr=stderr,
            cwd=ROOT,
            env={**clean_environment(), **(environment or {})},
            text=True,
        ) as process,
    ):
        try:
            # It listens on everything before it prints this, so nobody has to wait any more.
            assert process.stdout is not None
            assert any(line.startswith("└─") for line in process.stdout), errors.read_text()
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
            try:
                process.wait(DEADLINE)
            except subprocess.TimeoutExpired:
                process.kill()
    assert process.returncode in (0, -9), errors.read_text()
