"""What was seen of machines: the stages of their boots."""

from collections.abc import Sequence

from tinkbox.cli.output.formats import Column, Document, rows_of
from tinkbox.cli.output.printable import clean, moment
from tinkbox.cli.output.tables import table


def detail(seen: Document) -> str:
    """What is known of a sighting, with how often it was seen, where that was more than once."""
    facts = seen.get("facts", {})
    if "count" not in facts:
        return str(seen["detail"])
    seconds = round(facts.get("lasted", 0))
    often = f"{facts['count']} times " + (f"in {seconds} s" if seconds else "within a second")
    return f"{seen['detail']} ({often})" if seen["detail"] else often


SIGHTINGS: Sequence[Column] = (Column("At", "at", moment), Column("Stage", "stage"), Column("Detail", detail))


def timeline(sightings: Sequence[Document], stalled: str = "") -> str:
    """A table of sightings, and below it for how long a machine has stalled, if it has."""
    titles = [column.title for column in SIGHTINGS]
    return table(titles, rows_of(sightings, SIGHTINGS)) + (f"{clean(stalled)}\n" if stalled else "")
