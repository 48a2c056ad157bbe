"""An OSIE whose loader brought no credential asks for it, with its own busybox, in a root of its own."""

import asyncio
import shutil
from pathlib import Path

from aiohttp import web
from aiohttp.test_utils import TestServer

from tinkbox.boot.http.credential_ramdisk import credential_ramdisk
from tinkbox.osie.build import SCRIPTS
from tinkbox.wire.messages.worker import Credential, decode_credential

FILES = Path(__file__).parents[3] / "tinkbox" / "osie" / "files"
WORKER = Credential(server="http://172.30.0.1", registry="172.30.0.1", worker="h", token="secret")


async def asked(root: Path, *, given: bool) -> str:
    """Run the script in this root, beside an appliance that has a credential for the machine, or has none."""

    async def credential(request: web.Request) -> web.Response:
        if not given or request.match_info["mac"] != "08-00-27-00-00-01":
            raise web.HTTPNotFound
        return web.Response(body=credential_ramdisk(WORKER))

    for folder in ("bin", "dev", "osie", "proc", "run/osie", "sys/class/tty/console"):
        (root / folder).mkdir(parents=True)
    shutil.copy("/bin/busybox", root / "bin" / "busybox")
    for name in ("words", "identity"):
        shutil.copy(FILES / name, root / "osie" / name)
        (root / "osie" / name).chmod(0o755)
    (root / "run" / "osie" / "online").touch()
    (root / "sys" / "class" / "tty" / "console" / "active").write_text("tty0\n")
    (root / "proc" / "uptime").write_text("1.00 2.00\n")
    (root / "dev" / "null").touch()
    applets = "/bin/busybox --install -s /bin"
    application = web.Application()
    application.add_routes([web.get("/boot/{mac}/credential.cpio", credential)])
    async with TestServer(application) as server:
        words = f"quiet tinkbox.server=http://127.0.0.1:{server.port} tinkbox.mac=08:00:27:00:00:01"
        (root / "proc" / "cmdline").write_text(f"{words}\n")
        command = ["chroot", str(root), "/bin/busybox", "sh", "-c", f"{applets} && /osie/identity"]
        process = await asyncio.create_subprocess_exec(*command)
        async with asyncio.timeout(60):
            await process.wait()
    log = root / "run" / "osie" / "log"
    return log.read_text() if log.exists() else ""


async def test_the_credential_comes_from_the_appliance_and_for_its_owner_alone(tmp_path: Path) -> None:
    assert "gave this machine its credential" in await asked(tmp_path, given=True)
    file = tmp_path / "etc" / "tinkbox" / "worker.json"
    assert decode_credential(file.read_bytes()) == WORKER
    assert file.stat().st_mode & 0o777 == 0o600


async def test_without_one_nothing_is_left_and_nothing_is_said(tmp_path: Path) -> None:
    assert await asked(tmp_path, given=False) == ""
    assert not (tmp_path / "etc").exists()


def test_every_script_is_taken_along() -> None:
    scripts = {path.name for path in FILES.iterdir() if not path.suffix} - {"init", "words"}
    assert set(SCRIPTS) == scripts
