"""`/v1/workflows/KEY/data`: the ephemeral data of workflows."""

import asyncio
import base64
import hashlib
from collections.abc import Sequence
from typing import Annotated, NotRequired, TypedDict

from aiohttp import web

from tinkbox.api.access import keeping_to_scope, needing
from tinkbox.api.answers import Json, answered
from tinkbox.api.json_values import Time, time
from tinkbox.api.parameters import Parameter
from tinkbox.api.requests import key_of, number, takes
from tinkbox.api.scopes import Scopes
from tinkbox.engine.workflows.workflows import Workflows
from tinkbox.model.access import Right
from tinkbox.model.errors import Refusal
from tinkbox.model.workflow import Workflow
from tinkbox.store.ephemeral_data import DataVersion
from tinkbox.store.workflows import Attempt
from tinkbox.wire.ephemeral_data import Entry, decode


class FileDocument(TypedDict):
    """A file, a link or a folder; `error` says why what is there cannot be read."""

    path: str
    mode: NotRequired[int]
    size: NotRequired[int]
    sha256: NotRequired[str]
    content: NotRequired[Annotated[str, bytes]]
    link: NotRequired[str]
    error: NotRequired[str]


class VersionHead(TypedDict):
    version: int
    at: Time | None
    worker: str
    size: int
    sha256: str


class VersionDocument(VersionHead):
    kept: bool
    files: list[FileDocument]


class DataDocument(TypedDict):
    """Version 0 has no more than its number and no files."""

    version: int
    at: NotRequired[Time | None]
    worker: NotRequired[str]
    size: NotRequired[int]
    sha256: NotRequired[str]
    task: NotRequired[str]
    action: NotRequired[str]
    files: list[FileDocument]


def routes(workflows: Workflows, scopes: Scopes) -> list[web.RouteDef]:
    # What is answered takes several times its size while it is made: one is made at a time, beside the event loop.
    alone = asyncio.Lock()

    @takes(Parameter("version", int))
    async def show(request: web.Request) -> Json[DataDocument]:
        """The ephemeral data with the content of its files, the newest or that of a `version`."""
        async with alone:
            workflow = await workflows.get(key_of(request))
            version = await workflows.data(workflow.id, number(request, "version"))
            made = await workflows.attempts(workflow.id)
            return await asyncio.to_thread(lambda: answered(data_document(version, workflow, made)))

    async def versions(request: web.Request) -> Json[list[VersionDocument]]:
        """Every version of the ephemeral data, oldest first, without what is in its files."""
        async with alone:
            found = await workflows.data_versions(key_of(request))
            return await asyncio.to_thread(lambda: answered(version_documents(found)))

    return needing(
        Right.LOOK,
        *keeping_to_scope(
            scopes.workflow,
            web.get("/v1/workflows/{key}/data", show),
            web.get("/v1/workflows/{key}/data/versions", versions),
        ),
    )


def data_document(version: DataVersion | None, flow: Workflow, made: Sequence[Attempt]) -> DataDocument:
    """A version of the ephemeral data with its files; version 0 when nothing was ever written.

    `made` are the attempts of its workflow: a worker makes one after another, so the last one that had begun wrote it.
    """
    if version is None or version.archive is None:
        return {"version": 0, "files": []}
    writer = next((each for each in reversed(made) if _may_have_written(each, version)), None)
    action = flow.actions[writer.position].action if writer else None
    return {
        **_version(version),
        "task": action.task if action else "",
        "action": action.spec.name if action else "",
        "files": _files(version.archive),
    }


def _may_have_written(attempt: Attempt, version: DataVersion) -> bool:
    return attempt.worker == version.worker and attempt.started_at <= version.at


def version_documents(versions: Sequence[DataVersion]) -> list[VersionDocument]:
    """Every version, oldest first: of those that are kept with the files, but without what is in them."""
    return [
        {
            **_version(each),
            "kept": each.archive is not None,
            "files": [_without_content(file) for file in _files(each.archive or b"")],
        }
        for each in versions
    ]


def _version(version: DataVersion) -> VersionHead:
    return {
        "version": version.version,
        "at": time(version.at),
        "worker": version.worker,
        "size": version.size,
        "sha256": version.digest,
    }


def _without_content(file: FileDocument) -> FileDocument:
    file.pop("content", None)
    return file


def _files(archive: bytes) -> list[FileDocument]:
    try:
        return [_file(entry) for entry in decode(archive)]
    except Refusal as error:
        return [{"path": "", "error": str(error)}]


def _file(entry: Entry) -> FileDocument:
    if entry.link is not None:
        return {"path": entry.path, "link": entry.link}
    if entry.content is None:
        return {"path": entry.path, "mode": entry.mode}
    return {
        "path": entry.path,
        "mode": entry.mode,
        "size": len(entry.content),
        "sha256": hashlib.sha256(entry.content).hexdigest(),
        "content": base64.b64encode(entry.content).decode(),
    }
