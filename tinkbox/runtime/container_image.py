"""The image of a container, wherever it comes from: the appliance, or the host in its name where that has it not."""

from collections.abc import Callable

from tinkbox.model.errors import Unavailable
from tinkbox.model.images.references import Sources, parse_reference
from tinkbox.model.reasons import Reason
from tinkbox.runtime import ContainerFailed, Containers, Runtime, nobody_listens
from tinkbox.runtime.engine_messages import of_registry, over_tls, wants_https

Heard = Callable[[], None]


class RegistryAway(Unavailable):
    """The appliance's own registry does not answer now."""

    reason = Reason.REGISTRY_UNREACHABLE


def _unheard(_: "ContainerImage") -> Heard:
    return nobody_listens


class ContainerImage:
    """The image of this name, as hosts of the appliance whose registry this is ask for it (`Sources.of`).

    `tls` tells that this registry is asked over TLS, so that the engine needs to know of no plain HTTP.
    """

    def __init__(self, name: str, appliance: str, *, appliance_only: bool, tls: bool = False) -> None:
        self._appliance = appliance
        self._tls = tls
        self._sources = Sources.of(parse_reference(name), appliance, appliance_only=appliance_only)
        self._at = 0  # which of them it comes from
        self._known = len(self._sources.names) == 1  # whether that is known by now

    @property
    def name(self) -> str:
        """Its full name where it comes from."""
        return self._sources.names[self._at].pulled

    @property
    def registry(self) -> str:
        """Where it comes from."""
        return self._sources.names[self._at].host

    @property
    def digest(self) -> str:
        """Of the bytes that are meant; empty: its name does not say."""
        return self._sources.names[0].digest

    def pin(self, digest: str) -> None:
        """From now on it has this digest."""
        self._sources = self._sources.pinned(digest)

    async def find(self, runtime: Runtime) -> bool:
        """Whether the engine has it; it then goes by the name that it has there.  What was pulled is known already."""
        for at, each in enumerate(self._sources.names):
            if await runtime.has(each.pulled):
                self._at, self._known = at, True
                return True
        return False

    async def find_unless_known(self, runtime: Runtime) -> None:
        """The same of one that another process of ours may have pulled."""
        if not self._known:
            await self.find(runtime)

    async def pull(self, runtime: Containers, asking: Callable[["ContainerImage"], Heard] = _unheard) -> str:
        """Fetch it from the first source that has it; returns the digest, empty when it is not known.

        `asking` is called for each source before it is asked, and what it returns as `Containers.pull` says.  Raises RegistryAway
        while the appliance does not answer, though another source may: it says first what an image is.  Raises ContainerFailed.
        """
        last = len(self._sources.names) - 1
        for at in range(last + 1):
            self._at = at
            try:
                digest = await runtime.pull(self.name, asking(self))
            except ContainerFailed as error:
                is_ours, told = self.registry == self._appliance, str(error)
                if is_ours and self._tls:
                    told = over_tls(told)
                told = of_registry(told, self.registry, ours=is_ours)
                if is_ours and error.reason == Reason.REGISTRY_UNREACHABLE and not wants_https(told):
                    raise RegistryAway(told) from None
                if error.reason != Reason.IMAGE_NOT_FOUND or at == last:
                    raise ContainerFailed(error.reason, told) from None
            else:
                self._known = True
                return digest
        raise AssertionError  # the last source either has it or raises
