"""Files that machines load over HTTP, on a way that loses what is large."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.boot.wires import ROOT, Host, cable, hosts

# Arguments: the file, the seconds after which nothing of it is noticed.
SERVER = """
import sys
from pathlib import Path
from aiohttp import web
from tinkbox.boot.http.file_responses import Delivery
path, patience = Path(sys.argv[1]), float(sys.argv[2])
say = lambda word: print(word, flush=True)
async def kernel(request):
    return Delivery(path, "application/octet-stream", lambda: say("delivered"), stuck=lambda: say("stuck"), stuck_after=patience)
application = web.Application()
application.router.add_get("/vmlinuz", kernel)
web.run_app(application, host="172.30.0.1", port=80, print=lambda _: say("ready"))
"""


def fetch(machine: Host) -> "subprocess.Popen[str]":
    return machine.start("curl", "-s", "-o", "/dev/null", "--max-time", "120", "http://172.30.0.1/vmlinuz")


@pytest.mark.parametrize("large", ["gets there", "is lost"])
def test_a_machine_that_no_whole_packet_gets_to_is_noticed(tmp_path: Path, large: str) -> None:
    kernel = tmp_path / "vmlinuz"
    kernel.write_bytes(bytes(8 << 20))
    with hosts("large-ours", "large-machine") as (ours, machine):
        cable(ours, "eth1", machine, "eth1", "08:00:27:00:00:01")
        ours.ip("address add 172.30.0.1/24 dev eth1")
        machine.ip("address add 172.30.0.2/24 dev eth1")
        if large == "is lost":
            filter_of_large = ("-A", "INPUT", "-p", "tcp", "-m", "length", "--length", "1400:65535", "-j", "DROP")
            subprocess.run(["ip", "netns", "exec", machine.name, "iptables", *filter_of_large], check=True)
        serving = ours.start(
            sys.executable,
            "-c",
            SERVER,
            str(kernel),
            "1" if large == "is lost" else "60",
            stdout=subprocess.PIPE,
            cwd=ROOT,
        )
        assert serving.stdout is not None
        assert serving.stdout.readline() == "ready\n"
        fetch(machine)
        assert serving.stdout.readline() == ("stuck\n" if large == "is lost" else "delivered\n")
