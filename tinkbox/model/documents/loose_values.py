"""Values of documents that may be anything: what is of another kind is as if it were not there."""

from collections.abc import Mapping
from typing import Any


def mapping_of(value: Any) -> Mapping[str, Any]:
    """The same keys with values; empty for anything else."""
    return value if isinstance(value, Mapping) else {}


def list_of(value: Any) -> list[Any]:
    """The same list; empty for anything else."""
    return value if isinstance(value, list) else []


def text_of(value: Any) -> str:
    """The same text; empty for anything else."""
    return value if isinstance(value, str) else ""


def those_given(values: Mapping[str, Any]) -> dict[str, Any]:
    """Those that say something: not what is absent, empty, false or 0."""
    return {name: value for name, value in values.items() if value not in (None, "", [], {}, False)}
