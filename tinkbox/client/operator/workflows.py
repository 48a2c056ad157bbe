"""Workflows: their lives, their events, their output and their ephemeral data."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

from tinkbox.client.operator.connection import Connection, Document, Found, part
from tinkbox.model.key_kinds import ToChange
from tinkbox.model.labels import NO_LABELS, LabelChange, Labels


class Workflows:
    """A key is an id, a unique beginning of one, the name of the newest so called, or a machine whose newest it is.

    What changes a workflow takes no name that several have.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def all(self) -> list[Document]:
        return await self._connection.documents("/v1/workflows")

    async def found(self, asked: Mapping[str, str]) -> Found:
        """Those that are asked for: `state`, `machine`, `template`, `label`, `since`, `limit`, `sort`."""
        return await self._connection.found("/v1/workflows", asked)

    async def label(self, key: str, change: LabelChange) -> Document:
        asked = {"set": dict(change.set), "remove": list(change.removed)}
        return await self._connection.document("PATCH", f"/v1/workflows/{part(key)}/labels", asked)

    async def create(
        self,
        template: str,
        hardware: Mapping[str, Any],
        breakpoints: Mapping[str, Any] | None = None,
        *,
        confirm_wipe: bool = False,
        labels: Labels = NO_LABELS,
        machine: str = "",
        require_images: bool = False,
        strict: bool = False,
    ) -> Document:
        """For the machine of this key, which must have no other work, or behind what the machines of `hardware` have.

        With `require_images` none is made as long as an image is missing that the appliance should have;
        `strict` refuses what would be ignored of the template.
        """
        asked = {"template": template, "hardware": dict(hardware), **({"machine": machine} if machine else {})}
        asked |= _required(yes=require_images) | _strictly(yes=strict)
        return await self._create(asked, breakpoints, labels, confirm_wipe=confirm_wipe)

    async def create_from(
        self,
        documents: str,
        breakpoints: Mapping[str, Any] | None = None,
        *,
        confirm_wipe: bool = False,
        labels: Labels = NO_LABELS,
        again: bool = False,
        require_images: bool = False,
        strict: bool = False,
    ) -> Document:
        """Create every `kind: Workflow` of a file that is not there, or `again` all, with these labels beside its own."""
        asked = {"documents": documents, **({"again": True} if again else {}), **_required(yes=require_images)}
        asked |= _strictly(yes=strict)
        return await self._create(asked, breakpoints, labels, confirm_wipe=confirm_wipe)

    async def plan(self, template: str, machine: str, parameters: Mapping[str, Any]) -> Document:
        """What would happen; without a machine for the devices among the parameters."""
        asked = {"template": template, "hardware": dict(parameters), **({"machine": machine} if machine else {})}
        return await self._connection.document("POST", "/v1/workflows/plan", asked, looks=True)

    async def get(self, key: str) -> Document:
        return await self._connection.document("GET", f"/v1/workflows/{part(key)}")

    async def delete(self, key: str, run: int = 0) -> Document:
        """Forget a workflow that does not run; `run` as for `cancel`."""
        asked = f"?run={run}" if run else ""
        return await self._connection.document("DELETE", f"/v1/workflows/{part(key)}{asked}")

    async def state(self, key: str, to_change: ToChange = ToChange.NO) -> Document:
        """How the workflow stands; `to_change` has it be what the key means for what changes it."""
        asked = f"?to_change={to_change}" if to_change is not ToChange.NO else ""
        return await self._connection.document("GET", f"/v1/workflows/{part(key)}/state{asked}")

    async def cancel(self, key: str, *, force: bool = False, run: int = 0) -> Document:
        """Have a workflow end; with `force` also when its machine does not answer, with a `run` only in that one."""
        asked = {**({"force": True} if force else {}), **_in_run(run)} or None
        return await self._connection.document("POST", f"/v1/workflows/{part(key)}/cancel", asked)

    async def retry(self, key: str, first: str | None, *, confirm_wipe: bool = False, run: int = 0) -> Document:
        """Resume a workflow at the action called `first`, None: at the one it stopped at; `run` as for `cancel`."""
        asked = {"from": first, **_confirmed(yes=confirm_wipe), **_in_run(run)}
        return await self._connection.document("POST", f"/v1/workflows/{part(key)}/retry", asked)

    async def take_over(self, key: str) -> Document:
        """Bring the store up to what the workflow's machines did since it was put back to an earlier day."""
        return await self._connection.document("POST", f"/v1/workflows/{part(key)}/takeover")

    async def events(self, key: str, after: int = 0) -> list[Document]:
        """The workflow's events behind the one of this number; all of them where there is none of it (`Operator.events`)."""
        return await self._connection.documents(f"/v1/workflows/{part(key)}/events?after={after}")

    async def data(self, key: str, version: int) -> Document:
        """A version of the ephemeral data with its files, 0: the newest."""
        return await self._connection.document("GET", f"/v1/workflows/{part(key)}/data?version={version}")

    async def data_versions(self, key: str) -> list[Document]:
        return await self._connection.documents(f"/v1/workflows/{part(key)}/data/versions")

    def output(self, key: str, place: str = "", *, follow: bool) -> AsyncIterator[tuple[str, Document | None]]:
        """What the actions print behind `place`; `Connection.output` says how, and what is raised."""
        return self._connection.output(f"/v1/workflows/{part(key)}/logs?follow={int(follow)}", place)

    async def _create(
        self, asked: Document, breakpoints: Mapping[str, Any] | None, labels: Labels, *, confirm_wipe: bool
    ) -> Document:
        armed = {"breakpoints": dict(breakpoints)} if breakpoints else {}
        labelled = {"labels": dict(labels)} if labels else {}
        return await self._connection.document(
            "POST", "/v1/workflows", {**asked, **armed, **labelled, **_confirmed(yes=confirm_wipe)}
        )


def _in_run(run: int) -> Document:
    """Which run of a workflow is meant, 0: the one it is in, as the API takes it."""
    return {"run": run} if run else {}


def _strictly(*, yes: bool) -> Document:
    """That what would be ignored is refused, as the API takes it."""
    return {"strict": True} if yes else {}


def _required(*, yes: bool) -> Document:
    """That nothing is made as long as an image is missing, as the API takes it."""
    return {"require_images": True} if yes else {}


def _confirmed(*, yes: bool) -> Document:
    """A person's word that disks may be wiped, as the API takes it."""
    return {"confirm_wipe": True} if yes else {}
