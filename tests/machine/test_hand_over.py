"""The scripts that have iPXE wait, and hand it over to what a workflow supplies, as the iPXE of Debian's QEMU takes them."""

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.machine.lone_ipxe import asked_alone

pytestmark = pytest.mark.machine
NAME = "0b4a67b2-6f0e-4a54-9a52-3f3dbd6a1c11.workflows.tinkbox.internal"
SERVE = """
import asyncio, json, sys
from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path
from aiohttp import web
from tests.machine.lone_ipxe import OWN, SCRIPT, asked
from tinkbox.boot.dns import NamesServer
from tinkbox.boot.network.sockets import bind_tcp, bind_udp
from tinkbox.model.boot import Boot, Plan
from tinkbox.model.hardware import Interface, MacAddress
from tinkbox.model.limits import NAME_CONNECTIONS, Ledger, Room
from tinkbox.wire.boot_scripts.ipxe import BootFiles, script
from tinkbox.wire.dns import Zone

work, name = sys.argv[1:]
files = BootFiles(script=SCRIPT, kernel="k", initramfs="i", credential=f"{OWN}/credential.cpio",
    server=OWN, failed=f"{OWN}/failed", dns="10.0.2.2", arguments=(f"tinkbox.server={OWN}", "console=ttyS0,115200"))
waiting = Plan(boot=Boot.WAITING, hardware_id="h", interface=Interface(mac=MacAddress("52:54:00:12:34:56")), reason="r")
ready = replace(waiting, boot=Boot.WORKFLOW, script=f"http://{name}/auto.ipxe?a=1&b=%20~x")
SAYS = '''#!ipxe
chain --replace told?dns=${dns}&upstream=${upstream-dns}&server=${tinkbox-server:uristring}\
&credential=${tinkbox-credential:uristring}&arguments=${tinkbox-arguments:uristring}&
'''
def answer(request, times):
    match request.path:
        case "/script.ipxe":
            return web.Response(text=script(waiting if times < 3 else ready, files, "1"))
        case "/failed":
            return web.Response(text="noted")
        case "/auto.ipxe":
            return web.Response(text=SAYS) if times > 1 else web.Response(status=503)
async def main():
    sockets = bind_udp(interface="", address="127.0.0.1", port=53), bind_tcp(address="127.0.0.1", port=53)
    names = NamesServer(*sockets, Zone("workflows.tinkbox.internal", IPv4Address("10.0.2.2")),
        Room(ledger=Ledger(NAME_CONNECTIONS, lambda: 0.0), known=bool), str)
    async with asyncio.TaskGroup() as group:
        answering = group.create_task(names.serve())
        found = await asked(Path(work), answer, "user,ipv4=on,ipv6=on")
        answering.cancel()
    print(json.dumps(found))
asyncio.run(main())
"""


# The server that QEMU's network announces is the first of this host: over IPv6, by the router, when it has such a one.
@pytest.mark.parametrize("upstream", ["9.9.9.9", "2620:fe::9"])
def test_ipxe_waits_for_a_service_and_finds_it_by_name_whatever_servers_the_network_has(
    tmp_path: Path, upstream: str
) -> None:
    configuration = tmp_path / "resolv.conf"
    configuration.write_text(f"nameserver {upstream}\n")
    asked = [(host, urlsplit(path)) for host, path in asked_alone(SERVE, tmp_path, NAME, servers=configuration)]
    assert [(host, path.path) for host, path in asked] == [
        *[("10.0.2.2", "/script.ipxe")] * 3,  # twice it is told to wait
        (NAME, "/auto.ipxe"),
        ("10.0.2.2", "/failed"),  # the service does not answer
        (NAME, "/auto.ipxe"),
        (NAME, "/told"),
    ]
    assert asked[3][1].query == "a=1&b=%20~x"
    assert asked[4][1].query.startswith("step=script&error=1d")  # EIO
    told = parse_qs(asked[-1][1].query)
    assert told == {
        "dns": ["10.0.2.2"],
        "upstream": ["10.0.2.3"],
        "server": ["http://10.0.2.2"],
        "credential": ["http://10.0.2.2/credential.cpio"],
        "arguments": ["tinkbox.server=http://10.0.2.2 console=ttyS0,115200"],
    }
