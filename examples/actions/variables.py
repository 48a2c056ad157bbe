"""Reads the variables of an action's environment that are more than text."""

from collections.abc import Mapping

from failure import Failure


def flag(environment: Mapping[str, str], name: str) -> bool | None:
    """True or false, or None when the variable is not set; raises Failure."""
    text = environment.get(name, "").lower()
    if text not in {"", "true", "false", "1", "0"}:
        raise Failure("InvalidParameter", f"{name} is true or false, not {text!r}")
    return text in {"true", "1"} if text else None


def number(environment: Mapping[str, str], name: str, default: str = "") -> int:
    """A whole number; raises Failure."""
    text = environment.get(name) or default
    if not (text.isascii() and text.isdecimal()):
        raise Failure("InvalidParameter", f"{name} is a whole number, not {text!r}")
    return int(text)
