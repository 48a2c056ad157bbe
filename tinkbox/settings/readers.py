"""Readers of plain values, for settings of every subject.

Each raises Invalid with what is expected and what is there.  An empty text stands for the default.
"""

import re
from collections.abc import Callable
from datetime import timedelta
from ipaddress import AddressValueError, IPv4Address
from pathlib import Path
from typing import Any, TypeVar

from tinkbox.model.duration import parse_duration, show_duration
from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.sizes import parse_size, show_size
from tinkbox.settings.declaring import Reader, reader

MAX_COUNT = 10_000
MAX_AMOUNT = 1_000_000
MAX_PORT = 65_535
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_DOMAIN = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?")
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")
_MAX_DOMAIN = 253 - 37  # RFC 1035 §2.3.4, and a workflow's id with its dot in front
N = TypeVar("N", int, float)


def written(value: Any) -> str:
    """What stands in the file as text, empty where nothing does; raises Invalid."""
    if value is None or isinstance(value, str):
        return value or ""
    raise Invalid(f"expected text, not {value!r}")


def written_by_name(value: Any, check: Callable[[str, str], None]) -> dict[str, str]:
    """What stands in the file as texts by name; `check` raises Invalid for a text that is wrong below its name.

    Raises Invalid with a problem for each wrong name.
    """
    if not isinstance(value, dict) or not all(isinstance(each, str | int) for each in value.values()):
        raise Invalid(f"expected names with texts, not {value!r}")
    problems: list[Problem] = []
    for name, each in value.items():
        # Such as 52:54:00:12:34:56, which YAML 1.1 takes for a count of seconds: what was written cannot be had back.
        if not isinstance(each, str):
            problems.append(Problem(key=str(name), text=f"YAML reads it as the number {each!r}: put it in quotes"))
        try:
            check(str(name), str(each))
        except Invalid as error:
            problems.append(Problem(key=str(name), text=str(error)))
    if problems:
        raise Invalid("wrong names or texts", problems)
    return {str(name): str(each) for name, each in value.items()}


@reader("text")
def text(value: Any, default: str) -> str:
    return written(value) or default


@reader("a text, or a list of texts")
def texts(value: Any, default: tuple[str, ...]) -> tuple[str, ...]:
    listed = value if isinstance(value, list) else [value] if value != "" else []
    if not all(isinstance(each, str) and each for each in listed):
        raise Invalid(f"expected text or a list of texts, not {value!r}")
    return tuple(listed) or default


@reader("up to 63 letters, digits, `.`, `_` and `-`")
def name(value: Any, default: str) -> str:
    found = written(value) or default
    if not _NAME.fullmatch(found):
        raise Invalid(f"a name is up to 63 letters, digits and . _ - in between, not {found!r}")
    return found


@reader("a domain")
def domain(value: Any, default: str) -> str:
    """A domain in small letters, without a dot at its end."""
    found = (written(value) or default).lower().removesuffix(".")
    if found and not (_DOMAIN.fullmatch(found) and len(found) <= _MAX_DOMAIN):
        example = default or "lab.example"
        raise Invalid(f"expected a domain such as {example}, at most {_MAX_DOMAIN} characters, not {found!r}")
    return found


@reader("a URL such as `unix:///var/run/docker.sock` or `http://127.0.0.1:2375`")
def engine(value: Any, default: str) -> str:
    """Where a Docker engine answers."""
    found = written(value) or default
    kind, _, place = found.partition("://")
    if kind not in ("unix", "http", "https", "tcp") or not place:
        raise Invalid(f"expected a URL such as unix:///var/run/docker.sock, not {found!r}")
    return found


@reader("a path")
def path(value: Any, default: Path) -> Path:
    """A path, made absolute from where tinkbox runs."""
    return Path(written(value) or default).absolute()


@reader("an absolute path")
def folder(value: Any, default: Path | None) -> Path | None:
    found = written(value)
    if found and (not found.startswith("/") or ".." in Path(found).parts or "\0" in found):
        raise Invalid(f"expected an absolute path without .., not {found!r}")
    return Path(found) if found else default


@reader("an IPv4 address")
def address(value: Any, default: IPv4Address | None) -> IPv4Address | None:
    found = written(value)
    try:
        return IPv4Address(found) if found else default
    except AddressValueError:
        raise Invalid(f"invalid ip: {found!r}") from None


@reader("an IPv4 address, or a list of them")
def addresses(value: Any, default: tuple[IPv4Address, ...]) -> tuple[IPv4Address, ...]:
    listed = value if isinstance(value, list) else [value]
    try:
        return tuple(IPv4Address(str(each)) for each in listed) or default
    except AddressValueError:
        raise Invalid(f"expected addresses such as [172.30.0.53], not {value!r}") from None


def number(value: Any, of: type[N], least: float, most: float, expected: str) -> N:
    """A number of a type, where a whole one does for a float; raises Invalid that says what is `expected`."""
    if isinstance(value, of | int) and not isinstance(value, bool) and least <= value <= most:
        return of(value)
    remedy = ": write it without quotes" if isinstance(value, str) and _NUMBER.fullmatch(value) else ""
    raise Invalid(f"expected {expected}, not {value!r}{remedy}")


def whole_number(value: Any, least: int, most: int, what: str = "a number") -> int:
    return number(value, int, least, most, f"{what} between {least} and {most}")


@reader(f"a number from 1 to {MAX_COUNT}")
def count(value: Any, _: int) -> int:
    return whole_number(value, 1, MAX_COUNT)


def port(least: int = 1) -> Reader[int]:
    @reader(f"a port from {least} to {MAX_PORT}")
    def read(value: Any, _: int) -> int:
        return whole_number(value, least, MAX_PORT, "a port")

    return read


def seconds(least: int) -> Reader[int]:
    """A duration in whole seconds, at least so many."""

    @reader(f"a duration of at least `{show_duration(least)}`", shown=show_duration)
    def read(value: Any, _: int) -> int:
        try:
            found = parse_duration(str(value)) if isinstance(value, int | str) else 0
        except Invalid:
            found = 0
        if isinstance(value, bool) or not least <= found < 2**32:
            raise Invalid(
                f"expected a time of at least {show_duration(least)}, such as 20s, 5m, 1h or 90d, not {value!r}"
            )
        return found

    return read


def duration(least: timedelta) -> Reader[timedelta]:
    """As `seconds`."""
    whole = seconds(round(least.total_seconds()))

    @reader(whole.takes, shown=lambda default: show_duration(default.total_seconds()))
    def read(value: Any, default: timedelta) -> timedelta:
        return timedelta(seconds=whole.read(value, round(default.total_seconds())))

    return read


def age(least: timedelta) -> Reader[timedelta]:
    """As `duration`, with its unit: of what is kept for days, a bare 90 would be gone after 90 seconds."""
    whole = duration(least)

    @reader(f"{whole.takes}, with its unit", shown=whole.shown)
    def read(value: Any, default: timedelta) -> timedelta:
        if isinstance(value, int | float) or (isinstance(value, str) and value.strip().isdecimal()):
            raise Invalid(f"expected a duration with its unit, such as {whole.shown(default)}, not {value!r}")
        return whole.read(value, default)

    return read


@reader(f"a number from 1 to {MAX_AMOUNT}")
def amount(value: Any, _: int) -> int:
    """A number of things, at least one."""
    return whole_number(value, 1, MAX_AMOUNT)


@reader("a size such as `512MiB`", shown=show_size)
def size(value: Any, _: int) -> int:
    """A number of bytes, at least one."""
    found = parse_size(str(value)) if isinstance(value, int | str) and not isinstance(value, bool) else 0
    if not found:
        raise Invalid(f"expected a size such as 512MiB, not {value!r}")
    return found


def memory(least: int, why: str) -> Reader[int]:
    """A number of bytes, at least so many, which the reason `why` wants."""

    @reader(f"{size.takes}, at least `{show_size(least)}`", shown=show_size)
    def read(value: Any, default: int) -> int:
        found = size.read(value, default)
        if found < least:
            raise Invalid(f"expected at least {show_size(least)}, not {show_size(found)}: {why}")
        return found

    return read


def choice(*words: str) -> Reader[str]:
    """One of some words."""

    @reader(f"{', '.join(f'`{each}`' for each in words[:-1])} or `{words[-1]}`")
    def read(value: Any, _: str) -> str:
        # YAML 1.1 reads a bare `off` as false, and `on` as true.
        found = "off" if value is False else "on" if value is True else value
        if found not in words:
            raise Invalid(f"expected {' or '.join(words)}, not {found!r}")
        return str(found)

    return read


_SWITCH = choice("on", "off")


@reader(_SWITCH.takes, shown=lambda answer: "on" if answer else "off")
def switch(value: Any, _: bool) -> bool:
    return _SWITCH.read(value, "on") == "on"
