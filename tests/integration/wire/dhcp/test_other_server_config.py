"""Other people's DHCP servers read the lines that they are to be given, and do what those say."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest

from examples.lab.network import BRIDGE, Network
from tests.machine.hosts import Host
from tinkbox.wire.dhcp.other_server_config import foreign_lines

ROOT = Path(__file__).parents[4]
PEERS = ROOT / "build" / "peers"
DHCPD = PEERS / "isc-dhcp-server" / "usr" / "sbin" / "dhcpd"
KEA = PEERS / "kea-dhcp4-server" / "usr" / "sbin" / "kea-dhcp4"
LINES = {each.server: each.lines for each in foreign_lines(IPv4Address("172.30.0.1"), "http://172.30.0.1")}
SCRIPT = "http://172.30.0.1/boot/${mac:hexhyp}/script.ipxe"
# Who asks: its vendor class, architecture and user class; what it is told: the file, from where, in which class.
TOLD = [
    (["PXEClient", 0, ""], ["undionly.kpxe", "172.30.0.1", ""]),
    (["PXEClient", 7, ""], ["snponly.efi", "172.30.0.1", ""]),
    (["PXEClient", 11, ""], ["ipxe-arm64.efi", "172.30.0.1", ""]),
    (["HTTPClient", 16, ""], ["http://172.30.0.1/boot/loaders/snponly.efi", "", "HTTPClient"]),
    (["PXEClient", 0, "iPXE"], [SCRIPT, "", ""]),
    (["PXEClient", 7, "iPXE"], [SCRIPT, "", ""]),
    (["an office PC", -1, ""], ["", "", ""]),
]
ASK = """
import json, select, sys, time
from dataclasses import replace
from tinkbox.boot.dhcp.other_servers import _broadcast, _listening, discover
from tinkbox.wire.dhcp.packets import MalformedPacket, MessageType, Option, decode
from tinkbox.wire.dhcp.udp_frames import decode as decode_frame

def ask(number, vendor, architecture, user_class):
    question = discover(number.to_bytes(9, "big"))
    options = {Option.MESSAGE_TYPE: b"\\1", 55: bytes((1, 3, 60, 66, 67))}
    options[Option.CLASS_ID] = f"{vendor}:Arch:{architecture:05}".encode() if architecture >= 0 else vendor.encode()
    if architecture >= 0:
        options[Option.CLIENT_SYSTEM] = architecture.to_bytes(2, "big")
    if user_class:
        options[Option.USER_CLASS] = user_class.encode()
    question = replace(question, options=options)
    with _listening(sys.argv[1]) as line:
        for _ in range(20):
            line.send(_broadcast(line.getsockname()[4], question))
            end = time.monotonic() + 1
            while select.select([line], [], [], max(0, end - time.monotonic()))[0]:
                frame = decode_frame(line.recv(4096))
                offer = decode(frame.payload) if frame else None
                if offer and offer.mac == question.mac and offer.message_type is MessageType.OFFER:
                    name = offer.options.get(Option.BOOTFILE_NAME, b"").rstrip(b"\\0").decode() or offer.file
                    kind = offer.options.get(Option.CLASS_ID, b"").decode()
                    return [name, str(offer.siaddr), kind if kind == "HTTPClient" else ""]

print(json.dumps([ask(number, *each) for number, each in enumerate(json.loads(sys.argv[2]), start=1)]))
"""


def dnsmasq(folder: Path) -> list[str]:
    (folder / "lines.conf").write_text("\n".join(LINES["dnsmasq"]) + "\n")
    given = ["--keep-in-foreground", "--port=0", "--pid-file=", "--user=root", "--leasefile-ro", "--no-ping"]
    where = ["--interface=eth0", "--bind-interfaces", "--dhcp-range=172.30.0.100,172.30.0.199,10m"]
    return ["dnsmasq", f"--conf-file={folder}/lines.conf", *given, *where]


def dhcpd(folder: Path) -> list[str]:
    subnet = "subnet 172.30.0.0 netmask 255.255.255.0 { range 172.30.0.100 172.30.0.199; }"
    (folder / "dhcpd.conf").write_text(
        "\n".join(["authoritative; ping-check false;", *LINES["ISC dhcpd"], subnet]) + "\n"
    )
    (folder / "leases").touch()
    return [str(DHCPD), "-4", "-f", "-cf", f"{folder}/dhcpd.conf", "-lf", f"{folder}/leases", "--no-pid", "eth0"]


def kea(folder: Path) -> list[str]:
    network = [{"id": 1, "subnet": "172.30.0.0/24", "pools": [{"pool": "172.30.0.100 - 172.30.0.199"}]}]
    rest = {
        "interfaces-config": {"interfaces": ["eth0"]},
        "lease-database": {"type": "memfile", "persist": False},
        "subnet4": network,
    }
    text = "\n".join(['{"Dhcp4": {', *LINES["Kea"], json.dumps(rest)[1:], "}"])
    (folder / "kea.conf").write_text(text)
    places = [f"{name}={folder}" for name in ("KEA_PIDFILE_DIR", "KEA_LOCKFILE_DIR")]
    return ["env", *places, str(KEA), "-c", f"{folder}/kea.conf"]


SERVERS: dict[str, Callable[[Path], list[str]]] = {"dnsmasq": dnsmasq, "ISC dhcpd": dhcpd, "Kea": kea}
TESTS = {"dnsmasq": ["--test"], "ISC dhcpd": ["-t"], "Kea": ["-t"]}


@pytest.mark.parametrize("name", SERVERS)
def test_the_server_reads_its_lines(name: str, tmp_path: Path) -> None:
    command = SERVERS[name](tmp_path)
    if name == "Kea":
        command[command.index("-c")] = "-t"
    else:
        command += TESTS[name]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60, env=dict(os.environ))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", SERVERS)
def test_the_server_tells_each_machine_what_we_would(name: str, tmp_path: Path) -> None:
    with Network() as network, Host(network, [(BRIDGE, "172.30.0.3")]) as host, (tmp_path / "log").open("wb") as log:
        host.start(*SERVERS[name](tmp_path), output=log)
        asked = json.dumps([who for who, _ in TOLD])
        command = ["env", f"PYTHONPATH={ROOT}", sys.executable, "-c", ASK, network.interface, asked]
        answers: list[Any] = json.loads(network.run(command, timeout=120))
        told = [
            answer and [answer[0], answer[1] if expected[1] else "", answer[2]]
            for answer, (_, expected) in zip(answers, TOLD, strict=True)
        ]
        assert told == [expected for _, expected in TOLD], (tmp_path / "log").read_text(errors="replace")[-2000:]
