"""What a name that nobody knows was probably meant to be."""

from collections.abc import Collection
from difflib import get_close_matches

MAX_LISTED = 12


def nearest(name: str, known: Collection[str]) -> str:
    """The one of the known names that is near; empty: none is."""
    by_folded = {each.casefold(): each for each in known}
    close = get_close_matches(name[:60].casefold(), by_folded, n=1)
    return by_folded[close[0]] if close else ""


def meant(name: str, known: Collection[str]) -> str:
    """`did you mean name?` when one of the known names is near, else what there is."""
    if near := nearest(name, known):
        return f"did you mean {near}?"
    listed = sorted(known)[:MAX_LISTED] if len(known) > MAX_LISTED else list(known)
    return f"known here: {', '.join(listed) or 'nothing'}{', …' if len(known) > MAX_LISTED else ''}"
