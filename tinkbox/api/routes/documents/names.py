"""`/v1/names/KIND?prefix=…`: names that begin so, for those who help a person to type them."""

from collections.abc import Sequence
from typing import Final, TypedDict

from aiohttp import web

from tinkbox.api.access import needing
from tinkbox.api.answers import Json, answered
from tinkbox.api.long_answers import in_turn
from tinkbox.api.parameters import Parameter
from tinkbox.api.requests import key_of, takes
from tinkbox.api.routes.images.images import Images
from tinkbox.engine.views.suggested_names import SuggestedNames, first_of
from tinkbox.model.access import Right
from tinkbox.model.errors import NotFound
from tinkbox.model.key_kinds import KeyKind, SuggestedName
from tinkbox.model.spelling import meant

KINDS: Final = {each.name.lower().replace("_", "-"): each for each in KeyKind}


class NameDocument(TypedDict):
    name: str
    about: str


def routes(names: SuggestedNames, images: Images) -> list[web.RouteDef]:
    @takes(Parameter("prefix", may_be_empty=True))
    async def show(request: web.Request) -> Json[list[NameDocument]]:
        """Names of a kind that begin with `prefix`, for completions."""
        kind = _kind(key_of(request))
        prefix = request.query.get("prefix", "")
        match kind:
            case KeyKind.IMAGE:
                found = first_of(await _images(images), prefix)
            case KeyKind.SYSTEM_IMAGE:
                found = first_of(await _system_images(images), prefix)
            case _:
                found = await names.beginning(kind, prefix)
        return answered([{"name": each.name, "about": each.about} for each in found])

    return needing(Right.LOOK, *in_turn(web.get("/v1/names/{key}", show)))


def _kind(name: str) -> KeyKind:
    if name not in KINDS:
        raise NotFound(f"{name[:40]!r} is no kind of names: {meant(name, KINDS)}")
    return KINDS[name]


async def _images(images: Images) -> Sequence[SuggestedName]:
    return [SuggestedName(f"{each['name']}:{each['tag']}") for each in await images.images() if each["tag"]]


async def _system_images(images: Images) -> Sequence[SuggestedName]:
    """Each by its id, which means the newest, and with each of its tags."""
    kept = [(each["id"], each["config"]["title"], each["tags"]) for each in await images.system_images()]
    newest = [SuggestedName(identity, title) for identity, title, _ in kept]
    return [*newest, *(SuggestedName(f"{identity}:{tag}", title) for identity, title, tags in kept for tag in tags)]
