"""`/v1/images`: the images that actions run from; `/v1/system-images`: the disks of operating systems among them."""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Final, Protocol, TypedDict

from aiohttp import web

from tinkbox.api.access import caller, needing, needing_either, require_for
from tinkbox.api.answers import OCTETS, Json, Media, answered
from tinkbox.api.auditing import changed, changes_nothing, did, explain, frees_room, note_rehearsal
from tinkbox.api.json_values import ProblemFields
from tinkbox.api.listing import Filters, listed
from tinkbox.api.parameters import LIMIT, Parameter, sort_by
from tinkbox.api.requests import key_of, read_object, read_options, takes
from tinkbox.door.answers.blob_answers import BlobAnswer, Blobs, wants_anew
from tinkbox.door.connections.client_presence import WhileThere
from tinkbox.door.problems import refusal_problem
from tinkbox.door.requests.bodies import chunks_of
from tinkbox.model.access import Right
from tinkbox.model.errors import Invalid, Problem, Refusal
from tinkbox.model.images.deleted import Deleted
from tinkbox.model.images.listed_images import ImageDescriptor, ImageLine, SystemImageLine
from tinkbox.model.images.room import Amount, Collected, ImageRoom
from tinkbox.model.text import counted
from tinkbox.wire.messages.json_fields import flag, texts


class Images(Blobs, Protocol):
    """The image registry, as far as the operator loads, lists and deletes images and frees room.

    A Protocol because a floor is to be kept: `registry`, which has it, is this floor's neighbour.
    """

    async def load(
        self, stream: AsyncIterator[bytes], *, who: str, name: str = "", tell: Callable[[Problem], None]
    ) -> Sequence[str]: ...
    async def described(self, reference: str) -> ImageDescriptor: ...
    async def referring(self, reference: str) -> Sequence[ImageDescriptor]: ...
    async def blob(self, digest: str, *, anew: bool = False) -> Path: ...
    async def absent(self, digests: Sequence[str]) -> Sequence[str]: ...
    async def images(self) -> Sequence[ImageLine]: ...
    async def system_images(self) -> Sequence[SystemImageLine]: ...
    async def system_image(self, reference: str) -> SystemImageLine: ...
    async def delete(self, reference: str, *, who: str, meant: str = "") -> Deleted: ...
    async def collect(
        self, *, who: str, dry_run: bool = False, now: bool = False, untagged: bool = False
    ) -> Collected: ...
    def room(self) -> ImageRoom: ...


FILTERS: Final[Filters] = {"kind": lambda image: [image["kind"]]}


class AbsenceWish(TypedDict):
    digests: list[str]


class CollectionWish(TypedDict, total=False):
    dry_run: bool
    now: bool
    untagged: bool


class LoadedDocument(TypedDict):
    loaded: list[str]
    notes: list[ProblemFields]


class ReferrersDocument(TypedDict):
    referrers: list[ImageDescriptor]


class AbsentDocument(TypedDict):
    absent: list[str]


class DeletedDocument(TypedDict, total=False):
    name: str
    notes: list[ProblemFields]


class RoomDocument(TypedDict):
    blobs: int
    size: int
    incoming: int
    free: int
    reserve: int
    most: int | None
    file_size_limit: int | None


class AmountDocument(TypedDict):
    blobs: int
    size: int


class UntaggedDocument(TypedDict):
    images: int
    size: int


class CollectedDocument(TypedDict):
    dry_run: bool
    images: int
    freed: AmountDocument
    promised: AmountDocument
    unknown: AmountDocument
    untagged: UntaggedDocument
    notes: list[ProblemFields]


def _told(deleted: Deleted) -> DeletedDocument:
    told: DeletedDocument = {"name": deleted.name}
    if deleted.notes:
        told["notes"] = [asdict(each) for each in deleted.notes]
    return told


def _reference(request: web.Request) -> str:
    reference = request.query.get("reference", "")
    if not reference:
        raise Invalid("which image? give ?reference=name:tag")
    return reference


async def _digest(images: Images, reference: str) -> str:
    """What a name means now; empty: nothing."""
    try:
        return (await images.described(reference))["digest"]
    except Refusal:
        return ""


async def _tell_loaded(request: web.Request, images: Images, names: Sequence[str]) -> None:
    did(request, "image loaded", *names)
    for each in names:
        changed(request, "image", each, "", await _digest(images, each))


def _tell_collected(request: web.Request, collected: Collected, *, is_rehearsal: bool) -> None:
    if is_rehearsal:
        return
    did(request, "images collected", "registry")
    explain(request, f"freed {collected.freed}, and {counted(collected.images, 'image')} without a tag went for that")


def _amount(told: Amount) -> AmountDocument:
    return {"blobs": told.number, "size": told.octets}


def routes(images: Images) -> list[web.RouteDef]:
    @takes(LIMIT, sort_by(("name", "size", "pushed_at")), several=("kind",))
    async def show_list(request: web.Request) -> Json[list[ImageLine]]:
        """The images in the registry."""
        return await listed(request, await images.images(), filters=FILTERS)

    async def show_system_image(request: web.Request) -> Json[SystemImageLine]:
        """A system image."""
        return answered(await images.system_image(key_of(request)))

    async def show_systems(_: web.Request) -> Json[list[SystemImageLine]]:
        """The system images."""
        return answered(list(await images.system_images()))

    @takes("name", body=None)
    async def load(request: web.Request) -> Json[LoadedDocument]:
        """Load the images of an archive, as `docker save` writes it; its only one as `name`.  `notes` tell of tags that moved."""
        name, notes = request.query.get("name", ""), list[Problem]()
        async with WhileThere(request):
            names = await images.load(chunks_of(request), who=caller(request).name, name=name, tell=notes.append)
        await _tell_loaded(request, images, names)
        return answered({"loaded": list(names), "notes": [asdict(each) for each in notes]})

    @takes(Parameter("reference", required=True))
    async def show_descriptor(request: web.Request) -> Json[ImageDescriptor]:
        """The manifest that a `reference` means; what it leads to are blobs."""
        return answered(await images.described(_reference(request)))

    @takes(Parameter("reference", required=True))
    async def show_referrers(request: web.Request) -> Json[ReferrersDocument]:
        """What refers to the image of a `reference`: signatures, bills of materials, and what refers to these."""
        return answered({"referrers": list(await images.referring(_reference(request)))})

    async def blob(request: web.Request) -> Annotated[web.StreamResponse, Media((OCTETS,), in_parts=True)]:
        """A blob, which may be a manifest; with `Range` a part of it, with `Cache-Control: no-cache` hashed anew before."""
        digest = key_of(request)
        path = await images.blob(digest, anew=wants_anew(request))
        return BlobAnswer(path, images, digest, refusal_problem, {"Content-Type": OCTETS})

    @changes_nothing
    @takes(body=AbsenceWish)
    async def show_absent(request: web.Request) -> Json[AbsentDocument]:
        """Which blobs are not here, of all that an image needs: an archive may lack the others, which stay for an hour."""
        return answered({"absent": list(await images.absent(texts(await read_object(request), "digests")))})

    @frees_room
    @takes(Parameter("reference", required=True), "digest")
    async def delete(request: web.Request) -> Json[DeletedDocument]:
        """Delete the image of a `reference`, with `digest` only while it means that; the `name` is that of lists, `notes` tell what stays of it."""
        meant = request.query.get("digest", "")
        before = await _digest(images, _reference(request))
        deleted = await images.delete(_reference(request), who=caller(request).name, meant=meant)
        did(request, "image deleted", deleted.name)
        changed(request, "image", deleted.name, before, "")
        return answered(_told(deleted))

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
                "file_size_limit": room.file_size_limit,
            }
        )

    @frees_room
    @takes(body=CollectionWish, optional=True)
    async def collect(request: web.Request) -> Json[CollectedDocument]:
        """Free the blobs that no image needs, with `now` though a push may need them, with `untagged` also the images without a tag."""
        options = await read_options(request)
        dry_run = flag(options, "dry_run")
        require_for(request, changes=not dry_run, right=Right.PUSH)
        note_rehearsal(request, dry_run)
        collected = await images.collect(
            who=caller(request).name,
            dry_run=dry_run,
            now=flag(options, "now"),
            untagged=flag(options, "untagged"),
        )
        _tell_collected(request, collected, is_rehearsal=dry_run)
        return answered(
            {
                "dry_run": dry_run,
                "images": collected.images,
                "freed": _amount(collected.freed),
                "promised": _amount(collected.promised.blobs),
                "unknown": _amount(collected.unknown),
                "untagged": {"images": collected.untagged.number, "size": collected.untagged.octets},
                "notes": [asdict(each) for each in collected.notes],
            }
        )

    return [
        *needing(
            Right.LOOK,
            web.get("/v1/images", show_list),
            web.get("/v1/images/room", show_room),
            web.get("/v1/images/descriptor", show_descriptor),
            web.get("/v1/images/referrers", show_referrers),
            web.get("/v1/images/blobs/{key}", blob),
            web.get("/v1/system-images", show_systems),
            web.get("/v1/system-images/{key}", show_system_image),
        ),
        *needing_either(web.post("/v1/images/gc", collect), right=Right.PUSH),
        *needing(
            Right.PUSH,
            web.post("/v1/images", load),
            web.post("/v1/images/absent", show_absent),
            web.delete("/v1/images", delete),
        ),
    ]
