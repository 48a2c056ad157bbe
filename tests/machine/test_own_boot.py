"""The scripts of a hardware document, by its URL and by its text, as the iPXE of Debian's QEMU takes them.

QEMU's own network gives the machine its address and its first script, as in `test_hand_over`.
"""

import json
import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

pytestmark = [pytest.mark.machine, pytest.mark.campaign]
ROOT = Path(__file__).parents[2]
WORDS = ("memmap=4G!12G", 'dyndbg="file*"', "ip=[fe80::1]", "a;b", "~x^y")
SERVE = """
import asyncio, json, sys
from aiohttp import web
from tinkbox.model.boot import Boot, Plan
from tinkbox.model.hardware import Interface, MacAddress
from tinkbox.model.netboot import Netboot
from tinkbox.wire.boot_scripts.ipxe import BootFiles, script

work, *words = sys.argv[1:]
own = "http://10.0.2.2"
files = BootFiles(script=f"{own}/script.ipxe", kernel="k", initramfs="i", credential=f"{own}/credential.cpio",
    server=own, arguments=("tinkbox.server=http://10.0.2.2", *words))
SAYS = "chain --replace http://10.0.2.2/said?server=${tinkbox-server:uristring}&arguments=${tinkbox-arguments:uristring}&\\n"
def told(netboot):
    interface = Interface(mac=MacAddress("52:54:00:12:34:56"), netboot=netboot)
    return web.Response(text=script(Plan(boot=Boot.OWN_SCRIPT, hardware_id="h", interface=interface), files, "1"))
asked = []
async def main():
    over = asyncio.Event()
    async def answer(request):
        asked.append(request.raw_path)
        match request.path:
            case "/script.ipxe":
                return told(Netboot(script_url=f"{own}/their.ipxe"))
            case "/their.ipxe":
                return told(Netboot(script=SAYS)) if asked.count(request.raw_path) > 1 else web.Response(status=503)
        over.set()
        return web.Response(text="#!ipxe\\nsleep 1000\\n")
    application = web.Application()
    application.add_routes([web.get("/{path:.*}", answer)])
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 80).start()
    open(f"{work}/first.ipxe", "w").write(f"#!ipxe\\nchain --replace --autofree {own}/script.ipxe\\n")
    machine = await asyncio.create_subprocess_exec("qemu-system-x86_64", "-accel", "tcg", "-m", "256", "-display", "none",
        "-netdev", f"user,id=n,tftp={work},bootfile=first.ipxe", "-device", "virtio-net-pci,netdev=n")
    try:
        async with asyncio.timeout(480):
            await over.wait()
    except TimeoutError:
        pass
    machine.kill()
    await machine.wait()
    await runner.cleanup()
    print(json.dumps(asked))
asyncio.run(main())
"""


def test_ipxe_runs_the_script_of_a_document_and_takes_each_word_as_it_is(tmp_path: Path) -> None:
    alone = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "alone"]
    done = subprocess.run(
        [*alone, sys.executable, "-c", SERVE, str(tmp_path), *WORDS],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=True,
        text=True,
        timeout=540,
    )
    asked = list(map(urlsplit, json.loads(done.stdout)))
    assert [each.path for each in asked] == ["/script.ipxe", "/their.ipxe", "/their.ipxe", "/said"]
    assert parse_qs(asked[-1].query) == {
        "server": ["http://10.0.2.2"],
        "arguments": [" ".join(("tinkbox.server=http://10.0.2.2", *WORDS))],
    }
