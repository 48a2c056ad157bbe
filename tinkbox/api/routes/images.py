"""`/v1/images`: the images that actions run from; `/v1/system-images`: the disks of operating systems among them."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final, Protocol

from aiohttp import web

from tinkbox.api.access import caller, needing
from tinkbox.api.listing import Filters, listed
from tinkbox.api.requests import key_of, takes
from tinkbox.door.bodies import chunks_of
from tinkbox.model.access import Right
from tinkbox.model.errors import Invalid


class Images(Protocol):
    """The image registry, as far as the operator loads, lists and deletes images.

    A Protocol because a floor is to be kept: `registry`, which has it, is this floor's neighbour.
    """

    async def load(self, stream: AsyncIterator[bytes], *, who: str) -> Sequence[str]: ...
    async def images(self) -> Sequence[Mapping[str, Any]]: ...
    async def system_images(self) -> Sequence[Mapping[str, Any]]: ...
    async def system_image(self, reference: str) -> Mapping[str, Any]: ...
    async def delete(self, reference: str, *, who: str) -> None: ...


FILTERS: Final[Filters] = {"kind": lambda image: [image["kind"]]}


def routes(images: Images) -> list[web.RouteDef]:
    @takes("limit", "sort", several=("kind",))
    async def show_list(request: web.Request) -> web.Response:
        """The images in the registry."""
        documents = [dict(each) for each in await images.images()]
        return await listed(request, documents, filters=FILTERS, sorts=("name", "size", "pushed_at"))

    async def show_system_image(request: web.Request) -> web.Response:
        """A system image."""
        return web.json_response(dict(await images.system_image(key_of(request))))

    async def show_systems(_: web.Request) -> web.Response:
        """The system images."""
        return web.json_response([dict(each) for each in await images.system_images()])

    @takes(body=None)
    async def load(request: web.Request) -> web.Response:
        """Load the images of an archive, as `docker save` writes it."""
        names = await images.load(chunks_of(request), who=caller(request).name)
        return web.json_response({"loaded": list(names)})

    @takes("reference")
    async def delete(request: web.Request) -> web.Response:
        """Delete the image of a `reference`."""
        reference = request.query.get("reference", "")
        if not reference:
            raise Invalid("which image? give ?reference=name:tag")
        await images.delete(reference, who=caller(request).name)
        return web.json_response({})

    return [
        *needing(
            Right.LOOK,
            web.get("/v1/images", show_list),
            web.get("/v1/system-images", show_systems),
            web.get("/v1/system-images/{key}", show_system_image),
        ),
        *needing(Right.OPERATE, web.post("/v1/images", load), web.delete("/v1/images", delete)),
    ]
