"""What installed systems ask and tell over HTTP: metadata by a token in the path, and the compatible paths by address.

GET  /metadata/TOKEN/…             every tree of `wire.metadata`, with and without a slash at the end
POST /metadata/TOKEN/phone-home    the system is up
POST /metadata/TOKEN/report        one event of cloud-init
GET  /2009-04-04/…  /latest/…      EC2's tree by the address that asks
GET  /metadata                     as Hegel of 2020 and Tootles answer it, by the address that asks
"""

import hashlib
import re
import secrets
from typing import Final

from aiohttp import web

from tinkbox.door.requests.bodies import body_of
from tinkbox.engine.machines.metadata_tokens import PATH
from tinkbox.engine.metadata.installed_systems import InstalledSystems
from tinkbox.engine.metadata.write_back import WriteBack
from tinkbox.model.errors import NotFound
from tinkbox.model.hardware import Hardware
from tinkbox.wire.metadata.ec2 import VERSIONS
from tinkbox.wire.metadata.hegel import hegel
from tinkbox.wire.metadata.tree import File, Tree, found, without_secrets
from tinkbox.wire.metadata.vendor_data import PHONE_HOME, REPORT
from tinkbox.wire.metadata.whole import by_address, called, whole
from tinkbox.wire.metadata.write_back import MAX_BODY, decode_phone_home, decode_report

# The action that writes the seed asks so, and is no installed system.
INSTALLER: Final = "tinkbox-install-image"
TOKEN_LETTERS: Final = 64
_TTL: Final = "X-aws-ec2-metadata-token-ttl-seconds"
_MAX_TTL: Final = 21_600
_SECONDS: Final = re.compile(r"[0-9]{1,5}")


def routes(systems: InstalledSystems, write_back: WriteBack, server: str) -> list[web.RouteDef]:
    """What a token opens; `server` is the node door's URL."""
    door = _MetadataDoor(systems, write_back, server)
    return [
        web.post(f"{PATH}{{token}}/{PHONE_HOME}", door.phone_home),
        web.post(f"{PATH}{{token}}/{REPORT}", door.report),
        web.put(f"{PATH}{{token}}/latest/api/token", door.session_token),
        web.get(f"{PATH}{{token}}", door.show),
        web.get(f"{PATH}{{token}}/{{path:.*}}", door.show),
    ]


def compatible_routes(systems: InstalledSystems) -> list[web.RouteDef]:
    """What the address of a known machine opens."""
    door = _CompatibleDoor(systems)
    version = "|".join(VERSIONS)
    return [
        web.put("/latest/api/token", door.session_token),
        web.get("/metadata", door.hegel),
        web.get("/metadata/", door.hegel),
        web.get(f"/{{version:{version}}}", door.ec2),
        web.get(f"/{{version:{version}}}/{{path:.*}}", door.ec2),
    ]


class _MetadataDoor:
    def __init__(self, systems: InstalledSystems, write_back: WriteBack, server: str) -> None:
        self._systems = systems
        self._write_back = write_back
        self._server = server

    async def show(self, request: web.Request) -> web.Response:
        # cloud-init of before 23 puts a file's name right behind a URL that has no slash at its end.
        named = request.match_info["token"]
        token, path = named[:TOKEN_LETTERS], named[TOKEN_LETTERS:] or request.match_info.get("path", "")
        address, agent = request.remote or "", request.headers.get("User-Agent", "")
        instance = await self._systems.of_token(token, address, self._server)
        file = _file(whole(instance), path)
        if not agent.startswith(INSTALLER):
            self._systems.note(instance.hardware, called(path), agent, address)
        return answered(request, file)

    async def phone_home(self, request: web.Request) -> web.Response:
        address = request.remote or ""
        shown = await self._systems.shown(request.match_info["token"], address)
        told = decode_phone_home(await body_of(request, MAX_BODY), request.content_type)
        await self._write_back.phoned_home(shown, told, address)
        return web.Response(text="noted\n")

    async def report(self, request: web.Request) -> web.Response:
        address = request.remote or ""
        token = request.match_info["token"]
        try:
            shown = await self._systems.shown(token, address)
        except NotFound:
            if not self._systems.made(token):
                raise
            # A system reports in each of its boots, for years: a refusal would make cloud-init call each of them degraded.
            return web.Response(text="too late to be noted\n")
        await self._write_back.reported(shown, decode_report(await body_of(request, MAX_BODY)), address)
        return web.Response(text="noted\n")

    async def session_token(self, request: web.Request) -> web.Response:
        await self._systems.shown(request.match_info["token"], request.remote or "")
        return session_token(request)


class _CompatibleDoor:
    def __init__(self, systems: InstalledSystems) -> None:
        self._systems = systems

    async def ec2(self, request: web.Request) -> web.Response:
        path = f"{request.match_info['version']}/{request.match_info.get('path', '')}"
        instance = await self._systems.of_address(request.remote or "")
        tree = by_address(instance)
        what = f"{called(path)}, by its address"
        if not self._systems.policy.secrets:
            if (asked := found(tree, path)) is not None and asked.secret:
                self._note(request, what, instance.hardware, refused=True)
                raise NotFound(
                    "user-data may be secret, and an address proves little: it is served below /metadata/TOKEN, or by address when "
                    "metadata.by_address is all in tinkbox.yaml"
                )
            tree = without_secrets(tree)
        file = _file(tree, path)
        self._note(request, what, instance.hardware)
        return answered(request, file)

    async def hegel(self, request: web.Request) -> web.Response:
        instance = await self._systems.of_address(request.remote or "")
        self._note(request, "/metadata, by its address", instance.hardware)
        return answered(request, hegel(instance, secrets=self._systems.policy.secrets))

    async def session_token(self, request: web.Request) -> web.Response:
        await self._systems.of_address(request.remote or "")
        return session_token(request)

    def _note(self, request: web.Request, what: str, hardware: Hardware, *, refused: bool = False) -> None:
        agent = request.headers.get("User-Agent", "")
        self._systems.note(hardware, what, agent, request.remote or "", refused=refused)


def answered(request: web.Request, file: File) -> web.Response:
    """A file, or that it has not changed since the client had it (RFC 9110 §13.1.2)."""
    tag = hashlib.sha256(file.body).hexdigest()[:32]
    asked = request.if_none_match
    headers = {"ETag": f'"{tag}"', "Cache-Control": "no-cache"}
    if asked and any(each.value in (tag, "*") for each in asked):
        return web.Response(status=304, headers=headers)
    charset = "utf-8" if file.content_type.startswith("text/") else None
    return web.Response(body=file.body, content_type=file.content_type, charset=charset, headers=headers)


def session_token(request: web.Request) -> web.Response:
    """What clients of EC2 ask for before they ask for anything else (IMDSv2); nothing here depends on it."""
    ttl = request.headers.get(_TTL, "")
    seconds = min(int(ttl) if _SECONDS.fullmatch(ttl) else 0, _MAX_TTL) or _MAX_TTL
    return web.Response(text=secrets.token_urlsafe(24), headers={_TTL: str(seconds)})


def _file(tree: Tree, path: str) -> File:
    file = found(tree, path)
    if file is None:
        raise NotFound("there is no such metadata")
    return file
