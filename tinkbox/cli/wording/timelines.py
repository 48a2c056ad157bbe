"""What was seen of machines: the stages of their boots."""

import argparse
from collections.abc import Sequence
from typing import Final

from tinkbox.cli.output.formats import Column, Document, rows_of
from tinkbox.cli.output.printable import clean, moment
from tinkbox.cli.output.tables import listing, table

# Below the timeline of a machine without a MAC.
NO_BOOTS: Final = "nothing is known of its boots, for its document tells no MAC: `tinkbox hardware edit MACHINE --add-mac MAC` tells one"


def detail(seen: Document) -> str:
    """What is known of a sighting, with how often it was seen, where that was more than once."""
    facts = seen.get("facts", {})
    if "count" not in facts:
        return str(seen["detail"])
    seconds = round(facts.get("lasted", 0))
    often = f"{facts['count']} times " + (f"in {seconds} s" if seconds else "within a second")
    return f"{seen['detail']} ({often})" if seen["detail"] else often


SIGHTINGS: Sequence[Column] = (
    Column("Time", "at", moment),
    Column("Stage", "stage"),
    Column("Detail", detail),
)
OLD: Sequence[Column] = (Column("At", "at", moment), *SIGHTINGS[1:])


def timeline(chosen: argparse.Namespace, sightings: Sequence[Document], stalled: str = "") -> str:
    """A table of sightings, and below it for how long a machine has stalled, if it has."""
    # Never cut, though lines may grow too long: it is looked at for its details.
    columns = OLD if chosen.as_2020 else SIGHTINGS
    printed = table if chosen.as_2020 else listing
    told = printed([column.title for column in columns], rows_of(sightings, columns))
    return told + (f"{clean(stalled)}\n" if stalled else "")
