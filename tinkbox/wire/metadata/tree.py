"""A tree of small files as programs ask for it over HTTP: what is at a path, a file or a folder's listing."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

TEXT: Final = "text/plain"
YAML: Final = "text/yaml"
JSON: Final = "application/json"
OCTETS: Final = "application/octet-stream"
# How gzip that is given in base64 begins.
GZIP_IN_BASE64: Final = "H4sI"


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """One file; `secret` is what nobody gets who is known by its address alone.  `listed` is how its folder's listing has it."""

    body: bytes
    content_type: str = TEXT
    secret: bool = False
    listed: str = ""


Tree = Mapping[str, File]


def text_file(text: str, content_type: str = TEXT, *, secret: bool = False, listed: str = "") -> File:
    """A file of UTF-8."""
    return File(body=text.encode(errors="replace"), content_type=content_type, secret=secret, listed=listed)


def data_file(text: str) -> File:
    """User-data as it was given, or the gzip that it is."""
    packed = gzip_of(text)
    return File(body=packed, content_type=OCTETS, secret=True) if packed else text_file(text, secret=True)


def gzip_of(text: str) -> bytes:
    """What is packed in a text: gzip, which no text can be, is given in base64.  Empty: the text is no such thing."""
    if not text.lstrip().startswith(GZIP_IN_BASE64):
        return b""
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except ValueError:
        return b""


def found(tree: Tree, path: str) -> File | None:
    """What is at a path, with or without slashes around it: the file, or the listing of a folder; None: nothing.

    A listing has a line for each child, in their order, those that are folders with a slash at their ends, as EC2's and Tootles' have.
    """
    wanted = path.strip("/")
    if wanted in tree:
        return tree[wanted]
    before = f"{wanted}/" if wanted else ""
    children: dict[str, None] = {}
    for each, file in tree.items():
        if each.startswith(before):
            name, slash, below = each[len(before) :].partition("/")
            children[file.listed if file.listed and slash and "/" not in below else f"{name}{slash}"] = None
    if not children:
        return None
    return text_file("\n".join(sorted(children)))


def without_secrets(tree: Tree) -> Tree:
    """What anybody may read who has the machine's address."""
    return {path: file for path, file in tree.items() if not file.secret}
