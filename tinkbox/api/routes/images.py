"""`/v1/images`: the images that actions run from; `/v1/system-images`: the disks of operating systems among them."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Final, Protocol, TypedDict

from aiohttp import web

from tinkbox.api.access import caller, needing, needing_either, require_for
from tinkbox.api.answers import Json, Media, answered
from tinkbox.api.json_values import ProblemFields
from tinkbox.api.listing import Filters, listed
from tinkbox.api.requests import key_of, read_object, read_options, takes
from tinkbox.door.bodies import chunks_of
from tinkbox.door.file_answers import FileAnswer
from tinkbox.model.access import Right
from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.images.listed_images import ImageDescriptor, ImageLine, SystemImageLine
from tinkbox.model.images.room import Amount, Collected, ImageRoom
from tinkbox.wire.messages.json_fields import flag, texts


class Images(Protocol):
    """The image registry, as far as the operator loads, lists and deletes images and frees room.

    A Protocol because a floor is to be kept: `registry`, which has it, is this floor's neighbour.
    """

    async def load(self, stream: AsyncIterator[bytes], *, who: str, name: str = "") -> Sequence[str]: ...
    async def described(self, reference: str) -> ImageDescriptor: ...
    async def blob(self, digest: str) -> Path: ...
    async def absent(self, digests: Sequence[str]) -> Sequence[str]: ...
    async def images(self) -> Sequence[ImageLine]: ...
    async def system_images(self) -> Sequence[SystemImageLine]: ...
    async def system_image(self, reference: str) -> SystemImageLine: ...
    async def delete(self, reference: str, *, who: str) -> Sequence[Problem]: ...
    async def collect(self, *, who: str, dry_run: bool = False) -> Collected: ...
    def room(self) -> ImageRoom: ...


FILTERS: Final[Filters] = {"kind": lambda image: [image["kind"]]}


class LoadedDocument(TypedDict):
    loaded: list[str]


class AbsentDocument(TypedDict):
    absent: list[str]


class DeletedDocument(TypedDict, total=False):
    notes: list[ProblemFields]


class RoomDocument(TypedDict):
    blobs: int
    size: int
    incoming: int
    free: int
    reserve: int
    most: int | None


class AmountDocument(TypedDict):
    blobs: int
    size: int


class CollectedDocument(TypedDict):
    dry_run: bool
    freed: AmountDocument
    promised: AmountDocument
    unknown: AmountDocument
    notes: list[ProblemFields]


def _reference(request: web.Request) -> str:
    reference = request.query.get("reference", "")
    if not reference:
        raise Invalid("which image? give ?reference=name:tag")
    return reference


def _amount(told: Amount) -> AmountDocument:
    return {"blobs": told.number, "size": told.octets}


def routes(images: Images) -> list[web.RouteDef]:
    @takes("limit", "sort", several=("kind",))
    async def show_list(request: web.Request) -> Json[list[ImageLine]]:
        """The images in the registry."""
        return await listed(request, await images.images(), filters=FILTERS, sorts=("name", "size", "pushed_at"))

    async def show_system_image(request: web.Request) -> Json[SystemImageLine]:
        """A system image."""
        return answered(await images.system_image(key_of(request)))

    async def show_systems(_: web.Request) -> Json[list[SystemImageLine]]:
        """The system images."""
        return answered(list(await images.system_images()))

    @takes("name", body=None)
    async def load(request: web.Request) -> Json[LoadedDocument]:
        """Load the images of an archive, as `docker save` writes it; its only one as `name`."""
        name = request.query.get("name", "")
        names = await images.load(chunks_of(request), who=caller(request).name, name=name)
        return answered({"loaded": list(names)})

    @takes("reference")
    async def show_descriptor(request: web.Request) -> Json[ImageDescriptor]:
        """The manifest that a `reference` means; what it leads to are blobs."""
        return answered(await images.described(_reference(request)))

    async def blob(request: web.Request) -> Annotated[web.StreamResponse, Media(("application/octet-stream",))]:
        """A blob, which may be a manifest; with `Range` a part of it."""
        return FileAnswer(await images.blob(key_of(request)), headers={"Content-Type": "application/octet-stream"})

    @takes(body=("digests",))
    async def show_absent(request: web.Request) -> Json[AbsentDocument]:
        """Which blobs are not here, of all that an image needs: an archive may lack the others, which stay for an hour."""
        return answered({"absent": list(await images.absent(texts(await read_object(request), "digests")))})

    @takes("reference")
    async def delete(request: web.Request) -> Json[DeletedDocument]:
        """Delete the image of a `reference`; `notes` tell what stays of it."""
        notes = await images.delete(_reference(request), who=caller(request).name)
        return answered({"notes": [asdict(each) for each in notes]} if notes else {})

    async def show_room(_: web.Request) -> Json[RoomDocument]:
        """What all images take of the disk, and what may still come."""
        room = images.room()
        return answered(
            {
                "blobs": room.blobs.number,
                "size": room.blobs.octets,
                "incoming": room.incoming,
                "free": room.free,
                "reserve": room.reserve,
                "most": room.most,
            }
        )

    @takes(body=("dry_run",))
    async def collect(request: web.Request) -> Json[CollectedDocument]:
        """Free the blobs that no image needs; with `dry_run` only tell what that would free."""
        dry_run = flag(await read_options(request), "dry_run")
        require_for(request, changes=not dry_run)
        collected = await images.collect(who=caller(request).name, dry_run=dry_run)
        return answered(
            {
                "dry_run": dry_run,
                "freed": _amount(collected.freed),
                "promised": _amount(collected.promised),
                "unknown": _amount(collected.unknown),
                "notes": [asdict(each) for each in collected.notes],
            }
        )

    return [
        *needing(
            Right.LOOK,
            web.get("/v1/images", show_list),
            web.get("/v1/images/room", show_room),
            web.get("/v1/images/descriptor", show_descriptor),
            web.get("/v1/images/blobs/{key}", blob),
            web.get("/v1/system-images", show_systems),
            web.get("/v1/system-images/{key}", show_system_image),
        ),
        *needing_either(web.post("/v1/images/gc", collect)),
        *needing(
            Right.OPERATE,
            web.post("/v1/images", load),
            web.post("/v1/images/absent", show_absent),
            web.delete("/v1/images", delete),
        ),
    ]
