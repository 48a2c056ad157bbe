"""The host of services: keeps what is wanted on one Docker engine, and nothing else that is its own."""

from collections.abc import Callable
from typing import NoReturn

from tinkbox.hosting import Desk, Place
from tinkbox.runtime.services import ServiceRuntime


class ServiceHost:
    """Level-triggered: killed at any moment, another one goes on where it was on the same engine and folder."""

    def __init__(self, runtime: ServiceRuntime, desk: Desk, place: Place, clock: Callable[[], float]) -> None:
        """`clock` is monotonic, in seconds."""

    async def run(self) -> NoReturn:
        """Make wanted services real and end others, for ever; neither an engine nor a desk that is away ends it."""
        raise NotImplementedError

    async def gather(self, workflow_id: str) -> None:
        """Have the desk keep what this workflow's services have in their /workflow by now."""
        raise NotImplementedError
