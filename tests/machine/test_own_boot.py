"""The scripts of a hardware document, by its URL and by its text, as the iPXE of Debian's QEMU takes them."""

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.machine.lone_ipxe import asked_alone

pytestmark = [pytest.mark.machine, pytest.mark.campaign]
WORDS = ("memmap=4G!12G", 'dyndbg="file*"', "ip=[fe80::1]", "a;b", "~x^y")
SERVE = """
import asyncio, json, sys
from pathlib import Path
from aiohttp import web
from tests.machine.lone_ipxe import OWN, SCRIPT, asked
from tinkbox.model.boot import Boot, Plan
from tinkbox.model.hardware import Interface, MacAddress
from tinkbox.model.netboot import Netboot
from tinkbox.wire.boot_scripts.ipxe import BootFiles, script

work, *words = sys.argv[1:]
files = BootFiles(script=SCRIPT, kernel="k", initramfs="i", credential=f"{OWN}/credential.cpio",
    server=OWN, failed=f"{OWN}/failed", arguments=(f"tinkbox.server={OWN}", *words))
SAYS = f"chain --replace {OWN}/said?server=${{tinkbox-server:uristring}}&arguments=${{tinkbox-arguments:uristring}}&\\n"
def told(netboot):
    interface = Interface(mac=MacAddress("52:54:00:12:34:56"), netboot=netboot)
    return web.Response(text=script(Plan(boot=Boot.OWN_SCRIPT, hardware_id="h", interface=interface), files, "1"))
def answer(request, times):
    match request.path:
        case "/script.ipxe":
            return told(Netboot(script_url=f"{OWN}/their.ipxe"))
        case "/their.ipxe":
            return told(Netboot(script=SAYS)) if times > 1 else web.Response(status=503)
        case "/failed":
            return web.Response()
print(json.dumps(asyncio.run(asked(Path(work), answer))))
"""


def test_ipxe_runs_the_script_of_a_document_and_takes_each_word_as_it_is(tmp_path: Path) -> None:
    asked = [urlsplit(path) for _, path in asked_alone(SERVE, tmp_path, *WORDS)]
    assert [each.path for each in asked] == ["/script.ipxe", "/their.ipxe", "/failed", "/their.ipxe", "/said"]
    assert parse_qs(asked[-1].query) == {
        "server": ["http://10.0.2.2"],
        "arguments": [" ".join(("tinkbox.server=http://10.0.2.2", *WORDS))],
    }
