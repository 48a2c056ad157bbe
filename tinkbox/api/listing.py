"""What the query of a list says: which entries, in which order, how many."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import compress
from typing import Any, Final, TypeVar

from aiohttp import web

from tinkbox.api.answers import Json
from tinkbox.api.long_answers import json_list
from tinkbox.api.parameters import LIMIT, Parameter
from tinkbox.api.requests import Names, expect, names_of, number
from tinkbox.engine.turns import in_slices
from tinkbox.model.duration import parse_duration
from tinkbox.model.errors import Invalid
from tinkbox.model.labels import ALL, Selector, parse_selector
from tinkbox.model.listing import Order
from tinkbox.model.spelling import meant
from tinkbox.model.text import natural, quoted
from tinkbox.wire.list_total import HEADER

E = TypeVar("E", bound=StrEnum)
T = TypeVar("T")
D = TypeVar("D", bound=Mapping[str, Any])
R = TypeVar("R")
# Names of a query, with what each reads of an entry.
Reads = Mapping[str, Callable[[T], R]]
Filters = Reads[Mapping[str, Any], Collection[str]]


SINCE: Final = Parameter("since", about="how long ago, such as 2h, or a time in ISO 8601 with its zone")


@dataclass(frozen=True, slots=True)
class Query:
    """A request's query, of which its route declares the names (`api.requests.takes`)."""

    request: web.Request

    def text(self, name: str) -> str:
        """Empty when it is not asked; raises Invalid for one that is asked and empty, which would select everything."""
        return next(iter(self._given(name)), "")

    def texts(self, name: str) -> list[str]:
        """What is given several times, or once with commas between; raises Invalid as `text`."""
        given = [part.strip() for each in self._given(name) for part in each.split(",")]
        return [each for each in given if each]

    def _given(self, name: str) -> list[str]:
        given = [each.strip() for each in self.request.query.getall(name, ())]
        if any(not each.strip(", ") for each in given):
            raise Invalid(f"{name} is empty: give a value or leave it out")
        return given

    def words(self, name: str, known: type[E]) -> tuple[E, ...]:
        """Values of an enumeration, in whatever case they are written; raises Invalid."""
        expect(self.request, name, known)
        by_folded = {each.casefold(): each for each in known}
        wanted = self.texts(name)
        for each in wanted:
            if each.casefold() not in by_folded:
                raise Invalid(f"{quoted(each)} is no {name}: {meant(each, list(known))}")
        return tuple(by_folded[each.casefold()] for each in wanted)

    def selector(self) -> Selector:
        """`label`: all that are given must hold, and together they are bounded as one."""
        given = self.request.query.getall("label", ())
        return parse_selector(",".join(given)) if given else ALL

    def since(self, now: datetime) -> datetime | None:
        """`since`: how long ago, such as 2h, or a time in ISO 8601 with its zone."""
        text = self.text(SINCE.name)
        if not text:
            return None
        try:
            return now - timedelta(seconds=parse_duration(text))
        except OverflowError:
            raise Invalid(f"since {quoted(text)} is longer ago than times go back") from None
        except Invalid:
            pass
        try:
            at = datetime.fromisoformat(text.replace(" ", "+"))  # a + of a zone that was not written as %2B
            zoned = None if at.tzinfo is None else at.astimezone(now.tzinfo)
        except (ValueError, OverflowError):  # the first and the last day of times, in another zone
            zoned = None
        if zoned is None:
            raise Invalid(f"since {quoted(text)} is no time: write 2h, 3d, or 2026-11-27T16:00:00+01:00")
        return zoned

    def limit(self) -> int:
        """0: all."""
        return number(self.request, LIMIT.name)

    @property
    def names(self) -> Names:
        """What its route declares."""
        return names_of(self.request.match_info.handler)

    def fields(self) -> Sequence[str]:
        """What a list can be sorted by."""
        return [each for each in self.names.kind("sort") if not each.startswith("-")]

    def refuse_unknown_words(self) -> None:
        """Raises Invalid for what is none of the words of a filter that only knows some."""
        for each in self.names.several:
            if isinstance(each.kind, type) and issubclass(each.kind, StrEnum):
                self.words(each.name, each.kind)

    def order(self, default: Order) -> Order:
        """`sort`: a field, with a dash before it the largest first."""
        text, fields = self.text("sort"), self.fields()
        if not text:
            return default
        field = text.removeprefix("-")
        if field not in fields:
            raise Invalid(f"{quoted(field)} is nothing to sort by: {meant(field, fields)}")
        return Order(field, descending=text.startswith("-"))


async def listed(
    request: web.Request,
    documents: Iterable[D],
    *,
    filters: Filters,
    labels: bool = False,
) -> Json[list[D]]:
    """A list that is made in memory, as the query wants it (`selected`); with `labels` those that it selects by these."""
    query = Query(request)
    selector = query.selector() if labels else ALL
    found = [each for each in documents if selector.matches(each.get("labels", {}))]
    shown, total = await selected(query, found, filters, {field: _sorted_by(field) for field in query.fields()})
    return await json_list(shown, lambda each: each, {HEADER: str(total)})


async def selected(
    query: Query,
    entries: Iterable[T],
    filters: Reads[T, Collection[str]],
    sorts: Reads[T, Any],
) -> tuple[list[T], int]:
    """The entries that a query wants, in its order and as many as it wants, and how many there are without its limit.

    One of the texts that each of the `filters` reads must be among those that are wanted of it.  What is not there for one
    of `sorts` to read stands behind everything.  Raises Invalid for a word that a filter does not know.
    """
    query.refuse_unknown_words()
    wanted = {name: asked for name in filters if (asked := {each.casefold() for each in query.texts(name)})}
    found = list(entries)
    if wanted:

        def fits(entry: T) -> bool:
            return all(asked & {text.casefold() for text in filters[name](entry)} for name, asked in wanted.items())

        found = list(compress(found, await in_slices(fits, found)))
    order = query.order(Order(""))
    if order.field:
        values = list(zip(await in_slices(sorts[order.field], found), found, strict=True))
        there = sorted(
            (pair for pair in values if pair[0] is not None), key=lambda pair: pair[0], reverse=order.descending
        )
        found = [each for _, each in (*there, *(pair for pair in values if pair[0] is None))]
    limit = query.limit()
    return (found[:limit] if limit else found), len(found)


def _sorted_by(field: str) -> Callable[[Mapping[str, Any]], Any]:
    """What sorts documents by a field of theirs; names as people sort them."""
    return lambda document: natural(document[field]) if field in ("name", "machine") else document[field]
