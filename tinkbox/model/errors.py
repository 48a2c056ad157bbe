"""The eight ways a request can be refused, named by what the caller can do about it.

Their text is for the operator.  The HTTP doors map them to a status once, at the edge.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong with a document.

    `line` counts from 1; `key` is a path like `tasks[0].actions[2].image`.  Either may be unknown.
    """

    text: str
    line: int | None = None
    key: str = ""

    def __str__(self) -> str:
        where = [f"line {self.line}"] if self.line is not None else []
        if self.key:
            where.append(self.key)
        return f"{', '.join(where)}: {self.text}" if where else self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Remarks:
    """What there is to say of a document that is taken: what is `ignored` of it, for it is wrong, and other `notes`.

    Who is strict refuses what is ignored.
    """

    ignored: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()

    def __add__(self, other: "Remarks") -> "Remarks":
        return Remarks(ignored=(*self.ignored, *other.ignored), notes=(*self.notes, *other.notes))

    @property
    def all(self) -> tuple[Problem, ...]:
        return (*self.ignored, *self.notes)


class Refusal(Exception):
    """Base of all refusals; `str()` is one line that says what, where and the way out.

    `of` are the ids of the workflows and rollouts that the line names beside what was asked about: who may not know of one
    of these is told something else (`model.telling`).
    """

    def __init__(self, summary: str = "", *, of: Iterable[str] = ()) -> None:
        super().__init__(summary)
        self.of = tuple(of)


class NotFound(Refusal):
    """There is no such thing."""


class Invalid(Refusal):
    """The document or argument is wrong; `problems` lists everything that is, but for so many `more`.

    Those that are `ignored` would not refuse it by themselves: they are told, for they may be why another one is there.
    """

    def __init__(
        self, summary: str, problems: Sequence[Problem] = (), more: int = 0, ignored: Sequence[Problem] = ()
    ) -> None:
        super().__init__(summary)
        self.problems = tuple(problems)
        self.more = more
        self.ignored = tuple(ignored)

    @property
    def reasons(self) -> tuple[Problem, ...]:
        """The problems that refuse it."""
        return tuple(each for each in self.problems if each not in self.ignored)


class Conflict(Refusal):
    """It contradicts what is there already."""


class TooLarge(Refusal):
    """It exceeds a limit, which the text names."""


class Denied(Refusal):
    """The caller did not prove that it may do this."""


class Forbidden(Denied):
    """The caller is known, and may not do this."""


class Unavailable(Refusal):
    """Something this needs is not there now; trying later may succeed."""


class Full(Unavailable):
    """No room is left for what was sent; the text says how to make some, and so does `way_out` by itself where that is known."""

    def __init__(self, summary: str, way_out: str = "") -> None:
        super().__init__(summary)
        self.way_out = way_out


class TooMany(Unavailable):
    """The caller, or all together, take as much as they may at once; it may succeed after `retry_after` seconds."""

    def __init__(self, summary: str, retry_after: int = 5) -> None:
        super().__init__(summary)
        self.retry_after = retry_after
