"""Rollouts: one template for many machines."""

from collections.abc import Mapping
from typing import Any

from tinkbox.client.operator.connection import Connection, Document, Found, part


class Rollouts:
    """A key is an id, a unique beginning of one, or a template's name, whose newest rollout is meant."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def found(self, asked: Mapping[str, str]) -> Found:
        """Those that are asked for: `state`, `template`, `label`, `limit`, `sort`."""
        return await self._connection.found("/v1/rollouts", asked)

    async def plan(self, wanted: Mapping[str, Any]) -> Document:
        """What a rollout would do; `wanted` is as for `create`."""
        return await self._connection.document("POST", "/v1/rollouts", {**wanted, "dry_run": True})

    async def create(self, wanted: Mapping[str, Any]) -> Document:
        """Make one of a `template` and `machines`; `tinkbox.api.routes.rollouts` lists what else may be wanted."""
        return await self._connection.document("POST", "/v1/rollouts", dict(wanted))

    async def get(self, key: str) -> Document:
        return await self._connection.document("GET", f"/v1/rollouts/{part(key)}")

    async def machines(self, key: str) -> list[Document]:
        """Every machine of it, in the order in which they begin."""
        return await self._connection.documents(f"/v1/rollouts/{part(key)}/machines")

    async def pause(self, key: str) -> Document:
        return await self._connection.document("POST", f"/v1/rollouts/{part(key)}/pause")

    async def resume(self, key: str) -> Document:
        return await self._connection.document("POST", f"/v1/rollouts/{part(key)}/resume")

    async def cancel(self, key: str) -> Document:
        return await self._connection.document("POST", f"/v1/rollouts/{part(key)}/cancel")

    async def retry(self, key: str) -> Document:
        return await self._connection.document("POST", f"/v1/rollouts/{part(key)}/retry")

    async def delete(self, key: str) -> Document:
        return await self._connection.document("DELETE", f"/v1/rollouts/{part(key)}")
