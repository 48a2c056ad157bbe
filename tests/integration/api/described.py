"""Whether what the operator door answers is what `/openapi.json` says that it answers."""

import re
from collections.abc import Mapping
from typing import Any

from jsonschema import Draft202012Validator

# What has more beside it than its schema names: an event what its kind tells, an action of a plan its number, a changed
# machine all of its record for those who may look.
OPEN = {"EventHead", "PlannedStep", "EditedHardware", "ReplacedHardware", "RetiredHardware", "LabelledHardware"}


class Described:
    """The answers that a document of OpenAPI describes; an object has nothing that its schema does not name."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        self._components = document["components"]
        self._closed = _closed(document["components"])
        # A path without keys comes before one that would take a word of it for a key.
        by_keys = sorted(document["paths"], key=lambda path: (path.count("{"), path))
        self._shapes = [(path, re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path)))) for path in by_keys]
        self._validators: dict[tuple[str, str, str], Draft202012Validator] = {}

    def _operation(self, method: str, path: str) -> tuple[str, Mapping[str, Any] | None]:
        """Which path it is of those that are described, and the operation."""
        asked = path.partition("?")[0]
        found = next((each for each, shape in self._shapes if each == asked or shape.fullmatch(asked)), "")
        return found, self.document["paths"].get(found, {}).get(method.lower())

    def check_accepted(self, method: str, path: str, body: Any) -> None:
        """Raises AssertionError or ValidationError for a JSON body that was taken and is not described."""
        found, operation = self._operation(method, path)
        assert operation is not None
        taken = operation["requestBody"]["content"]
        if "application/json" in taken:
            self._validator(taken["application/json"]["schema"], method, found, "taken").validate(body)

    def check(self, method: str, path: str, status: int, media: str, body: Any = None) -> None:
        """Raises AssertionError or ValidationError for an answer that is not described; one without a body is not looked into."""
        found, operation = self._operation(method, path)
        if operation is None:
            assert status in (404, 405), (method, path)
            return
        responses = operation["responses"]
        which = next(each for each in (str(status), f"{status // 100}XX", "default") if each in responses)
        told = responses[which]
        if "$ref" in told:
            told = self._components["responses"][told["$ref"].rpartition("/")[2]]
        assert media in told["content"], (method, path, status, media)
        if body is not None:
            self._validator(told["content"][media]["schema"], method, found, which).validate(body)

    def _validator(self, schema: Mapping[str, Any], *which: str) -> Draft202012Validator:
        # Of a refusal more is said beside `allOf`.
        components = self._closed if "allOf" not in schema else self._components
        place = (which[0], which[1], which[2])
        if place not in self._validators:
            self._validators[place] = Draft202012Validator({**schema, "components": components})
        return self._validators[place]


def _closed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: each if name in OPEN else _closed(each) for name, each in schema.items()}
    if "properties" in schema and schema.get("type") == "object":
        made.setdefault("additionalProperties", False)
    return made
