"""What a handler answers, said by the type that it returns, from which `api.openapi` describes it.

It is `Json` of a type, or `Annotated[web.StreamResponse, …]` with `Json` of a type or with `Media`: what is sent piece by piece,
or is no JSON.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from aiohttp import web

T = TypeVar("T")
JSON: Final = "application/json"
OCTETS: Final = "application/octet-stream"


class Json(web.Response, Generic[T]):
    """An answer whose body is JSON of this type."""


@dataclass(frozen=True, slots=True)
class Media:
    """An answer that is no JSON: it has one of these media types, as its request wants it.

    Without any it is a WebSocket.  Of one `in_parts` a part is sent where `Range` asks for it.
    """

    types: tuple[str, ...] = ()
    in_parts: bool = False


WEB_SOCKET: Final = Media()


def answered(document: T, status: int = 200) -> Json[T]:
    """An answer of this document."""
    return Json(text=json.dumps(document), status=status, content_type=JSON)


def written(body: bytes | str, headers: Mapping[str, str] | None = None) -> Json[Any]:
    """An answer of JSON that is text already, in UTF-8."""
    octets = body.encode() if isinstance(body, str) else body
    return Json(body=octets, content_type=JSON, charset="utf-8", headers=headers)
