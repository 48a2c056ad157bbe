"""JSON as systems exchange it."""

import json
from typing import Any, NoReturn


def read_json(content: str | bytes) -> Any:
    """What a JSON text says; raises ValueError or RecursionError.

    Its bytes are UTF-8 without a byte order mark (RFC 8259 §8.1), and a number is finite (§6): `json.loads` takes
    more, which other readers refuse.
    """
    return _READER.decode(content if isinstance(content, str) else content.decode())


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number in JSON")


_READER = json.JSONDecoder(parse_constant=_refuse)
