"""The containers of an attempt: one for the action, and perhaps one for a hook."""

import errno
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tinkbox.model.errors import Invalid, TooLarge
from tinkbox.model.image import parse_reference
from tinkbox.runtime import Container, ContainerFailed, ContainerSpec, Runtime
from tinkbox.wire.worker import Credential, Offer
from tinkbox.worker import verdict
from tinkbox.worker.folder import WorkerFolder
from tinkbox.worker.words import PLACES

ACTION = "action"  # the role of the action's own container; those of hooks are on-timeout and on-failure
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


class Containers:
    """Finds, makes and ends them; every method may raise what `Runtime` raises."""

    def __init__(
        self, runtime: Runtime, folder: WorkerFolder, credential: Credential, offer: Offer, privileged: bool
    ) -> None:
        self._runtime = runtime
        self._folder = folder
        self._credential = credential
        self._offer = offer
        self._privileged = privileged

    @property
    def image(self) -> str:
        """The image's full name: without a registry's host it comes from the appliance."""
        reference = parse_reference(self._offer.action.image)
        return reference.at(reference.host or self._credential.registry)

    def check_volumes(self) -> None:
        """Raise ContainerFailed when a volume lies where the worker itself puts something."""
        own = {*self._data_mounts(), *(target for targets in PLACES.values() for target in targets)}
        for volume in self._offer.action.volumes:
            source, _, rest = volume.partition(":")
            target = (rest or source).split(":")[0]
            if (target.rstrip("/") or "/") in own:
                raise ContainerFailed(
                    "MountFailed", f"the volume {volume} takes the place of tinkbox's own {target}: take it off"
                )

    def unpack_data(self, archive: bytes) -> None:
        """Bring the workflow's data up to date; raises ContainerFailed."""
        with _local_faults():
            try:
                self._folder.data.unpack(self._offer.workflow_id, archive)
            except (Invalid, TooLarge) as error:
                raise ContainerFailed(verdict.data_reason(error), str(error)) from None

    async def found(self, role: str) -> Container | None:
        """The container of this role, if there is one."""
        found = await self._runtime.find({**_attempt(self._offer.attempt), "tinkbox.role": role})
        return found[0] if found else None

    async def made(self, role: str, command: tuple[str, ...]) -> Container:
        """Make the container of this role."""
        action, attempt = self._offer.action, self._offer.attempt
        bounded = await self._runtime.shares_mounts()
        with _local_faults():
            words = self._folder.words.prepare(attempt, role, action.volumes, bounded=bounded)
        labels = {**_worker(self._credential), **_attempt(attempt), "tinkbox.role": role}
        own = {
            "TINKBOX_WORKFLOW": self._offer.workflow_id,
            "TINKBOX_ACTION": action.name,
            "TINKBOX_ATTEMPT": attempt,
            "TINKBOX_SERVER": self._credential.server,
        }
        spec = ContainerSpec(
            image=self.image,
            labels=labels,
            command=command,
            environment={**action.environment, **own},
            binds=action.volumes,
            mounts={**self._data_mounts(), **words},
            pid=action.pid,
            privileged=self._privileged,
        )
        return await self._runtime.create(spec)

    async def halted(self, role: str, grace: int) -> Container | None:
        """Have the container of this role run no more, and never; returns it when there is one."""
        container = await self.found(role)
        if container is not None and container.started:
            await self._runtime.stop(container.id, grace)
        elif container is not None:
            # Behind an answer that was not waited for it may be about to start.
            await self._runtime.remove(container.id)
        return container

    async def remove_all(self) -> None:
        """Remove the attempt's containers, whatever they do."""
        for container in await self._runtime.find(_attempt(self._offer.attempt)):
            await self._runtime.remove(container.id)

    def _data_mounts(self) -> Mapping[str, str]:
        folder = str(self._folder.data.folder(self._offer.workflow_id))
        return {"/workflow": folder, f"/workflow/{self._offer.workflow_id}": folder}


async def remove_strays(runtime: Runtime, credential: Credential, attempt: str) -> None:
    """Remove this worker's containers of every attempt but this: those are over, and must do nothing any more."""
    for container in await runtime.find(_worker(credential)):
        if container.labels.get("tinkbox.attempt") != attempt:
            await runtime.remove(container.id)


def _worker(credential: Credential) -> dict[str, str]:
    return {"tinkbox.worker": credential.worker}


def _attempt(attempt: str) -> dict[str, str]:
    return {"tinkbox.attempt": attempt}


@contextmanager
def _local_faults() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = "NoSpace" if error.errno in _FULL else "CreateFailed"
        raise ContainerFailed(reason, f"the worker's own files cannot be written: {error}") from None
