"""What commands take in, and what they say of it."""

import json
import sys
from typing import Any

from tinkbox.cli.output import Document, clean
from tinkbox.model.errors import Invalid, Problem

_EXAMPLE = '{"device_1": "08:00:27:00:00:01"}'


def read_devices(text: str) -> dict[str, Any]:
    """The map of `-r`; raises Invalid."""
    try:
        devices = json.loads(text)
    except ValueError as error:
        raise Invalid(f"-r is not valid JSON ({error}): expected a map such as {_EXAMPLE}") from None
    if not isinstance(devices, dict):
        raise Invalid(f"-r is a map of device names to addresses, such as {_EXAMPLE}")
    return devices


def say_notes(answer: Document) -> None:
    """Tell on standard error what of a document was left out or is not honoured."""
    for note in answer.get("notes", []):
        print(clean(f"tinkbox: {Problem(**note)}"), file=sys.stderr)
