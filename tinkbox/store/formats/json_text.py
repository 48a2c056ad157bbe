"""The text of a JSON column."""

import json
from typing import Any, Final

_SMALL: Final = (",", ":")


def write(entry: Any, *, small: bool = False) -> str:
    """ASCII, so that halves of characters, which SQLite does not take, are spelled; `small` is without any spaces."""
    return json.dumps(entry, separators=_SMALL) if small else json.dumps(entry)


def read(text: str, *, spelled: str = "") -> Any:
    """What `write` wrote.  Where a template or a person spelled half of a character, it is a `?`, but not below the key `spelled`."""
    entry = json.loads(text)
    if r"\ud" not in text:
        return entry
    return _whole(entry) | {spelled: entry[spelled]} if spelled else _whole(entry)


def _whole(entry: Any) -> Any:
    if isinstance(entry, str):
        return entry.encode(errors="replace").decode()
    if isinstance(entry, list):
        return [_whole(each) for each in entry]
    if isinstance(entry, dict):
        return {_whole(name): _whole(value) for name, value in entry.items()}
    return entry
