"""The page of all routes, docs/api.md, as they are declared."""

from collections.abc import Iterable, Sequence

from aiohttp import web

from tinkbox.api.access import needed_by
from tinkbox.api.requests import Names, names_of

HEAD = """\
# The operator's API

Printed by `make reference` from the routes. The [operator door](operating.md) answers them, over `DATA/operator.sock` and over
TCP with a token. `{key}` is what stands for KEY in commands: an id, a name, the beginning of an id. What bodies and answers
hold is told where each subject has its page, and for programs by `/openapi.json`: the same in OpenAPI 3.1, with the
schema of every answer.

A name in *italics* may be given several times, one in **bold** must be given. A request with any other name in its query or its JSON body is refused with 422, and so is a name without a value (`?state=`).

A list that takes `limit` tells in the header `Total-Count` how many entries it would have without it.
"""


def page(routes: Sequence[web.RouteDef]) -> str:
    """Markdown: a table for each noun, the first word behind `/v1/`."""
    nouns: dict[str, list[web.RouteDef]] = {}
    for each in sorted(routes, key=lambda route: (route.path, route.method)):
        nouns.setdefault(noun(each.path), []).append(each)
    return HEAD + "".join(_table(noun, nouns[noun]) for noun in sorted(nouns))


def noun(path: str) -> str:
    """What a path is about."""
    parts = path.strip("/").split("/")
    return parts[1] if parts[0] == "v1" else "beside /v1"


def _table(noun: str, routes: Iterable[web.RouteDef]) -> str:
    lines = [
        f"\n## {noun}\n",
        "| request | needs | query | JSON body | what |",
        "|---|---|---|---|---|",
        *map(_line, routes),
    ]
    return "\n".join(lines) + "\n"


def _line(route: web.RouteDef) -> str:
    names = names_of(route.handler)
    once = (f"**`{each.name}`**" if each.required else f"`{each.name}`" for each in names.once)
    query = ", ".join([*once, *(f"*`{each.name}`*" for each in names.several)])
    cells = (f"`{route.method} {route.path}`", needed_by(route.handler), query, _body(names), about(route))
    return f"| {' | '.join(cells)} |"


def _body(names: Names) -> str:
    return "a document" if names.body is None else ", ".join(f"`{each}`" for each in names.body)


def about(route: web.RouteDef) -> str:
    """The first line of what its handler says of itself."""
    return (route.handler.__doc__ or "").partition("\n")[0]
