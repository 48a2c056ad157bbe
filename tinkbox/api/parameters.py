"""What names of a query take, said once: for who reads them (`api.requests`, `api.listing`) and for `api.openapi`."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Parameter:
    """A name of a query; `kind` is a type of which `api.schemas` has the form, or a tuple of the words that there are.

    An int is a whole number from 0 on.  `about` is there where the form does not tell all.  An empty text is refused, for it would
    pick or filter nothing, unless it `may_be_empty`.
    """

    name: str
    kind: Any = str
    required: bool = False
    about: str = ""
    may_be_empty: bool = False


LIMIT: Final = Parameter("limit", int, about="so many entries at most; 0: all")


def sort_by(fields: Iterable[str]) -> Parameter:
    """`sort`: one of these fields, with a dash before it the largest first."""
    given = tuple(fields)
    return Parameter("sort", (*given, *(f"-{each}" for each in given)), about="with a dash the largest first")


def parameter(declared: str | Parameter) -> Parameter:
    """The same; a name alone takes any text."""
    return Parameter(declared) if isinstance(declared, str) else declared
