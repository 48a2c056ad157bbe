"""The section `limits`: how much one holder may take, and all together (`model.limits` declares it), and deadlines.

A lab never notices the defaults.
"""

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.limits import BYTES, DECLARED, Limit
from tinkbox.settings import readers
from tinkbox.settings.declaring import Reader, inline, keys_of, reader, setting

LEAST_DEADLINE = timedelta(seconds=1)


def amounts(declared: Limit) -> Reader[Limit]:
    """The two numbers of a limit, of which either may be left out."""
    one = readers.size if declared.unit == BYTES else readers.amount
    takes = "`each` and `all`, sizes" if declared.unit == BYTES else "`each` and `all`"
    if declared.least > 1:
        takes += f" of at least {one.shown(declared.least)}"

    def shown(limit: Limit) -> str:
        return f"{{each: {one.shown(limit.each)}, all: {one.shown(limit.all)}}}"

    @reader(takes, shown=shown)
    def read(value: Any, default: Limit) -> Limit:
        if not isinstance(value, dict) or not set(value) <= {"each", "all"}:
            raise Invalid(f"expected {shown(default)}, or one of the two, not {value!r}")
        found: dict[str, int] = {"each": default.each, "all": default.all}
        problems: list[Problem] = []
        for key, written in value.items():
            try:
                found[key] = one.read(written, 0)
                if found[key] < default.least:
                    text = f"expected at least {one.shown(default.least)}, not {one.shown(found[key])}: {default.needed_for}"
                    problems.append(Problem(key=key, text=text))
            except Invalid as error:
                problems.append(Problem(key=key, text=str(error)))
        if problems:
            raise Invalid("wrong amounts", problems)
        if "each" not in value:
            found["each"] = min(found["each"], found["all"])
        if found["each"] > found["all"]:
            each, most = one.shown(found["each"]), one.shown(found["all"])
            text = f"{each} is more than {default.key}.all, {most}: lower it, or raise that"
            raise Invalid("wrong amounts", [Problem(key="each", text=text)])
        return replace(default, each=found["each"], all=found["all"])

    return read


def _all(**chosen: Limit) -> tuple[Limit, ...]:
    return tuple(chosen.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Deadlines of connections, and every limit that is declared."""

    head: timedelta = setting(
        timedelta(seconds=20),
        readers.duration(LEAST_DEADLINE),
        "time for the head of a connection's first request; a connection without one is closed",
    )
    idle: timedelta = setting(
        timedelta(seconds=75),
        readers.duration(LEAST_DEADLINE),
        "time between the end of an answer and the whole head of the next request on its connection",
    )
    body: timedelta = setting(
        timedelta(seconds=30),
        readers.duration(LEAST_DEADLINE),
        "time for which the body of a request may stand still; one that goes on may take as long as at 8 KiB a second",
    )
    answer: timedelta = setting(
        timedelta(minutes=2),
        readers.duration(LEAST_DEADLINE),
        "time in which the reader of an answer must take some of it",
    )
    holdings: tuple[Limit, ...] = inline(
        keys_of(_all, **{each.name: setting(each, amounts(each), each.about) for each in DECLARED})
    )
