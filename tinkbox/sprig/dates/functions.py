"""Sprig's functions for dates.  Local time is UTC."""

from collections.abc import Mapping

from tinkbox.gotemplate.values import GoError, Int64
from tinkbox.sprig.arguments import Function, typed
from tinkbox.sprig.dates import parsing
from tinkbox.sprig.dates.durations import duration_round, shown
from tinkbox.sprig.dates.durations import parse as parse_duration
from tinkbox.sprig.dates.layouts import write
from tinkbox.sprig.dates.times import SECOND, ZERO, Time, rounded
from tinkbox.sprig.dates.zones import UTC, Zone, read_zone
from tinkbox.sprig.surroundings import Surroundings

HTML = "2006-01-02"
LONGEST_NAME = 100
KNOWN_ZONES = ("", "UTC", "Local")


def functions(around: Surroundings) -> Mapping[str, Function]:
    """The functions by name, with the moment and the zones of a rendering."""
    known: dict[str, Zone] = {}

    def now() -> Time:
        return Time(around.moment)

    def date_in_zone(layout: str, date: object, zone: str) -> str:
        if zone not in known:
            known[zone] = _zone(zone, around)
        return write(layout, _moment(date, now()).within(known[zone]).clock)

    def date(layout: str, date: object) -> str:
        return date_in_zone(layout, date, "Local")

    def html_date(date: object) -> str:
        return date_in_zone(HTML, date, "Local")

    def html_date_in_zone(date: object, zone: str) -> str:
        return date_in_zone(HTML, date, zone)

    def ago(date: object) -> str:
        """How long ago a moment was, in whole seconds, as Go writes durations."""
        return shown(rounded(now().since(_moment(date, now())), SECOND))

    def round_duration(value: object) -> str:
        return duration_round(Int64(now().since(value)) if isinstance(value, Time) else value)

    in_zone = typed(date_in_zone, "string", "any", "string")
    return {
        "now": typed(now),
        "date": typed(date, "string", "any"),
        "dateInZone": in_zone,
        "date_in_zone": in_zone,
        "htmlDate": typed(html_date, "any"),
        "htmlDateInZone": typed(html_date_in_zone, "any", "string"),
        "ago": typed(ago, "any"),
        "durationRound": typed(round_duration, "wide"),
        **PLAIN,
    }


def _moment(date: object, now: Time) -> Time:
    """A moment, or seconds since 1970; now, where it is neither."""
    if isinstance(date, Time):
        return date
    if type(date) in (int, Int64) and isinstance(date, int):
        return Time(date * SECOND)
    return now


def _zone(name: str, around: Surroundings) -> Zone:
    """The zone of a name; UTC where there is none, as in Sprig.  Raises GoError where no zone is known here."""
    if name in KNOWN_ZONES or ".." in name or name[0] in "/\\" or len(name) > LONGEST_NAME or "\0" in name:
        return UTC
    return read_zone(around.zone(name) or b"") or UTC


def modify(change: str, date: Time) -> Time:
    """Move a moment by a duration; what is none does not move it."""
    return date.later(parse_duration(change) or 0)


def must_modify(change: str, date: Time) -> Time:
    """The same.  Raises GoError for what is no duration."""
    if parse_duration(change) is None:
        raise GoError(f"time: invalid duration {change!r}")
    return modify(change, date)


def to_date(layout: str, text: str) -> Time:
    """Read a date by a layout; the first moment of the year 1 where it is none."""
    try:
        return parsing.parse(layout, text)
    except GoError:
        return ZERO


def unix_epoch(date: Time) -> str:
    return str(date.seconds)


PLAIN: Mapping[str, Function] = {
    "dateModify": typed(modify, "string", "time.Time"),
    "date_modify": typed(modify, "string", "time.Time"),
    "mustDateModify": typed(must_modify, "string", "time.Time"),
    "must_date_modify": typed(must_modify, "string", "time.Time"),
    "toDate": typed(to_date, "string", "string"),
    "mustToDate": typed(parsing.parse, "string", "string"),
    "unixEpoch": typed(unix_epoch, "time.Time"),
}
