"""What we answer to the questions that tests/online/go_yaml answers with Go."""

from collections.abc import Mapping
from json import dumps, loads
from typing import Any

from tinkbox.gotemplate import GoError
from tinkbox.goyaml import read, write

MOST = 1 << 24  # characters


def answer(asked: Mapping[str, Any]) -> dict[str, str]:
    """`output`, YAML for a "write" and JSON for a "read", or `error`."""
    try:
        return {"output": dumps(read(asked["read"])) if "read" in asked else write(_decoded(asked["write"]), MOST)}
    except GoError as error:
        return {"error": str(error)}


def _decoded(value: Any) -> Any:
    """JSON as Go decodes it."""
    if isinstance(value, dict):
        return {key: _decoded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_decoded(each) for each in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def same(told: Mapping[str, Any], ours: Mapping[str, Any]) -> bool:
    """Whether both refuse, or gave the same bytes of YAML, or JSON of the same value."""
    if "error" in told or "error" in ours:
        return "error" in told and "error" in ours
    if "read" in told:
        return _exact(loads(told["output"])) == _exact(loads(ours["output"]))
    return bool(told["output"] == ours["output"])


def _exact(value: Any) -> Any:
    """A value of which 1 and true differ, and 1 and 1.0 do not."""
    if isinstance(value, dict):
        return {key: _exact(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_exact(each) for each in value]
    return ("number", float(value)) if isinstance(value, int | float) and not isinstance(value, bool) else value
