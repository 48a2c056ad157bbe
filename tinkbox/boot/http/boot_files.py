"""Boot scripts, kernels, ramdisks and loaders over HTTP.

Script and credential are given only to the address that is the machine's they are for.
"""

import logging
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final, Protocol

from aiohttp import web

from tinkbox.boot.dhcp.reporting import Timeline
from tinkbox.boot.http.credential_ramdisk import credential_ramdisk, has_credential
from tinkbox.boot.http.download_watch import STUCK_AFTER, Listeners, Traffic, Trouble
from tinkbox.boot.http.file_responses import Delivery
from tinkbox.boot.http.kernel_command_line import kernel_arguments, syslog
from tinkbox.boot.http.loaders import FOLDER, LOADERS, loader_path
from tinkbox.model.boot import Boot, ConsoleAccess, Plan, Stage, Step, StepError
from tinkbox.model.card_firmware import Need, is_virtual
from tinkbox.model.errors import Forbidden, Invalid, NotFound, Unavailable
from tinkbox.model.hardware import MacAddress
from tinkbox.model.rates import Buckets, Rate
from tinkbox.model.sightings import OTHER_HOST, Fact
from tinkbox.wire.boot_scripts.failed_steps import told_by_ipxe
from tinkbox.wire.boot_scripts.ipxe import BootFiles, come_by_https, machine_facts, script
from tinkbox.wire.messages.worker import Credential, TlsDoor

FIRMWARE: Final = "firmware"  # the second ramdisk, which not every OSIE has, and not every machine is sent
OSIE_FILES: Final[Mapping[str, Stage]] = {
    "vmlinuz": Stage.KERNEL,
    "initramfs": Stage.RAMDISK,
    FIRMWARE: Stage.FIRMWARE,
}
OSIE_STEPS: Final[Mapping[str, Step]] = {"vmlinuz": Step.KERNEL, "initramfs": Step.RAMDISK, FIRMWARE: Step.FIRMWARE}
# Of steps that failed, of one machine: a script tries three times, and tells of each.
# Whoever asks for a credential says with this that it can use one with an authority: OSIEs of other people cannot be asked.
HTTPS: Final = "https"
_OUR_OSIE: Final = frozenset({Boot.OSIE, Boot.DISCOVERY})
REPORTS: Final = Rate(burst=12, a_second=0.1)
REPORTERS: Final = 4096
TROUBLES: Final = Rate(burst=8, a_second=1 / 60)  # of downloads to one address, which any host there can break off
MOVES_TOLD_EVERY: Final = 10.0  # seconds
_log = logging.getLogger(__name__)
ARCHITECTURE = re.compile(r"[a-z0-9_]{1,20}\Z")
SCRIPT_STAGE: Final[Mapping[Boot, Stage]] = {
    Boot.OSIE: Stage.SCRIPT,
    Boot.DISCOVERY: Stage.DISCOVERY,
    Boot.PARKED: Stage.PARKED,
    Boot.LOCAL_DISK: Stage.LOCAL_DISK,
    Boot.WORKFLOW: Stage.SUPPLIED,
    Boot.WAITING: Stage.SERVICES,
    Boot.OWN_SCRIPT: Stage.OWN_BOOT,
    Boot.OWN_OSIE: Stage.OWN_BOOT,
}


class Planner(Timeline, Protocol):
    """Whoever knows what a machine is to boot, and wants to know how far it came."""

    def script_plan(self, mac: MacAddress, peer: str) -> Plan | None: ...
    def is_at(self, mac: MacAddress, address: str) -> bool: ...
    def other_host(self, mac: MacAddress, peer: str) -> str: ...
    def saw_address(self, address: str, stage: Stage, detail: str = "", **facts: Fact) -> None: ...
    def moves(self, address: str) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BootFolder:
    """What is served on one network: the OSIE's folder (below it one per architecture), the loaders', our URL and version.

    `dns` is where names of workflows are answered, empty: only by what the network has.  `syslog_port` is where machines
    may log to, 0: nowhere.  `console` is what the OSIE's consoles offer.  `tls` is the node door over TLS, None: it has none; `takes_https` tells whether the OSIE of an
    architecture can ask that.
    """

    osie: Path
    url: str
    version: str
    loaders: Traversable = FOLDER
    dns: str = ""
    syslog_port: int = 0
    console: ConsoleAccess = ConsoleAccess.SHELL
    tls: Callable[[], TlsDoor | None] = lambda: None
    takes_https: Callable[[str], bool] = lambda _: False

    @property
    def https_url(self) -> str:
        """The URL of the node door over TLS, empty: there is none."""
        door = self.tls()
        return door.server if door else ""

    def boots_https(self, plan: Plan) -> bool:
        """Whether what a plan boots is an OSIE of ours that can ask the node door over TLS."""
        return plan.boot in _OUR_OSIE and self.tls() is not None and self.takes_https(plan.interface.architecture)

    def arguments(self, plan: Plan) -> tuple[str, ...]:
        """The words for the kernel of a machine, whatever its boot loader is."""
        return kernel_arguments(plan, self.url, dns=self.dns, syslog_port=self.syslog_port, console=self.console)

    def identity(self, plain: Credential, *, https: bool) -> Credential:
        """What a machine begins with that was given this credential for `url`, and can speak HTTPS or not."""
        door = self.tls() if https else None
        return plain if door is None else door.credential(plain)


def routes(
    planner: Planner,
    credential: Callable[[Plan, str, str], Credential],
    folder: BootFolder,
    monotonic: Callable[[], float] = time.monotonic,
) -> list[web.RouteDef]:
    """The `/boot/` part of the node door.

    `credential` gives the worker's identity for a plan, for a node door's URL, and for the address that asks.
    """
    door = _BootDoor(planner, credential, folder, monotonic)
    return [
        web.get("/boot/osie/{architecture}/{name}", door.osie),
        web.get("/boot/loaders/{name}", door.loader),
        web.get("/boot/{mac}/script.ipxe", door.script),
        web.get("/boot/{mac}/credential.cpio", door.credential),
        web.get("/boot/{mac}/failed", door.failed),
    ]


class _BootDoor:
    def __init__(
        self,
        planner: Planner,
        credential: Callable[[Plan, str, str], Credential],
        folder: BootFolder,
        monotonic: Callable[[], float],
    ) -> None:
        self._planner = planner
        self._credential = credential
        self._folder = folder
        self._monotonic = monotonic
        self._reports = Buckets(REPORTS, REPORTERS)
        self._troubles = Buckets(TROUBLES, REPORTERS)
        self._traffic = Traffic()
        self._newest: OrderedDict[str, object] = OrderedDict()  # what each address asked for last

    async def script(self, request: web.Request) -> web.Response:
        mac, plan = self._plan(request)
        if plan.https and not request.secure:
            return self._led_to_https(request, mac, plan)
        if request.method == "GET":
            self._goes_on(request.remote or "")
            facts: dict[str, Fact] = {**machine_facts(request.query)}
            if plan.local_boot is not None:
                facts["way"] = plan.local_boot.value
            detail = plan.reason if plan.boot is Boot.WAITING else _own(plan)
            if other := self._planner.other_host(mac, request.remote or ""):
                facts[OTHER_HOST], detail = other, f"by another host, {other}"
            else:
                self._planner.booted(mac)
            self._planner.saw(mac, SCRIPT_STAGE[plan.boot], detail, **facts)
        files = self._files(plan, mac, machine_facts(request.query), self._base(request))
        return web.Response(text=script(plan, files, self._folder.version), content_type="text/plain")

    def _led_to_https(self, request: web.Request, mac: MacAddress, plan: Plan) -> web.Response:
        """Nothing but where the machine's script is, for one that boots by HTTPS alone.  It counts for no boot."""
        if request.method == "GET":
            facts: dict[str, Fact] = {}
            if other := self._planner.other_host(mac, request.remote or ""):
                facts[OTHER_HOST] = other
            self._planner.saw(mac, Stage.HTTPS_WANTED, f"by another host, {other}" if other else "", **facts)
        folder, files = self._folder, self._files(plan, mac, {}, self._folder.url)
        url = f"{folder.https_url}/boot/{mac.replace(':', '-')}/script.ipxe" if folder.https_url else ""
        return web.Response(text=come_by_https(plan, files, url, folder.version), content_type="text/plain")

    def _base(self, request: web.Request) -> str:
        """The URL of the node door for what came by TLS, or did not: nothing that begins with it goes on without."""
        return self._folder.https_url if request.secure and self._folder.https_url else self._folder.url

    async def credential(self, request: web.Request) -> web.Response:
        _, plan = self._plan(request)
        if not has_credential(plan):
            raise NotFound("a machine that does not boot the OSIE has no use for a credential")
        if plan.https and not request.secure:
            raise Forbidden("this machine boots by HTTPS alone: its credential is given by HTTPS")
        made = self._credential(plan, self._folder.url, request.remote or "")
        ramdisk = credential_ramdisk(self._folder.identity(made, https=request.query.get(HTTPS) == "yes"))
        return web.Response(body=ramdisk, content_type="application/octet-stream")

    async def failed(self, request: web.Request) -> web.Response:
        """Note the step that a machine's script tells of; what is not noted is answered all the same, for the script goes on."""
        mac, told, peer = _mac(request), told_by_ipxe(request.query), request.remote or ""
        if told is None or not self._planner.is_at(mac, peer):
            raise NotFound("no such step of a boot of this machine at this address")
        if request.method != "GET":
            answer = "not noted: only a GET is"
        elif other := self._planner.other_host(mac, peer):
            answer = f"not noted: it came from {other}, and not from {mac}"
        elif not self._reports.take(mac, self._monotonic()):
            answer = "not noted: this machine tells of too many failed steps"
        else:
            _log.warning("%s: %s", mac, told.detail, extra={"action": "boot.step-failed", "mac": mac})
            self._planner.saw(mac, Stage.STEP_FAILED, told.detail, **told.facts)
            answer = "noted"
        return web.Response(text=f"{answer}\n", content_type="text/plain")

    async def osie(self, request: web.Request) -> web.StreamResponse:
        name, architecture = request.match_info["name"], request.match_info["architecture"]
        path = self._folder.osie / architecture / name
        if name not in OSIE_FILES or not ARCHITECTURE.match(architecture) or not _is_there(path):
            raise NotFound(
                f"there is no {name[:40]} of an OSIE for {architecture[:40]}: `tinkbox osie list` shows what was built"
            )
        return self._delivery(request, name, path, OSIE_FILES[name], "application/octet-stream", OSIE_STEPS[name])

    async def loader(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        path = loader_path(self._folder.loaders, name) if name in LOADERS else None
        if path is None:
            raise NotFound("no such boot loader")
        return self._delivery(request, name, path, Stage.LOADER, "application/efi")

    def _delivery(
        self, request: web.Request, name: str, path: Path, stage: Stage, content_type: str, step: Step | None = None
    ) -> web.StreamResponse:
        peer, began = request.remote or "", self._monotonic()
        scheme = "HTTPS" if request.secure else "HTTP"
        delivered = partial(self._delivered, peer, name, path, stage, began, scheme)
        moves = self._moving(peer, began)
        if step is None or request.method != "GET":
            return Delivery(path, content_type, delivered, Listeners(moves=moves))
        stuck = partial(self._stuck, peer, name, step)
        trouble = partial(self._trouble, peer, name, step, began, scheme, self._goes_on(peer))
        listeners = Listeners(
            moves=moves, stuck=stuck, trouble=trouble, traffic=self._traffic, to_come=_to_come_after(path)
        )
        return Delivery(path, content_type, delivered, listeners)

    def _goes_on(self, peer: str) -> object:
        """Note that an address asks for something new; returns what stands for it until the next time."""
        asked = self._newest[peer] = object()
        self._newest.move_to_end(peer)
        if len(self._newest) > REPORTERS:
            self._newest.popitem(last=False)
        return asked

    def _trouble(
        self, peer: str, name: str, step: Step, began: float, scheme: str, asked: object, told: Trouble
    ) -> None:
        """Note what trouble a download has, unless the machine asked for something since.

        Loaders end one connection to read on in another, and that of a machine that was switched off ends in the middle of its next boot.
        """
        now = self._monotonic()
        if self._newest.get(peer) is not asked or not self._troubles.take(peer, now):
            return
        seconds = round(now - began, 3)
        detail = f"{name}, {told.at} of {told.size} bytes in {seconds:.1f} s over {scheme}: {told.what}"
        facts: dict[str, Fact] = {"step": step.name, "name": name, "what": told.what.name, "bytes": told.at}
        facts |= {"size": told.size, "seconds": seconds}
        if told.rate:
            facts["rate"], detail = told.rate, f"{detail}, {told.rate} bytes a second"
            if told.to_come:
                facts["to_come"], detail = told.to_come, f"{detail}, {told.to_come} bytes are to come after that"
        _log.warning("%s: %s", peer, detail, extra={"action": "boot.download-trouble"})
        self._planner.saw_address(peer, Stage.DOWNLOAD_TROUBLE, detail, **facts)

    def _stuck(self, peer: str, name: str, step: Step) -> None:
        error = StepError.NOT_TAKEN
        detail = f"could not {step}: {error} in {STUCK_AFTER:.0f} s ({name})"
        self._planner.saw_address(peer, Stage.STEP_FAILED, detail, step=step.name, error=error.name, name=name)

    def _moving(self, peer: str, began: float) -> Callable[[], None]:
        """What tells that a delivery goes on, now and then."""
        told = began

        def moves() -> None:
            nonlocal told
            now = self._monotonic()
            if now - told >= MOVES_TOLD_EVERY:
                told = now
                self._planner.moves(peer)

        return moves

    def _delivered(self, peer: str, name: str, path: Path, stage: Stage, began: float, scheme: str) -> None:
        size, seconds = path.stat().st_size, round(self._monotonic() - began, 3)
        detail = f"{name}, {size} bytes in {seconds:.1f} s over {scheme}"
        facts: dict[str, Fact] = {"name": name, "bytes": size, "seconds": seconds, "over": "http"}
        self._planner.saw_address(peer, stage, detail, **facts)

    def _plan(self, request: web.Request) -> tuple[MacAddress, Plan]:
        mac = _mac(request)
        plan = self._planner.script_plan(mac, request.remote or "")
        if plan is None:
            # The same answer for an unknown machine, one without a ticket, and another machine's address.
            raise NotFound("no boot script for this machine at this address")
        return mac, plan

    def _files(self, plan: Plan, mac: MacAddress, told: Mapping[str, str | int], url: str) -> BootFiles:
        """Where the files of a machine are that reaches the node door at `url`."""
        virtual = is_virtual(str(told.get("manufacturer", "")), str(told.get("product", "")))
        firmware = has_firmware(self._folder, plan) and not (virtual and plan.firmware is Need.UNKNOWN)
        folder = self._folder
        own = f"{url}/boot/{mac.replace(':', '-')}"
        osie = f"{url}/boot/osie/{plan.interface.architecture}"
        kernel, initramfs = f"{osie}/vmlinuz", f"{osie}/initramfs"
        if plan.boot is Boot.OWN_OSIE and (other := plan.interface.netboot.osie):
            kernel, initramfs, firmware = other.kernel, other.initramfs, False
        return BootFiles(
            script=f"{own}/script.ipxe",
            failed=f"{own}/failed",
            credential=f"{own}/credential.cpio" + (f"?{HTTPS}=yes" if folder.boots_https(plan) else ""),
            kernel=kernel,
            initramfs=initramfs,
            firmware=f"{osie}/{FIRMWARE}" if firmware else "",
            loaders=f"{url}/boot/loaders",
            server=url,
            dns=folder.dns,
            syslog=syslog(url, folder.syslog_port) if folder.syslog_port else "",
            # What asks there has no TLS, and asks for nothing that is secret; the worker's door is in its credential.
            arguments=folder.arguments(plan),
        )


def _mac(request: web.Request) -> MacAddress:
    try:
        return MacAddress(request.match_info["mac"])
    except Invalid:
        raise NotFound("no such boot script") from None


def _own(plan: Plan) -> str:
    """What of its hardware document boots, in words."""
    own = plan.interface.netboot
    if plan.boot is Boot.OWN_SCRIPT:
        return own.script_url or "the script of netboot.ipxe.contents"
    return own.osie.kernel if plan.boot is Boot.OWN_OSIE and own.osie else ""


def has_firmware(folder: BootFolder, plan: Plan) -> bool:
    """Whether there is a second ramdisk for a machine, which may need it."""
    if plan.firmware is Need.UNNEEDED or not ARCHITECTURE.match(plan.interface.architecture):
        return False
    return _is_there(folder.osie / plan.interface.architecture / FIRMWARE)


def _to_come_after(path: Path) -> int:
    """The bytes of an OSIE that every machine asks for after this file: the ramdisk after the kernel.  Not each is sent more."""
    with suppress(OSError):
        if path.name == "vmlinuz":
            return path.with_name("initramfs").stat().st_size
    return 0


def _is_there(path: Path) -> bool:
    """Whether there is such a file; raises Unavailable where the appliance's user cannot read it."""
    try:
        if not path.is_file():
            return False
        path.open("rb").close()
    except PermissionError as error:
        _log.warning("%s: %s", path, error.strerror, extra={"action": "boot.unreadable"})
        raise Unavailable("the appliance cannot read this file: `tinkbox doctor` says what to do") from None
    return True
