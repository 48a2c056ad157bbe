"""A network for every workflow with services, out of the addresses that the operator gave for them."""

import asyncio
import logging
from collections.abc import Callable

from tinkbox.hosting import Place
from tinkbox.model.actions.namespaces import MACHINE
from tinkbox.model.reasons import Reason
from tinkbox.runtime import ContainerFailed
from tinkbox.runtime.hosting import Network, ServiceRuntime

LENGTH = 28  # the prefix of a workflow's network: 13 services
_log = logging.getLogger(__name__)


class Networks:
    """Those of one host on its engine; every method may raise EngineAway."""

    def __init__(self, runtime: ServiceRuntime, place: Place) -> None:
        self._runtime = runtime
        self._place = place
        self._turn = asyncio.Lock()  # two services of a workflow that begin at once make one network

    async def of(self, workflow_id: str) -> str:
        """The id of a workflow's network, which is made when there is none; raises ContainerFailed: NetworkFailed."""
        if self._place.subnets is None:
            return MACHINE
        labels = {"tinkbox.host": self._place.host, "tinkbox.workflow": workflow_id}
        async with self._turn:
            known = await self._runtime.networks()
            found = [network for network in known if labels.items() <= network.labels.items()]
            if found:
                return found[0].id
            made = await self._made(f"tinkbox-{workflow_id}", labels, known)
        _log.info("workflow %s: network %s", workflow_id, made.subnets[0], extra={"action": "network.made"})
        return made.id

    async def sweep(self, needed: Callable[[str], bool]) -> None:
        """Remove those of workflows that are not `needed` any more."""
        async with self._turn:
            for network in await self._runtime.networks():
                ours = network.labels.get("tinkbox.host") == self._place.host
                if ours and not needed(network.labels.get("tinkbox.workflow", "")):
                    try:
                        await self._runtime.remove_network(network.id)
                    except ContainerFailed as error:
                        _log.warning(
                            "network %s stays behind: %s", network.id, error, extra={"action": "network.stray"}
                        )

    async def _made(self, name: str, labels: dict[str, str], known: list[Network]) -> Network:
        assert self._place.subnets is not None
        taken = [subnet for network in known for subnet in network.subnets]
        try:
            for subnet in self._place.subnets.subnets(new_prefix=max(LENGTH, self._place.subnets.prefixlen)):
                if any(subnet.overlaps(other) for other in taken):
                    continue
                # What others take meanwhile, only the engine knows.
                made = await self._runtime.create_network(name, subnet, labels)
                if made is not None:
                    return made
        except ContainerFailed as error:
            raise ContainerFailed(Reason.NETWORK_FAILED, str(error)) from None
        raise ContainerFailed(
            Reason.NETWORK_FAILED, f"no subnet of {self._place.subnets} is free for the workflow's services"
        )
