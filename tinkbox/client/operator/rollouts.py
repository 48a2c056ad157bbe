"""Rollouts: one template for many machines."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from tinkbox.client.operator.connection import Connection, Document, Found, Work, part
from tinkbox.model.key_kinds import ToChange

MAY_BE_MADE: Final = (
    "the rollout may be made all the same: `tinkbox rollout list` shows it, and a second one refuses the machines that the "
    "first one has"
)
NOTHING_MADE: Final = "nothing was begun, for this was a look only: type it again"


class Rollouts:
    """A key is an id, a template's name, or a unique beginning of an id.

    A name means the newest where a rollout is shown, and is refused by what changes one where several have it.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def found(self, asked: Mapping[str, str]) -> Found:
        """Those that are asked for: `state`, `template`, `label`, `limit`, `sort`."""
        return await self._connection.found("/v1/rollouts", asked)

    async def plan(self, wanted: Mapping[str, Any], waiting: Callable[[float], None]) -> Document:
        """What a rollout would do; `wanted` and `waiting` are as for `create`."""
        return await self._connection.work(
            "/v1/rollouts", {**wanted, "dry_run": True}, Work(waiting=waiting, broken=NOTHING_MADE, looks=True)
        )

    async def create(self, wanted: Mapping[str, Any], waiting: Callable[[float], None]) -> Document:
        """Make one of a `template` and `machines`; `tinkbox.api.routes.workflows.rollouts` lists what else may be wanted.

        The template is rendered for each machine: `waiting` hears every second how long that takes by now.
        """
        return await self._connection.work("/v1/rollouts", dict(wanted), Work(waiting=waiting, broken=MAY_BE_MADE))

    async def get(self, key: str, to_change: ToChange = ToChange.NO) -> Document:
        """Where it stands; `to_change` has it be what the key means for what changes it, refused where it may not be deleted."""
        asked = f"?to_change={to_change}" if to_change is not ToChange.NO else ""
        return await self._connection.document("GET", f"/v1/rollouts/{part(key)}{asked}")

    async def machines(self, key: str) -> list[Document]:
        """Every machine of it, in the order in which they begin."""
        return await self._connection.documents(f"/v1/rollouts/{part(key)}/machines")

    async def pause(self, key: str) -> Document:
        return await self._connection.document("POST", f"/v1/rollouts/{part(key)}/pause")

    async def resume(self, key: str, *, skip_refused: bool = False) -> Document:
        """With `skip_refused` it goes on without the machines that others took meanwhile; the answer's `refused` names them."""
        return await self._connection.document(
            "POST", f"/v1/rollouts/{part(key)}/resume", {"skip_refused": skip_refused}
        )

    async def cancel(self, key: str) -> Document:
        return await self._connection.document("POST", f"/v1/rollouts/{part(key)}/cancel")

    async def retry(self, key: str, *, skip_refused: bool = False) -> Document:
        """`skip_refused` is as for `resume`."""
        return await self._connection.document(
            "POST", f"/v1/rollouts/{part(key)}/retry", {"skip_refused": skip_refused}
        )

    async def delete(self, key: str) -> Document:
        return await self._connection.document("DELETE", f"/v1/rollouts/{part(key)}")
