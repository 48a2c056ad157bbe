"""What has keys and secrets in its memory leaves no core file."""

import subprocess
from pathlib import Path

from tests.integration.cli.serving import PROGRAM, ROOT, clean_environment, configure, own_ports, serving
from tinkbox.wire.messages.worker import Credential, encode

# As a host does on which programs leave core files.
LIMITED = ["prlimit", "--core=1000000:1000000"]


def core_limits(pid: int) -> list[str]:
    """The soft and the hard limit of the size of a process's core file (proc(5))."""
    lines = Path(f"/proc/{pid}/limits").read_text().splitlines()
    (found,) = (each for each in lines if each.startswith("Max core file size"))
    return found.split()[4:6]


def test_an_appliance_leaves_no_core_file(tmp_path: Path) -> None:
    with serving(configure(tmp_path), [*LIMITED, *PROGRAM]) as process:
        assert core_limits(process.pid) == ["0", "0"]


def test_a_worker_leaves_no_core_file(tmp_path: Path) -> None:
    (port,) = own_ports(1)
    file = tmp_path / "worker.json"
    file.write_text(encode(Credential(server=f"http://127.0.0.1:{port}", registry="", worker="w", token="t")))
    command = [*LIMITED, *PROGRAM, "--worker", "--credential", str(file), "--data", str(tmp_path / "worker")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, cwd=ROOT, env=clean_environment()) as process:
        try:
            assert process.stderr is not None
            assert process.stderr.readline(), "it says that the appliance does not answer"
            assert core_limits(process.pid) == ["0", "0"]
        finally:
            process.kill()
