"""The boxes that a person logged in to: their authorities and tokens, in a file that only that person reads."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from tinkbox.model.errors import Invalid, Unavailable
from tinkbox.model.text import quoted
from tinkbox.settings.environment import boxes_file
from tinkbox.wire.operator_door import PORT as OPERATOR_PORT
from tinkbox.wire.operator_door import unencrypted, url_of, with_user

_PRIVATE: Final = 0o600


@dataclass(frozen=True, slots=True)
class KeptBox:
    """`authority` is the certificate (PEM) that signs what the box shows; empty: one that this host trusts anyway."""

    authority: str = ""
    token: str = ""


@dataclass(frozen=True, slots=True)
class KeptBoxes:
    """By URL, as `box_url` writes it.  `current` is the one that commands speak to, empty: none."""

    current: str = ""
    boxes: Mapping[str, KeptBox] = field(default_factory=dict)

    def of(self, url: str) -> KeptBox:
        """What is kept of the box at a URL however that is spelled; nothing, if it is unknown."""
        with suppress(Invalid):
            return self.boxes.get(box_url(url), KeptBox())
        return KeptBox()

    def with_box(self, url: str, box: KeptBox) -> "KeptBoxes":
        """The same, with this box as the current one."""
        return KeptBoxes(url, {**self.boxes, url: box})

    def without(self, url: str) -> "KeptBoxes":
        left = {each: box for each, box in self.boxes.items() if each != url}
        return KeptBoxes("" if self.current == url else self.current, left)


def box_url(typed: str) -> str:
    """A box as a person types it, as the URL of its operator door: a host alone is at the usual port.

    Raises Invalid for what is no host, and for what is not encrypted.
    """
    bare = "://" not in typed
    try:
        parts = urlsplit(url_of(typed))
        host, port = (parts.hostname or "").removesuffix("."), parts.port
    except ValueError:
        host, port = "", None
    if host and parts.username is not None:
        raise Invalid(with_user("the URL", parts, "https"))
    if not host or parts.query or parts.fragment or (bare and parts.path) or any(map(str.isspace, typed)):
        raise Invalid(f"{quoted(typed)} names no box: write https://HOST:{OPERATOR_PORT}")
    if parts.scheme != "https":
        raise Invalid(unencrypted(typed, parts.scheme))
    written = f"[{host}]" if ":" in host else host
    return f"https://{written}{f':{port}' if port is not None else ''}{parts.path.rstrip('/')}"


def read_boxes() -> KeptBoxes:
    """What is kept; nothing where there is no file.  Raises Unavailable for one that cannot be read, or is damaged."""
    path = boxes_file()
    try:
        written = path.read_text()
    except FileNotFoundError:
        return KeptBoxes()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise Unavailable(f"cannot read {path}, with what `tinkbox login` keeps: {why}") from None
    try:
        return _read(json.loads(written))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise Unavailable(
            f"{path} is damaged: delete it, and type `tinkbox login https://HOST:{OPERATOR_PORT}` again"
        ) from None


def write_boxes(kept: KeptBoxes) -> Path:
    """Keep them for the present user alone; returns the file.  Raises Unavailable where that cannot be written."""
    path = boxes_file()
    fresh = path.with_name(f"{path.name}.new")
    document = {"current": kept.current, "boxes": {url: asdict(box) for url, box in kept.boxes.items()}}
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh.unlink(missing_ok=True)
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE), "w") as file:
            json.dump(document, file, indent=1)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except OSError as error:
        raise Unavailable(f"cannot write {path}: {error.strerror}: see `ls -ld {path.parent}`") from None
    return path


def _read(document: Any) -> KeptBoxes:
    boxes = {
        str(url): KeptBox(authority=_text(box.get("authority", "")), token=_text(box.get("token", "")))
        for url, box in document["boxes"].items()
    }
    current = _text(document["current"])
    return KeptBoxes(current if current in boxes else "", boxes)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value
