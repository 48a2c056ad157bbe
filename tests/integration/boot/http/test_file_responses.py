"""Files that machines load over HTTP, on a way that loses what is large."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.integration.boot.wires import ROOT, Host, cable, hosts
from tinkbox.boot.http.file_responses import PIECE

# Arguments: the file, the seconds after which nothing of it is noticed, the word for what moves.
SERVER = """
import sys
from pathlib import Path
from aiohttp import web
from tinkbox.boot.http.download_watch import Listeners
from tinkbox.boot.http.file_responses import Delivery
path, patience, moves = Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
say = lambda word: print(word, flush=True)
async def kernel(request):
    told = Listeners(moves=lambda: moves and say(moves), stuck=lambda: say("stuck"), trouble=lambda told: say(told.what.name), look_every=patience)
    return Delivery(path, "application/octet-stream", lambda: say("delivered"), told)
application = web.Application()
application.router.add_get("/vmlinuz", kernel)
web.run_app(application, host="172.30.0.1", port=80, print=lambda _: say("ready"))
"""


def fetch(machine: Host) -> "subprocess.Popen[str]":
    return machine.start("curl", "-s", "-o", "/dev/null", "--max-time", "120", "http://172.30.0.1/vmlinuz")


# What is on the way between the two, after how many seconds it is looked whether something is taken, whether moves are told, and the
# first word.
WAYS: Mapping[str, tuple[str, str, str, str]] = {
    "a free way": ("true", "60", "", "delivered"),
    "a way that loses what is large": (
        "iptables -A INPUT -p tcp -m length --length 1400:65535 -j DROP", "1", "", "stuck",
    ),
    "a slow way": ("tc qdisc add dev eth1 root tbf rate 2mbit burst 8kb latency 5s", "1", "moves", "moves"),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_how_a_file_gets_to_a_machine_is_noticed(tmp_path: Path, way: str) -> None:
    hurdle, patience, moves, word = WAYS[way]
    kernel = tmp_path / "vmlinuz"
    kernel.write_bytes(bytes(PIECE))
    with hosts("large-ours", "large-machine") as (ours, machine):
        cable(ours, "eth1", machine, "eth1", "08:00:27:00:00:01")
        ours.ip("address add 172.30.0.1/24 dev eth1")
        machine.ip("address add 172.30.0.2/24 dev eth1")
        hindered = ours if hurdle.startswith("tc ") else machine
        subprocess.run(hindered.command(*hurdle.split()), check=True)
        words = [sys.executable, "-c", SERVER, str(kernel), patience, moves]
        serving = ours.start(*words, stdout=subprocess.PIPE, cwd=ROOT)
        assert serving.stdout is not None
        assert serving.stdout.readline() == "ready\n"
        fetch(machine)
        assert serving.stdout.readline() == f"{word}\n"
