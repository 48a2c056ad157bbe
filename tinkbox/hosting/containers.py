"""The container of one run of a service."""

import errno
from collections.abc import Mapping
from dataclasses import replace

from tinkbox.hosting import Place
from tinkbox.hosting.folder import RunFolder
from tinkbox.hosting.networks import Networks
from tinkbox.model.actions.volumes import parse_volume
from tinkbox.model.errors import Invalid, Unavailable
from tinkbox.model.reasons import Reason
from tinkbox.model.services import HostFolder, Resources
from tinkbox.model.workflow import DATA_FOLDER
from tinkbox.runtime import Container, ContainerFailed, ContainerSpec
from tinkbox.runtime.authority_file import CA, https_variables
from tinkbox.runtime.container_image import ContainerImage
from tinkbox.runtime.hosting import ServiceRuntime
from tinkbox.runtime.secret_files import variables, with_values
from tinkbox.wire.messages.hosting import WantedService
from tinkbox.wire.routing.labels import read_labels

# To begin as root, take a port below 1024, own files and become somebody else; not to make devices or raw packets.
CAPABILITIES = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "NET_BIND_SERVICE", "SETGID", "SETUID")
LOG_BYTES = 128 * 1024 * 1024
# A machine's worker takes what carries these for a container of an action.
_NOT_TAKEN = frozenset({"tinkbox.worker", "tinkbox.attempt", "tinkbox.role"})
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


class StartRefused(Unavailable):
    """The engine refuses now what it did before, and may do again, as when it is about to end."""

    reason = Reason.START_FAILED


class ServiceContainer:
    """Every method may raise EngineAway."""

    def __init__(
        self, runtime: ServiceRuntime, place: Place, networks: Networks, wanted: WantedService, folder: RunFolder
    ) -> None:
        self._runtime = runtime
        self._place = place
        self._networks = networks
        self._wanted = wanted
        self._folder = folder
        self.service = wanted.service
        name = wanted.service.spec.image
        self._image = ContainerImage(name, place.registry, appliance_only=wanted.appliance_only, tls=place.tls)

    @property
    def image(self) -> str:
        """The image's full name where it comes from: the appliance, or the host in its name."""
        return self._image.name

    async def pull(self) -> str:
        """Fetch its image; returns the digest, empty when it is not known.  Raises RegistryAway, or ContainerFailed."""
        digest = await self._image.pull(self._runtime)
        if digest and not self._image.digest:
            self._image.pin(digest)
        return self._image.digest

    async def found(self) -> Container | None:
        """It, if it was made."""
        return await found_container(self._runtime, self._place, self._wanted.run)

    async def create(self) -> Container:
        """Make it; its folder must be there.  Raises ContainerFailed."""
        spec = await self._spec()
        try:
            return await self._runtime.create(spec)
        except ContainerFailed:
            # Behind an answer that was lost it may have been made, and its name be taken.
            found = await self.found()
            if found is None:
                raise
            return found

    async def start(self, container: Container, *, again: bool) -> None:
        """Start it; raises ContainerFailed, or StartRefused when it ran before."""
        self.volumes()  # an earlier release may have made it, with a path that the engine would resolve again
        try:
            await self._runtime.start(container.id)
        except ContainerFailed as error:
            if not again or error.reason == Reason.CONTAINER_LOST:
                raise
            raise StartRefused(str(error)) from None

    def make_folder(self) -> None:
        """Make what it has as /workflow; raises ContainerFailed."""
        try:
            self._folder.make()
        except OSError as error:
            reason = Reason.NO_SPACE if error.errno in _FULL else Reason.OWN_FILES_FAILED
            raise ContainerFailed(reason, f"its /workflow cannot be made: {error}") from None

    def volumes(self) -> Mapping[str, HostFolder]:
        """The named folders that it mounts, by where it has them; none where volumes are as for actions, as on a machine.

        Raises ContainerFailed for a volume that the host does not name.  A folder is mounted whole, under the path that the operator wrote: whoever writes in it cannot change where it is.
        """
        known = self._place.volumes
        if known is None:
            return {}
        mounted: dict[str, HostFolder] = {}
        for volume in self.service.spec.volumes:
            try:
                parsed = parse_volume(volume, shortest=1)
            except Invalid as error:
                raise ContainerFailed(Reason.UNKNOWN_VOLUME, f"the volume {volume}: {error}") from None
            source = parsed.source
            if source not in known:
                text = (
                    f"the volume {volume}: {source} is none that services.volumes in the appliance's tinkbox.yaml names"
                )
                raise ContainerFailed(Reason.UNKNOWN_VOLUME, text)
            folder = known[source]
            mounted[parsed.target] = replace(folder, read_only=folder.read_only or "ro" in parsed.modes)
        return mounted

    def ports(self, exposed: tuple[int, ...]) -> tuple[int, ...]:
        """What it listens on, given what its image exposes; raises ContainerFailed when a route leads nowhere."""
        known = self.service.spec.ports or exposed
        routes = read_labels(self.service.spec.labels, self.service.spec.urls).routes
        if not known and any(route.port is None for route in routes):
            raise ContainerFailed(
                Reason.NO_PORT, "routes lead to it, but neither the template nor its image names a port"
            )
        return known

    def _resources(self) -> Resources:
        asked, share = self.service.spec.resources, self._place.share
        return asked if share is None else asked.or_else(share.usual).at_most(share.most)

    async def _spec(self) -> ContainerSpec:
        wanted, service, place = self._wanted, self.service, self._place
        own = {
            "TINKBOX_WORKFLOW": wanted.workflow_id,
            "TINKBOX_SERVICE": service.spec.name,
            "TINKBOX_SERVER": place.server,
            **(https_variables(place.https_server) if place.https_server else {}),
        }
        ours = {
            **run_labels(place, wanted.run),
            "tinkbox.workflow": wanted.workflow_id,
            "tinkbox.service": service.spec.name,
        }
        volumes, given, uses = self.volumes(), wanted.given, service.spec.secrets
        try:
            secrets = await self._folder.secrets(uses, given, self._runtime, self.image)
            trusted = {CA: self._folder.authority(place.authority)} if place.https_server else {}
        except OSError as error:
            reason = Reason.NO_SPACE if error.errno in _FULL else Reason.OWN_FILES_FAILED
            raise ContainerFailed(reason, f"the files that it is given cannot be made: {error}") from None
        environment = {**service.spec.environment, **variables(uses, given), **own}
        return ContainerSpec(
            image=self.image,
            name=f"tinkbox-{wanted.run}",
            labels={**{name: value for name, value in service.spec.labels if name not in _NOT_TAKEN}, **ours},
            command=tuple(with_values(each, given) for each in service.spec.command),
            environment={name: with_values(value, given) for name, value in environment.items()},
            binds=service.spec.volumes if place.volumes is None else (),
            mounts={
                **{target: folder.path for target, folder in volumes.items()},
                DATA_FOLDER: str(self._folder.workflow),
                **trusted,
                **secrets,
            },
            read_only=frozenset(trusted)
            | frozenset(secrets)
            | {target for target, folder in volumes.items() if folder.read_only},
            network=await self._networks.of(wanted.workflow_id),
            hosts=wanted.hosts,
            ports=service.spec.ports,
            health=service.spec.health,
            privileged=place.privileged,
            elevates=place.privileged,
            log_bytes=LOG_BYTES,
            resources=self._resources(),
            capabilities=None if place.share is None else CAPABILITIES,
        )


def run_labels(place: Place, run: str) -> dict[str, str]:
    """What the containers of a run are found by."""
    return {"tinkbox.host": place.host, "tinkbox.run": run}


async def found_container(runtime: ServiceRuntime, place: Place, run: str) -> Container | None:
    """The container of a run, if there is one."""
    found = await runtime.find(run_labels(place, run))
    return found[0] if found else None
