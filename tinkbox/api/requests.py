"""What a request says, read: its JSON object, the key in its path, numbers in its query.

Each route declares the names that it knows (`takes`); another one is refused, for it would count for nothing: a misspelt
filter would select everything, a misspelt `dry_run` would be none.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypedDict, TypeVar

from aiohttp import hdrs, web

from tinkbox.api.parameters import Parameter, parameter
from tinkbox.door.requests.bodies import body_of
from tinkbox.model.devices import device_value
from tinkbox.model.documents.json_text import TooManyValues, read_document, read_large
from tinkbox.model.errors import Invalid, TooLarge
from tinkbox.model.key_kinds import ToChange
from tinkbox.model.labels import LabelChange, parse_change, parse_labels
from tinkbox.model.spelling import meant
from tinkbox.model.text import quoted
from tinkbox.wire.messages.json_fields import check_size, texts

MAX_DOCUMENT: Final = 4 * 1024 * 1024
MAX_DIGITS: Final = 18
YES: Final = ("1", "true", "yes", "on")
NO: Final = ("0", "false", "no", "off")
TO_CHANGE: Final = Parameter("to_change", ToChange)
_TAKEN: Final = "taken_names"
H = TypeVar("H", bound=Callable[..., Any])


# The template's devices and parameters, by name.
DevicesWish = dict[str, Any]


class LabelsWish(TypedDict, total=False):
    set: dict[str, str]
    remove: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What a route may be asked: names of its query, given `once` or `several` times, and those of its JSON body.

    `body` is None where a body is what people wrote or packed, which has rules of its own.  `wish` is the TypedDict that
    declares the names of a body, where their types are declared as well.  A body that is `optional` may be left out.
    """

    once: tuple[Parameter, ...] = ()
    several: tuple[Parameter, ...] = ()
    body: tuple[str, ...] | None = ()
    wish: type | None = None
    optional: bool = False

    @property
    def query(self) -> tuple[str, ...]:
        return tuple(each.name for each in (*self.once, *self.several))

    def kind(self, name: str) -> Any:
        """What a name of the query takes; raises LookupError for one that is not declared."""
        return {each.name: each.kind for each in (*self.once, *self.several)}[name]


def takes(
    *once: str | Parameter,
    several: Collection[str | Parameter] = (),
    body: type | tuple[()] | None = (),
    optional: bool = False,
) -> Callable[[H], H]:
    """Declare what a handler may be asked (`Names`), a JSON body by its TypedDict.

    One without this takes neither a query nor a body.
    """
    wish = body if isinstance(body, type) else None
    known = tuple(body.__annotations__) if isinstance(body, type) else body

    def declared(handler: H) -> H:
        given, lists = tuple(map(parameter, once)), tuple(map(parameter, several))
        setattr(handler, _TAKEN, Names(once=given, several=lists, body=known, wish=wish, optional=optional))
        return handler

    return declared


def names_of(handler: object) -> Names:
    """What a handler declares."""
    found = getattr(handler, _TAKEN, None)
    return found if isinstance(found, Names) else Names()


async def refuse_unknown_names(request: web.Request) -> None:
    """Raises Invalid for a name of the query that its route does not declare, one without a value, and a body where none is read."""
    names = names_of(request.match_info.handler)
    known_only(request.query, names.query)
    for name in (each.name for each in names.once):
        if (times := len(request.query.getall(name, ()))) > 1:
            raise Invalid(f"{name} is given {times} times: give it once")
    for each in (*names.once, *names.several):
        # What is no text is refused by whoever reads it, and what is required, with all that it may be.
        is_read = each.kind is not str or each.required or each.may_be_empty
        if not is_read and any(not value.strip() for value in request.query.getall(each.name, ())):
            raise Invalid(f"{each.name} is empty: give a value or leave it out")
    if names.body == () and request.method not in (hdrs.METH_GET, hdrs.METH_HEAD):
        await read_options(request)


def expect(request: web.Request, name: str, kind: Any) -> None:
    """Raises TypeError where a name of the query is read as another kind of value than its route declares and describes."""
    declared = names_of(request.match_info.handler).kind(name)
    if declared != kind:
        raise TypeError(f"{request.method} {request.path} declares {name} as {declared!r}, and reads it as {kind!r}")


async def read_object(request: web.Request) -> dict[str, Any]:
    """The request's JSON object; raises TooLarge, and Invalid also for names that its route does not declare."""
    body = await body_of(request, MAX_DOCUMENT)
    check_size(body)
    return declared_only(request, object_of(body))


async def read_options(request: web.Request) -> dict[str, Any]:
    """The same of a route that may be asked without a body; raises TypeError for one that does not declare it."""
    names = names_of(request.match_info.handler)
    if names.body != () and not names.optional:
        raise TypeError(f"{request.method} {request.path} reads an optional body, and declares one that is required")
    return await read_object(request) if request.can_read_body else {}


def declared_only(request: web.Request, document: dict[str, Any]) -> dict[str, Any]:
    """The same document; raises Invalid for a name that the request's route does not declare."""
    known_only(document, names_of(request.match_info.handler).body or ())
    return document


def object_of(body: bytes) -> dict[str, Any]:
    """The JSON object that a body is; raises Invalid."""
    with _json_refused():
        document = read_document(body)
        # JSON can spell what is no text: half of a surrogate pair.
        json.dumps(document, ensure_ascii=False).encode()
    return _object(document)


def large_object_of(body: bytes, values: int) -> dict[str, Any]:
    """As `object_of`, of a large body with few values, in a thread: other threads have their turn meanwhile.  Raises TooLarge."""
    with _json_refused():
        document = read_large(body, values)
    return _object(document)


@contextmanager
def _json_refused() -> Iterator[None]:
    try:
        yield
    except UnicodeEncodeError:
        raise Invalid("invalid json: half of a character (\\ud800 to \\udfff alone) is no text") from None
    except TooManyValues as error:
        raise TooLarge(f"invalid json: {error}") from None
    except ValueError as error:
        raise Invalid(f"invalid json: {error}") from None


def _object(document: Any) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise Invalid("invalid json: expected an object")
    return document


def known_only(document: Mapping[str, Any], names: Collection[str]) -> Mapping[str, Any]:
    """The same document; raises Invalid for a name that means nothing in it, which would otherwise count for nothing."""
    for name in document:
        if name not in names:
            raise Invalid(f"{quoted(name)} means nothing here: {meant(name, names)}")
    return document


def text_field(document: Mapping[str, Any], name: str) -> str:
    """A required text of a document."""
    value = document.get(name)
    if not isinstance(value, str) or not value:
        raise Invalid(f"{name} is required and is text")
    return value


def is_number(text: str) -> bool:
    """Whether this is a whole number that the store can count to."""
    return text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS


def label_change_of(document: Mapping[str, Any]) -> LabelChange:
    """`set`, a map of labels, and `remove`, a list of keys; raises Invalid."""
    known_only(document, LabelsWish.__annotations__)
    removed = texts(document, "remove")
    wanted = parse_labels(document.get("set"), "set")
    change = parse_change([*(f"{key}={value}" for key, value in wanted.items()), *(f"{key}-" for key in removed)])
    if not change:
        raise Invalid('nothing to change: give {"set": {"rack": "r1"}}, {"remove": ["rack"]}, or both')
    return change


def key_of(request: web.Request) -> str:
    """Which one is asked for."""
    return request.match_info["key"]


def says_yes(request: web.Request, name: str) -> bool:
    """Whether the query says yes to this, in any case of letters; False when it is not there.  Raises Invalid for what is neither yes nor no."""
    expect(request, name, bool)
    given = request.query.get(name, NO[0])
    if given.lower() not in (*YES, *NO):
        raise Invalid(f"{name} is one of {', '.join((*YES, *NO))}, not {quoted(given)}")
    return given.lower() in YES


def choice(request: web.Request, declared: Parameter, default: str) -> str:
    """Which of its words a name of the query has, `default` when it is not there; raises Invalid for another one."""
    expect(request, declared.name, declared.kind)
    given = request.query.get(declared.name, default)
    if given not in declared.kind:
        raise Invalid(f"{declared.name} is one of {', '.join(declared.kind)}, not {quoted(given)}")
    return given


def to_change(request: web.Request) -> ToChange:
    """What a key is looked up for; raises Invalid."""
    expect(request, TO_CHANGE.name, ToChange)
    given = request.query.get(TO_CHANGE.name, ToChange.NO)
    try:
        return ToChange(given)
    except ValueError:
        raise Invalid(f"{TO_CHANGE.name} is one of {', '.join(ToChange)}, not {quoted(given)}") from None


def number(request: web.Request, name: str) -> int:
    """A whole number in the query, 0 when it is not there; raises Invalid."""
    expect(request, name, int)
    given = request.query.get(name, "0")
    if not is_number(given):
        raise Invalid(f"{name} is a whole number such as 3, not {given[:40]!r}")
    return int(given)


def made_at(given: str) -> datetime:
    """The `created_at` of a thing, which tells it from another one of its id or name; raises Invalid."""
    try:
        return datetime.fromisoformat(given.replace(" ", "+"))  # a + of a zone that was not written as %2B
    except ValueError:
        raise Invalid(f"created_at {quoted(given)} is no time: give it as it was shown") from None


def devices_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """The template's devices and parameters, by name; a list of texts is one text of several lines.  Raises Invalid."""
    devices = document.get("hardware")
    if not isinstance(devices, dict):
        raise Invalid('hardware is a map of device names to addresses, such as {"device_1": "08:00:27:00:00:01"}')
    return {name: device_value(value) for name, value in devices.items()}
