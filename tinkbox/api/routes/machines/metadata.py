"""`/v1/metadata/defaults`: what the appliance's configuration tells every installed system of who may log in."""

from collections.abc import Sequence
from typing import TypedDict

from aiohttp import web

from tinkbox.api.access import needing
from tinkbox.api.answers import Json, answered
from tinkbox.model.access import Right


class MetadataDefaults(TypedDict):
    ssh_keys: list[str]


def routes(ssh_keys: Sequence[str]) -> list[web.RouteDef]:
    async def show(_: web.Request) -> Json[MetadataDefaults]:
        """What every installed system is told of who may log in."""
        return answered({"ssh_keys": list(ssh_keys)})

    return needing(Right.LOOK, web.get("/v1/metadata/defaults", show))
