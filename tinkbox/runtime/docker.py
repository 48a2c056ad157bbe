"""The Docker engine, through aiodocker, which only the files named `docker` know."""

import asyncio
import json
import re
import socket
import struct
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from datetime import datetime
from ipaddress import IPv4Network
from pathlib import Path
from types import TracebackType
from typing import Self

import aiodocker
import aiohttp

from tinkbox.model.reasons import Reason
from tinkbox.runtime import (
    Container,
    ContainerFailed,
    ContainerSpec,
    Ended,
    EngineAway,
    Exec,
    ExecSpec,
    ImageCommand,
    nobody_listens,
)
from tinkbox.runtime.docker_documents import container_config, ended_alone, foreign, network, seen
from tinkbox.runtime.docker_exec import started
from tinkbox.runtime.docker_faults import faults
from tinkbox.runtime.docker_frames import taken_from
from tinkbox.runtime.engine_messages import REMOVED, meaning, overlaps
from tinkbox.runtime.exit_codes import KILLED
from tinkbox.runtime.hosting import Look, Network

_PEER = struct.Struct("3i")  # pid, uid, gid: unix(7), SO_PEERCRED
_PULLED = re.compile(r"Digest: (sha256:[0-9a-f]{64})")
_TO_TRY_AGAIN = "Retrying in "  # what the engine says of a registry that does not answer it
_GONE = 404
_NOT_MODIFIED = 304
# The engine tells that memory ran out some milliseconds after the process is gone (measured: 1 to 7).
_OOM_SECONDS = 0.3
_LOOK_SECONDS = 60.0
_REMOVED = frozenset({"removing", "dead"})


class DockerRuntime:
    """Use as an async context manager; `url` is where the engine answers, such as `unix:///var/run/docker.sock`."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._docker: aiodocker.Docker
        self._connector: aiohttp.UnixConnector | None = None

    async def __aenter__(self) -> Self:
        # The version is stated, not asked for, so that an engine that is not up yet stops nobody.
        scheme, _, path = self.url.partition("://")
        if scheme != "unix":
            self._docker = aiodocker.Docker(self.url, api_version="v1.41")
            return self
        # An engine that ends serves the connections that it has until all containers are down, and refuses on them what
        # it will do again once it is back: hence one for each request, and it is away at once.  There may be any number,
        # for each container's log is followed over its own.
        self._connector = aiohttp.UnixConnector(path, limit=0, force_close=True)
        self._docker = aiodocker.Docker("unix://localhost", self._connector, api_version="v1.41")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._docker.close()
        if self._connector is not None:
            await self._connector.close()

    async def version(self) -> str:
        """The engine's version; raises EngineAway when it does not answer."""
        with self._faults(Reason.ENGINE_FAILED):
            return str((await self._docker.version())["Version"])

    async def root(self) -> str:
        """The folder in which the engine keeps images and the files of containers; empty where it does not tell."""
        with self._faults(Reason.ENGINE_FAILED):
            return str((await self._docker.system.info()).get("DockerRootDir") or "")

    async def process(self) -> int:
        scheme, _, path = self.url.partition("://")
        if scheme != "unix":
            return 0
        with self._faults(Reason.ENGINE_FAILED), socket.socket(socket.AF_UNIX) as connection:
            connection.setblocking(False)
            connection.connect(path)
            pid, _, _ = _PEER.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))
        return int(pid)

    async def shares_mounts(self) -> bool:
        pid = await self.process()
        try:
            return Path(f"/proc/{pid}/ns/mnt").samefile("/proc/self/ns/mnt")
        except OSError:
            return False

    async def pull(self, image: str, heard: Callable[[], None] = nobody_listens) -> str:
        digest = ""
        with self._faults(Reason.IMAGE_PULL_FAILED):
            async for each in self._docker.images.pull(image, stream=True):
                status = str(each.get("status", ""))
                if not status.startswith(_TO_TRY_AGAIN):
                    heard()
                if found := _PULLED.fullmatch(status):
                    digest = found[1]
        return digest

    async def has(self, image: str) -> bool:
        with self._faults(Reason.ENGINE_FAILED):
            try:
                await self._docker.images.inspect(image)
            except aiodocker.exceptions.DockerError as error:
                if error.status == _GONE:
                    return False
                raise
        return True

    async def find(self, labels: Mapping[str, str]) -> list[Container]:
        wanted = [f"{name}={value}" for name, value in labels.items()]
        with self._faults(Reason.ENGINE_FAILED):
            found = await self._docker.containers.list(all=True, filters={"label": wanted})
        return [
            Container(
                id=each["Id"],
                started=each["State"] != "created",
                ended=each["State"] in ("exited", "dead"),
                labels=each["Labels"],
            )
            for each in found
        ]

    async def create(self, spec: ContainerSpec) -> Container:
        with self._faults(Reason.CREATE_FAILED):
            made = await self._docker.containers.create(container_config(spec), name=spec.name or None)
        return Container(id=made.id, started=False, labels=spec.labels)

    async def start(self, container_id: str) -> None:
        with self._faults(Reason.START_FAILED):
            await self._docker.containers.container(container_id).start()

    async def wait(self, container_id: str) -> Ended:
        container = self._docker.containers.container(container_id)
        with self._faults(Reason.CONTAINER_LOST):
            await container.wait()
            state = (await container.show())["State"]
        if state.get("Error"):
            raise meaning(Reason.START_FAILED, 0, str(state["Error"]))
        code = int(state["ExitCode"])
        if code == KILLED and state.get("Status") in _REMOVED:
            raise ContainerFailed(Reason.CONTAINER_LOST, REMOVED)
        return Ended(
            exit_code=code, out_of_memory=await self._for_lack_of_memory(container_id, code, state["OOMKilled"])
        )

    async def _for_lack_of_memory(self, container_id: str, code: int, told: object) -> bool:
        """Whether one that is over was killed because memory ran out; `told` is what the engine's state says of that."""
        if told or code != KILLED:
            return bool(told)
        # On a busy machine the engine forgot it of 16 of 400 containers that had no memory left, and had the event of 14.
        with suppress(ContainerFailed, EngineAway):  # how it ended is known without
            return await self.ran_out_of_memory(container_id)
        return False

    async def stop(self, container_id: str, grace: int) -> None:
        with self._faults(Reason.ENGINE_FAILED, ignored=(_GONE, _NOT_MODIFIED)):
            await self._docker.containers.container(container_id).stop(t=grace, timeout=grace + 30)

    async def remove(self, container_id: str) -> None:
        with self._faults(Reason.ENGINE_FAILED, ignored=(_GONE,)):
            await self._docker.containers.container(container_id).delete(force=True, v=True)

    async def has_network(self, name: str) -> bool:
        with self._faults(Reason.ENGINE_FAILED):
            return any(each["Name"] == name for each in await self._docker.networks.list())

    async def image_command(self, image: str) -> ImageCommand:
        with self._faults(Reason.ENGINE_FAILED):
            config = (await self._docker.images.inspect(image))["Config"] or {}
        return ImageCommand(
            entrypoint=tuple(config.get("Entrypoint") or ()),
            command=tuple(config.get("Cmd") or ()),
            user=str(config.get("User") or ""),
        )

    async def foreign(self, image: str) -> str:
        with self._faults(Reason.ENGINE_FAILED):
            made_for = await self._docker.images.inspect(image)
            here = await self._docker.version()
        return foreign(made_for, here)

    async def ran_out_of_memory(self, container_id: str) -> bool:
        # The container's state tells it only once its first process is gone; the engine keeps its last 256 events.
        chosen = json.dumps({"container": [container_id], "event": ["oom"]})
        request = self._docker._query("events", params={"since": "1", "filters": chosen})  # noqa: SLF001
        with self._faults(Reason.ENGINE_FAILED):
            try:
                async with asyncio.timeout(_LOOK_SECONDS), request as response, response, asyncio.timeout(_OOM_SECONDS):
                    if await response.content.readline():
                        return True
            except TimeoutError:
                return False
        raise EngineAway("the engine's events broke off")

    async def exec(self, container_id: str, spec: ExecSpec) -> Exec:
        return await started(self._docker, self.url, container_id, spec)

    async def changed_bytes(self, container_id: str) -> int:
        with self._faults(Reason.CONTAINER_LOST):
            shown = await self._docker.containers.container(container_id).show(size=1)
        return int(shown["SizeRw"])

    async def commit(self, container_id: str, image: str) -> None:
        repository, _, tag = image.rpartition(":")
        with self._faults(Reason.COMMIT_FAILED):
            container = self._docker.containers.container(container_id)
            await container.commit(repository=repository, tag=tag, pause=False)

    async def remove_image(self, image: str) -> None:
        with self._faults(Reason.ENGINE_FAILED, ignored=(_GONE,)):
            await self._docker.images.delete(image)

    async def output(self, container_id: str, *, follow: bool = True) -> AsyncIterator[bytes]:
        # aiodocker's own reader turns bytes into text and fails on what is none, hence its inner request.
        request = self._docker._query(  # noqa: SLF001
            f"containers/{container_id}/logs",
            params={"stdout": "1", "stderr": "1", "follow": str(int(follow))},
            timeout=aiohttp.ClientTimeout(total=None, sock_read=None if follow else _LOOK_SECONDS),
        )
        come = bytearray()
        with self._faults(Reason.CONTAINER_LOST):
            async with request as response, response:
                # A log of many short lines is read in a third of the time that each by itself would take.
                async for part in response.content.iter_any():
                    come += part
                    while printed := taken_from(come):
                        yield printed
                if come:
                    raise EngineAway("the engine's log stream broke off")

    async def look(self, container_id: str) -> Look:
        with self._faults(Reason.CONTAINER_LOST):
            async with asyncio.timeout(_LOOK_SECONDS):
                look = seen(await self._docker.containers.container(container_id).show())
        if look.running:
            return look
        memory = await self._for_lack_of_memory(container_id, look.exit_code, look.out_of_memory)
        return replace(look, out_of_memory=memory)

    async def remembered(self, container_id: str) -> tuple[str, ...]:
        with self._faults(Reason.ENGINE_FAILED):
            now = datetime.fromisoformat((await self._docker.system.info())["SystemTime"])
            wanted = {
                "since": "1",
                "until": f"{now.timestamp():.9f}",
                "filters": json.dumps({"container": [container_id]}),
            }
            async with self._docker._query("events", params=wanted) as response, response:  # noqa: SLF001
                lines = (await response.text()).splitlines()
        return tuple(str(json.loads(line)["Action"]) for line in lines)

    async def ended_alone(self, container_id: str) -> bool:
        return ended_alone(await self.remembered(container_id))

    async def networks(self) -> list[Network]:
        with self._faults(Reason.ENGINE_FAILED):
            return [network(each) for each in await self._docker.networks.list()]

    async def create_network(self, name: str, subnet: IPv4Network, labels: Mapping[str, str]) -> Network | None:
        config = {
            "Name": name,
            "CheckDuplicate": True,
            "Driver": "bridge",
            "IPAM": {"Config": [{"Subnet": str(subnet)}]},
            "Labels": dict(labels),
        }
        with self._faults(Reason.ENGINE_FAILED):
            try:
                made = await self._docker.networks.create(config)
            except aiodocker.exceptions.DockerError as error:
                if overlaps(str(error.message)):
                    return None
                raise
        return Network(id=made.id, subnets=(subnet,), labels=labels)

    async def remove_network(self, network_id: str) -> None:
        with self._faults(Reason.ENGINE_FAILED, ignored=(_GONE,)):
            await (await self._docker.networks.get(network_id)).delete()

    def _faults(self, reason: Reason, ignored: tuple[int, ...] = ()) -> AbstractContextManager[None]:
        return faults(self.url, reason, ignored)
