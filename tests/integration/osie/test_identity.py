"""An OSIE whose loader brought no credential asks for it, with its own busybox, in a root of its own."""

import asyncio
import shutil
from dataclasses import replace
from pathlib import Path

from aiohttp import web
from aiohttp.test_utils import TestServer

from tinkbox.boot.http.credential_ramdisk import credential_ramdisk
from tinkbox.osie.build import SCRIPTS
from tinkbox.wire.messages.worker import Credential, TlsDoor, decode_credential, encode

FILES = Path(__file__).parents[3] / "tinkbox" / "osie" / "files"
WORKER = Credential(server="http://172.30.0.1", registry="172.30.0.1", worker="h", token="secret")


async def asked(root: Path, *, given: bool, before: str = "", worker: str = "") -> str:
    """Run the script in this root, beside an appliance that has a credential for the machine, or has none.

    The machine has the credential `before`, and a program of a `worker`, which may ask over TLS.
    """

    async def credential(request: web.Request) -> web.Response:
        assert request.query["https"] == "yes"
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
    if before:
        (root / "etc" / "tinkbox").mkdir(parents=True)
        (root / "etc" / "tinkbox" / "worker.json").write_text(before)
        (root / "bin" / "tinkbox").write_text(worker)
        (root / "bin" / "tinkbox").chmod(0o755)
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


async def test_a_machine_that_has_an_authority_takes_another_credential_over_tls_alone(tmp_path: Path) -> None:
    secured = TlsDoor(server="https://10.0.0.1", registry="10.0.0.1", authority="PEM\n").credential(WORKER)
    file = tmp_path / "etc" / "tinkbox" / "worker.json"
    away = "#!/bin/sh\nexit 3\n"
    await asked(tmp_path, given=True, before=encode(secured), worker=away)
    assert decode_credential(file.read_bytes()) == secured, "what came over plain HTTP would have been another"


async def test_what_comes_over_tls_is_the_machines_credential(tmp_path: Path) -> None:
    secured = TlsDoor(server="https://10.0.0.1", registry="10.0.0.1:8443", authority="PEM\n").credential(WORKER)
    newer = replace(secured, token="newer")
    (tmp_path / "newer.cpio").write_bytes(credential_ramdisk(newer))
    fetch = '#!/bin/sh\necho "$@" > /asked\nexec cat /newer.cpio\n'
    await asked(tmp_path, given=False, before=encode(secured), worker=fetch)
    assert (tmp_path / "asked").read_text() == "--worker --fetch /boot/08-00-27-00-00-01/credential.cpio?https=yes\n"
    assert decode_credential((tmp_path / "etc" / "tinkbox" / "worker.json").read_bytes()) == newer
    assert (tmp_path / "etc/docker/certs.d/10.0.0.1:8443/ca.crt").read_text() == "PEM\n"


def test_every_script_is_taken_along() -> None:
    scripts = {path.name for path in FILES.iterdir() if not path.suffix} - {"init", "words"}
    assert set(SCRIPTS) == scripts
