"""The `-r` map: what a template's devices and parameters are, by their names.

A value is a text, such as a machine's address, or what JSON has besides: a number, true, false, null, a list, an object.  Of
`kind: Workflow` only texts stand in `hardwareMap`, as in Tinkerbell; all others are JSON in an annotation.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tinkbox.model.documents.json_text import read_document
from tinkbox.model.errors import Invalid

Devices = Mapping[str, Any]
ANNOTATION: Final = "tinkbox.internal/parameters"
MAX_FLOAT: Final = 2**1023


def device_value(value: Any) -> Any:
    """A value as it is kept: a list of texts is one text of several lines.  Raises Invalid for a number that no float64 is."""
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return "\n".join(value)
    _refuse_large(value)
    return value


def _refuse_large(value: Any) -> None:
    if isinstance(value, int) and abs(value) > MAX_FLOAT:
        raise Invalid(f"the number {str(value)[:20]}… is too large: quote it")
    if isinstance(value, list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            _refuse_large(each)


def addresses(devices: Devices) -> Iterator[str]:
    """The values that may mean a machine."""
    return (each for each in devices.values() if isinstance(each, str))


def as_text(value: Any) -> str:
    """A value as people read it: what is no text is JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def canonical(devices: Devices) -> str:
    """The same text for the same map, and for no other: to Python true is 1."""
    return json.dumps(dict(devices), sort_keys=True)


def without_texts(devices: Devices) -> dict[str, Any]:
    """The values that Tinkerbell's `hardwareMap` has no room for."""
    return {name: value for name, value in devices.items() if not isinstance(value, str)}


def annotated(text: object) -> dict[str, Any]:
    """What an annotation has beside the `hardwareMap`; raises Invalid."""
    if text is None:
        return {}
    try:
        found = read_document(text, each_once=True) if isinstance(text, str) else None
    except ValueError as error:
        raise Invalid(f"the annotation {ANNOTATION} is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise Invalid(f"the annotation {ANNOTATION} is an object in JSON, such as '{{\"count\": 3}}'")
    return {name: device_value(value) for name, value in found.items()}
