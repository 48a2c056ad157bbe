"""Boot scripts, kernels, ramdisks and loaders over HTTP.

Script and credential are given only to the address that is reserved for the machine they are for.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from aiohttp import web

from tinkbox.model.boot import Boot, Plan, Stage
from tinkbox.model.errors import Invalid, NotFound
from tinkbox.model.hardware import MacAddress
from tinkbox.wire.cpio import archive
from tinkbox.wire.ipxe import BootFiles, script
from tinkbox.wire.worker import Credential, encode

CREDENTIAL_PATH = "etc/tinkbox/worker.json"
OSIE_FILES: Mapping[str, Stage] = {"vmlinuz": Stage.KERNEL, "initramfs": Stage.RAMDISK}
ARCHITECTURE = re.compile(r"[a-z0-9_]{1,20}\Z")
CONSOLES = ("console=tty0", "console=ttyS0,115200")
_SCRIPT_STAGE: Mapping[Boot, Stage] = {
    Boot.OSIE: Stage.SCRIPT,
    Boot.PARKED: Stage.PARKED,
    Boot.LOCAL_DISK: Stage.LOCAL_DISK,
    Boot.WORKFLOW: Stage.SUPPLIED,
    Boot.WAITING: Stage.SERVICES,
}
# Also what its workflow supplies may be the OSIE; and a machine that is parked, or waits, from its next boot on may be
# on its last way there.
_WITH_CREDENTIAL = frozenset({Boot.OSIE, Boot.WORKFLOW, Boot.WAITING, Boot.PARKED})


class Planner(Protocol):
    """Whoever knows what a machine is to boot, and wants to know how far it came."""

    def script_plan(self, mac: MacAddress, peer: str) -> Plan | None: ...
    def booted(self, mac: MacAddress) -> None: ...
    def saw(self, mac: MacAddress, stage: Stage, detail: str = "") -> None: ...
    def saw_address(self, address: str, stage: Stage, detail: str = "") -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BootFolder:
    """What is served: the OSIE's folder (below it one per architecture), the loaders, our URL and version.

    `dns` is where names of workflows are answered, empty: only by what the network has.
    """

    osie: Path
    loaders: Mapping[str, bytes]
    url: str
    version: str
    dns: str = ""


def routes(
    planner: Planner, credential: Callable[[str], Awaitable[Credential]], folder: BootFolder
) -> list[web.RouteDef]:
    """The `/boot/` part of the node door.  `credential` maps a hardware id to its worker's identity."""
    door = _BootDoor(planner, credential, folder)
    return [
        web.get("/boot/osie/{architecture}/{name}", door.osie),
        web.get("/boot/loaders/{name}", door.loader),
        web.get("/boot/{mac}/script.ipxe", door.script),
        web.get("/boot/{mac}/credential.cpio", door.credential),
    ]


class _BootDoor:
    def __init__(
        self, planner: Planner, credential: Callable[[str], Awaitable[Credential]], folder: BootFolder
    ) -> None:
        self._planner = planner
        self._credential = credential
        self._folder = folder

    async def script(self, request: web.Request) -> web.Response:
        mac, plan = self._plan(request)
        if request.method == "GET":
            self._planner.booted(mac)
            self._planner.saw(mac, _SCRIPT_STAGE[plan.boot], plan.reason if plan.boot is Boot.WAITING else "")
        text = script(plan, self._files(plan, mac), self._folder.version)
        return web.Response(text=text, content_type="text/plain")

    async def credential(self, request: web.Request) -> web.Response:
        _, plan = self._plan(request)
        if plan.boot not in _WITH_CREDENTIAL:
            raise NotFound("a machine that does not boot the OSIE has no use for a credential")
        credential = await self._credential(plan.hardware_id)
        ramdisk = archive({CREDENTIAL_PATH: encode(credential).encode() + b"\n"})
        return web.Response(body=ramdisk, content_type="application/octet-stream")

    async def osie(self, request: web.Request) -> web.StreamResponse:
        name, architecture = request.match_info["name"], request.match_info["architecture"]
        path = self._folder.osie / architecture / name
        if name not in OSIE_FILES or not ARCHITECTURE.match(architecture) or not path.is_file():
            raise NotFound(
                f"there is no {name[:40]} of an OSIE for {architecture[:40]}: `tinkbox osie list` shows what was built"
            )
        if request.method == "GET" and "Range" not in request.headers:
            self._planner.saw_address(request.remote or "", OSIE_FILES[name], f"{path.stat().st_size} bytes")
        return web.FileResponse(path, headers={"Content-Type": "application/octet-stream"})

    async def loader(self, request: web.Request) -> web.Response:
        content = self._folder.loaders.get(request.match_info["name"])
        if content is None:
            raise NotFound("no such boot loader")
        if request.method == "GET":
            self._planner.saw_address(request.remote or "", Stage.LOADER, f"{request.match_info['name']} over HTTP")
        return web.Response(body=content, content_type="application/efi")

    def _plan(self, request: web.Request) -> tuple[MacAddress, Plan]:
        try:
            mac = MacAddress(request.match_info["mac"])
        except Invalid:
            raise NotFound("no such boot script") from None
        plan = self._planner.script_plan(mac, request.remote or "")
        if plan is None:
            # The same answer for an unknown machine, one without a ticket, and another machine's address.
            raise NotFound("no boot script for this machine at this address")
        return mac, plan

    def _files(self, plan: Plan, mac: MacAddress) -> BootFiles:
        base, own = f"{self._folder.url}/boot", f"{self._folder.url}/boot/{mac.replace(':', '-')}"
        names = [f"tinkbox.dns={self._folder.dns}"] if self._folder.dns else []
        osie = f"{base}/osie/{plan.interface.architecture}"
        return BootFiles(
            script=f"{own}/script.ipxe",
            credential=f"{own}/credential.cpio",
            kernel=f"{osie}/vmlinuz",
            initramfs=f"{osie}/initramfs",
            server=self._folder.url,
            dns=self._folder.dns,
            arguments=(f"tinkbox.server={self._folder.url}", *names, f"tinkbox.mac={mac}", *CONSOLES),
        )
