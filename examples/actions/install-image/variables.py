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


def digest(environment: Mapping[str, str], name: str) -> str:
    """A sha256 as 64 hexadecimal digits, or nothing when the variable is not set; raises Failure."""
    text = environment.get(name, "").lower().removeprefix("sha256:")
    if text and (len(text) != 64 or set(text) - set("0123456789abcdef")):
        raise Failure("InvalidParameter", f"{name} is no sha256 digest of 64 hexadecimal digits: {text}")
    return text
