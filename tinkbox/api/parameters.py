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


VERBOSE: Final = Parameter("verbose", may_be_empty=True, about="there, with any value or none: all of it")
DOCTOR_KEYS: Final = (
    Parameter("machine", may_be_empty=True, about="a machine's key, or the MAC of an unknown one; empty: everything"),
    Parameter("workflow", about="a workflow's key"),
    Parameter("key", about="a machine or a workflow, whichever of both it means"),
)
LISTEN: Final = Parameter(
    "listen",
    ("0", "1"),
    about="0: does not ask for other DHCP servers, which takes seconds, but tells those heard last",
)
LIMIT: Final = Parameter("limit", int, about="so many entries at most; 0: all")


def sort_by(fields: Iterable[str]) -> Parameter:
    """`sort`: one of these fields, with a dash before it the largest first."""
    given = tuple(fields)
    return Parameter("sort", (*given, *(f"-{each}" for each in given)), about="with a dash the largest first")


def parameter(declared: str | Parameter) -> Parameter:
    """The same; a name alone takes any text."""
    return Parameter(declared) if isinstance(declared, str) else declared
