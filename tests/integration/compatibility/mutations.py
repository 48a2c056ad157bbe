"""Messages with one thing wrong each; it knows no module of tinkbox, so an earlier one can be given them too."""

import hashlib
import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

# What stands where something else is expected; an empty list says that nothing stands there.
WRONG: tuple[Any, ...] = (
    None, True, 7, -1, 10**30, 1.5, "x", "a\ud800\x1b[0m b", "y" * 20_000, [], [7], ["z"] * 300, [[]], {}, {"a": 1},
)  # fmt: skip


def places(entry: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every key and index in a JSON document, from the outside to the inside."""
    inner: list[tuple[str | int, Any]] = []
    if isinstance(entry, dict):
        inner = list(entry.items())
    elif isinstance(entry, list):
        inner = list(enumerate(entry))
    for key, value in inner:
        yield (*path, key)
        yield from places(value, (*path, key))


def verdicts(message: str, again: Callable[[str], str], refusal: type[Exception]) -> dict[str, str]:
    """For each place what becomes of a message that has each of WRONG there, then of one that lacks it.

    `again` decodes and encodes.  A digest says what was understood, `-` that it was refused, `!` that it broke who read it.
    """
    whole = json.loads(message)
    told = {}
    for place in places(whole):
        heard = []
        for wrong in (*WRONG, KeyError):
            entry = deepcopy(whole)
            holder = entry
            for key in place[:-1]:
                holder = holder[key]
            if wrong is KeyError:
                del holder[place[-1]]
            else:
                holder[place[-1]] = wrong
            try:
                heard.append(digest(again(json.dumps(entry))))
            except refusal:
                heard.append("-")
            except (TypeError, ValueError, AttributeError):
                heard.append("!")
        told[".".join(map(str, place))] = " ".join(heard)
    return told


def digest(message: str) -> str:
    """The same for the same message, however its keys are ordered."""
    return hashlib.sha256(json.dumps(json.loads(message), sort_keys=True).encode()).hexdigest()[:6]
