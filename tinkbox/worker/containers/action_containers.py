"""The containers of an attempt: one for the action, and perhaps one for a hook."""

import errno
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tinkbox.client.node import SessionOver
from tinkbox.model.actions.namespaces import BRIDGES, MACHINE, joins
from tinkbox.model.actions.volumes import parse_volume
from tinkbox.model.breakpoint import Armed, Override
from tinkbox.model.disks.disks import Refused
from tinkbox.model.errors import Invalid, TooLarge
from tinkbox.model.reasons import Reason
from tinkbox.model.workflow import DATA_FOLDER
from tinkbox.runtime import Container, ContainerFailed, ContainerSpec, Runtime
from tinkbox.runtime.authority_file import CA, https_variables
from tinkbox.runtime.container_image import ContainerImage
from tinkbox.runtime.secret_files import variables, with_values
from tinkbox.wire.messages.worker import Credential, Offer
from tinkbox.worker import outcome as verdict
from tinkbox.worker.containers.salvage import discard, salvage
from tinkbox.worker.files.failure_files import PLACES
from tinkbox.worker.files.helper_files import ENTRYPOINT, RUN, TARGET, TEKTON, HelperFiles
from tinkbox.worker.host.addresses import addressed
from tinkbox.worker.machine import Machine

ACTION = "action"  # the role of the action's own container; those of hooks are on-timeout and on-failure
ROLES = (ACTION, "on-timeout", "on-failure")
_SESSION = "tinkbox.session"
_log = logging.getLogger(__name__)
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


class Containers:
    """Finds, makes and ends them; every method may raise what `Runtime` raises."""

    def __init__(self, machine: Machine, offer: Offer, helper: HelperFiles | None) -> None:
        self._runtime = machine.runtime
        self._folder = machine.folder
        self._credential = machine.credential
        self._privileged = machine.privileged
        self._session = machine.session
        self._offer = offer
        self._helper = helper  # without one the image's command is process 1
        name = offer.action.spec.image
        self.image = ContainerImage(
            name,
            self._credential.registry,
            appliance_only=offer.appliance_only,
            tls=bool(self._credential.authority),
        )
        self._find_disk = machine.find_disk
        self._disk = ""  # the block device that `disk` means, once it is known

    async def choose_disk(self) -> str:
        """The block device that the action's `disk` means, empty when it has none; raises ContainerFailed.

        It is asked for before anything is fetched, and by a worker that was started since for what it makes itself.
        """
        selection = self._offer.action.spec.disk
        if selection and not self._disk:
            found = await self._find_disk(selection)
            if isinstance(found, Refused):
                raise ContainerFailed(found.reason, found.message)
            _log.info("disk %s is %s", selection, found, extra={"action": "attempt.disk"})
            self._disk = found
        return self._disk

    def check_volumes(self) -> None:
        """Raise ContainerFailed when a volume lies where the worker itself puts something."""
        own = {
            DATA_FOLDER,
            f"{DATA_FOLDER}/{self._offer.workflow_id}",
            *(target for targets in PLACES.values() for target in targets),
        }
        for volume in self._offer.action.spec.volumes:
            try:
                target = parse_volume(volume).target
            except Invalid as error:
                raise ContainerFailed(Reason.MOUNT_FAILED, f"the volume {volume} cannot be mounted: {error}") from None
            if target in own or any(Path(target).is_relative_to(each) for each in (TARGET, TEKTON)):
                raise ContainerFailed(
                    Reason.MOUNT_FAILED, f"the volume {volume} takes the place of tinkbox's own {target}: take it off"
                )

    async def check_network(self) -> None:
        """Raise ContainerFailed when the action names a bridge, and the engine has none: it would give it no network."""
        network = self._offer.action.spec.network
        if network in BRIDGES and not await self._runtime.has_network("bridge"):
            raise ContainerFailed(
                Reason.CREATE_FAILED,
                f"`network: {network}` cannot be had: this machine's Docker engine runs without a bridge, as that of an OSIE "
                "does; leave it out for the machine's own network, or name none",
            )

    async def unpack_data(self, archive: bytes) -> None:
        """Bring the workflow's data up to date; raises ContainerFailed."""
        await self._forget_names()
        with _local_faults():
            try:
                self._folder.data.unpack(self._offer.workflow_id, archive)
            except (Invalid, TooLarge) as error:
                raise ContainerFailed(verdict.data_reason(error), str(error)) from None

    async def found(self, role: str) -> Container | None:
        """The container of this role, if there is one."""
        found = await self._runtime.find({**_attempt(self._offer.attempt), "tinkbox.role": role})
        return found[0] if found else None

    async def foreign(self) -> str:
        """For which processors its image and this machine are, where that is not the same one; else empty."""
        await self.image.find_unless_known(self._runtime)
        return await self._runtime.foreign(self.image.name)

    async def made(self, role: str, command: tuple[str, ...], armed: Callable[[], Armed]) -> Container:
        """Make the container of this role; an action's with its helper, which holds what is `armed` by then."""
        spec = await self._spec(role, command)
        if role == ACTION and self._helper is not None:
            spec = await self._helped(spec, self._helper, armed)
        try:
            return await self._runtime.create(replace(spec, name=f"tinkbox-{self._offer.attempt}-{role}"))
        except ContainerFailed:
            # Since it was looked for, the name was taken: by a request of ours that the engine was slow to carry out, or by
            # another worker.
            taken = await self.found(role)
            if taken is None:
                raise
            if taken.labels.get(_SESSION) != self._session:
                raise SessionOver(f"another worker runs attempt {self._offer.attempt} on this engine already") from None
            return taken

    async def salvaged(self, dead: Container) -> Container:
        """A container of what one without a helper left behind, held by one; raises ContainerFailed."""
        files = self._folder.helper(self._offer.attempt)
        spec = await self._spec(ACTION, ())
        with _local_faults():
            files.prepare()
            files.set_policy(Armed(), again=True)
        return await salvage(self._runtime, dead, self._under_helper(spec, files))

    async def _spec(self, role: str, command: tuple[str, ...]) -> ContainerSpec:
        action, attempt = self._offer.action, self._offer.attempt
        await self.image.find_unless_known(self._runtime)  # a worker that was started since did not pull it itself
        bounded = await self._runtime.shares_mounts()
        with _local_faults():
            words = self._folder.words.prepare(attempt, role, action.spec.volumes, bounded=bounded)
        labels = {**_worker(self._credential), **_attempt(attempt), "tinkbox.role": role, _SESSION: self._session}
        own = {
            "TINKBOX_WORKFLOW": self._offer.workflow_id,
            "TINKBOX_ACTION": action.spec.name,
            "TINKBOX_ATTEMPT": attempt,
            "TINKBOX_SERVER": self._credential.url_for_others,
        }
        trusted = {}
        if self._credential.authority:
            with _local_faults():
                trusted = {CA: self._folder.authority(self._credential.authority)}
            own |= https_variables(self._credential.server)
        network = action.spec.network or MACHINE
        disk = await self.choose_disk()
        chosen = {"DEST_DISK": disk} if disk else {}
        own |= {"TINKBOX_DISK": disk} if disk else {}
        if self._offer.metadata:
            own["TINKBOX_METADATA"] = f"{self._credential.url_for_others}{self._offer.metadata}"
        changed = (self._offer.override if role == ACTION else None) or Override()
        given, uses = self._offer.given, action.spec.secrets
        with _local_faults():
            secrets = await self._folder.secrets.for_container(
                f"{attempt}-{role}", uses, given, self._runtime, self.image.name
            )
        environment = {**chosen, **action.spec.environment, **variables(uses, given), **changed.environment, **own}
        entrypoint = tuple(with_values(each, given) for each in changed.command or ())
        return ContainerSpec(
            image=self.image.name,
            labels=labels,
            entrypoint=entrypoint,
            command=() if entrypoint else tuple(with_values(each, given) for each in command),
            environment={name: with_values(value, given) for name, value in environment.items()},
            binds=action.spec.volumes,
            mounts={DATA_FOLDER: await self._data_folder(), **words, **trusted, **secrets},
            read_only=frozenset(trusted) | frozenset(secrets),
            pid=action.spec.pid,
            network=network,
            privileged=self._privileged,
            hosts={} if joins(network) else await addressed(self._offer.hosts, self._credential.server),
        )

    async def _helped(self, spec: ContainerSpec, files: HelperFiles, armed: Callable[[], Armed]) -> ContainerSpec:
        image = await self._runtime.image_command(self.image.name)
        words = spec.entrypoint or (*image.entrypoint, *(spec.command or image.command))
        if not words:
            return spec  # the engine says best what is wrong with it
        with _local_faults():
            files.prepare()
            files.set_command_line(words)
            files.set_policy(armed())
        return self._under_helper(spec, files)

    def _under_helper(self, spec: ContainerSpec, files: HelperFiles) -> ContainerSpec:
        own = files.mounts(self._folder.tools, self._offer.action.index)
        return replace(
            spec,
            entrypoint=(ENTRYPOINT,),
            command=(),
            mounts={**spec.mounts, **own},
            read_only=spec.read_only | (frozenset(own) - {RUN}),
        )

    async def halted(self, role: str, grace: int) -> Container | None:
        """Have the container of this role run no more, and never, nor a copy of it; returns it when there is one.

        What began is stopped, and stays with all that it printed; what never began is removed.
        """
        container = await self.found(role)
        if role == ACTION and not self._offer.action.spec.helper:
            await discard(self._runtime, self._offer.attempt)
        if container is None:
            return None
        await self._runtime.stop(container.id, grace)
        if container.started:
            return container
        # Behind an answer that was not waited for the engine was perhaps starting it: before that stop took effect, or after.
        container = await self.found(role)
        if container is not None and container.started:
            await self._runtime.stop(container.id, grace)
        elif container is not None:
            await self._runtime.remove(container.id)
        return container

    async def remove_all(self) -> None:
        """Remove the attempt's containers, whatever they do."""
        for container in await self._runtime.find(_attempt(self._offer.attempt)):
            await self._runtime.remove(container.id)
        if not self._offer.action.spec.helper:
            await discard(self._runtime, self._offer.attempt)
        try:
            for role in ROLES:
                self._folder.secrets.forget(f"{self._offer.attempt}-{role}")
        except OSError as error:
            _log.warning("files of secrets stay: %s", error, extra={"action": "secrets.kept"})
        await self._forget_names()

    async def _forget_names(self) -> None:
        engine = await self._runtime.process()
        try:
            self._folder.data.forget_names(engine)
        except OSError as error:
            _log.warning("the name of a workflow's data stays: %s", error, extra={"action": "data.named"})

    async def _data_folder(self) -> str:
        """Where the workflow's data is, which containers find below its own name as well."""
        engine, data, workflow = await self._runtime.process(), self._folder.data, self._offer.workflow_id
        try:
            data.name_within(workflow, engine)
        except OSError as error:
            _log.warning("there is no %s/%s: %s", DATA_FOLDER, workflow, error, extra={"action": "data.unnamed"})
        return str(data.folder(workflow))


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
    except Invalid as error:
        raise ContainerFailed(Reason.BAD_COMMAND, str(error)) from None
    except OSError as error:
        reason = Reason.NO_SPACE if error.errno in _FULL else Reason.OWN_FILES_FAILED
        raise ContainerFailed(reason, f"the worker's own files cannot be written: {error}") from None
