"""The scripts that have iPXE wait, and hand it over to what a workflow supplies, as the iPXE of Debian's QEMU takes them.

QEMU's own network gives the machine its address and its first script; what it asks at 10.0.2.2 comes to this host's
loopback, which is one of a network namespace of its own.
"""

import json
import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

pytestmark = pytest.mark.machine
ROOT = Path(__file__).parents[2]
NAME = "0b4a67b2-6f0e-4a54-9a52-3f3dbd6a1c11.workflows.tinkbox.internal"
SERVE = """
import asyncio, json, sys
from dataclasses import replace
from ipaddress import IPv4Address
from aiohttp import web
from tinkbox.boot.dns import NamesServer
from tinkbox.boot.network.sockets import bind_tcp, bind_udp
from tinkbox.model.boot import Boot, Plan
from tinkbox.model.hardware import Interface, MacAddress
from tinkbox.model.limits import NAME_CONNECTIONS, Ledger, Room
from tinkbox.wire.boot_scripts.ipxe import BootFiles, script
from tinkbox.wire.dns import Zone

work, name = sys.argv[1:]
own = "http://10.0.2.2/script.ipxe"
files = BootFiles(script=own, kernel="k", initramfs="i", credential="http://10.0.2.2/credential.cpio",
    server="http://10.0.2.2", dns="10.0.2.2", arguments=("tinkbox.server=http://10.0.2.2", "console=ttyS0,115200"))
waiting = Plan(boot=Boot.WAITING, hardware_id="h", interface=Interface(mac=MacAddress("52:54:00:12:34:56")), reason="r")
ready = replace(waiting, boot=Boot.WORKFLOW, script=f"http://{name}/auto.ipxe?a=1&b=%20~x")
SAYS = '''#!ipxe
chain --replace told?dns=${dns}&upstream=${upstream-dns}&server=${tinkbox-server:uristring}\
&credential=${tinkbox-credential:uristring}&arguments=${tinkbox-arguments:uristring}&
'''
asked = []
async def main():
    over = asyncio.Event()
    async def answer(request):
        asked.append((request.headers["Host"], request.raw_path))
        times = [path for _, path in asked].count(request.raw_path)
        match request.path:
            case "/script.ipxe":
                return web.Response(text=script(waiting if times < 3 else ready, files, "1"))
            case "/auto.ipxe":
                return web.Response(text=SAYS) if times > 1 else web.Response(status=503)
        over.set()
        return web.Response(text="#!ipxe\\nsleep 1000\\n")
    application = web.Application()
    application.add_routes([web.get("/{path:.*}", answer)])
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 80).start()
    sockets = bind_udp(interface="", address="127.0.0.1", port=53), bind_tcp(address="127.0.0.1", port=53)
    names = NamesServer(*sockets, Zone("workflows.tinkbox.internal", IPv4Address("10.0.2.2")),
        Room(ledger=Ledger(NAME_CONNECTIONS, lambda: 0.0), known=bool), str)
    open(f"{work}/first.ipxe", "w").write(f"#!ipxe\\nchain --replace --autofree {own}\\n")
    machine = await asyncio.create_subprocess_exec("qemu-system-x86_64", "-accel", "tcg", "-m", "256", "-display", "none",
        "-netdev", f"user,id=n,ipv4=on,ipv6=on,tftp={work},bootfile=first.ipxe", "-device", "virtio-net-pci,netdev=n")
    async with asyncio.TaskGroup() as group:
        answering = group.create_task(names.serve())
        try:
            async with asyncio.timeout(480):
                await over.wait()
        except TimeoutError:
            pass
        machine.kill()
        await machine.wait()
        answering.cancel()
    print(json.dumps(asked))
asyncio.run(main())
"""
# The server that QEMU's network announces is the first of this host: over IPv6, by the router, when it has such a one.
ALONE = 'mount --bind "$1" /etc/resolv.conf && ip link set lo up && shift && exec "$@"'


@pytest.mark.parametrize("upstream", ["9.9.9.9", "2620:fe::9"])
def test_ipxe_waits_for_a_service_and_finds_it_by_name_whatever_servers_the_network_has(
    tmp_path: Path, upstream: str
) -> None:
    configuration = tmp_path / "resolv.conf"
    configuration.write_text(f"nameserver {upstream}\n")
    command = [
        "unshare",
        "--net",
        "--mount",
        "sh",
        "-c",
        ALONE,
        "alone",
        str(configuration),
        sys.executable,
        "-c",
        SERVE,
    ]
    done = subprocess.run(
        [*command, str(tmp_path), NAME], cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True, timeout=540
    )
    asked = [(host, urlsplit(path)) for host, path in json.loads(done.stdout)]
    assert [(host, path.path) for host, path in asked] == [
        *[("10.0.2.2", "/script.ipxe")] * 3,  # twice it is told to wait
        *[(NAME, "/auto.ipxe")] * 2,  # and once more when the service does not answer
        (NAME, "/told"),
    ]
    assert asked[3][1].query == "a=1&b=%20~x"
    told = parse_qs(asked[-1][1].query)
    assert told == {
        "dns": ["10.0.2.2"],
        "upstream": ["10.0.2.3"],
        "server": ["http://10.0.2.2"],
        "credential": ["http://10.0.2.2/credential.cpio"],
        "arguments": ["tinkbox.server=http://10.0.2.2 console=ttyS0,115200"],
    }
