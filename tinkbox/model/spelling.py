"""What a name that nobody knows was probably meant to be."""

from collections.abc import Collection
from difflib import get_close_matches

MAX_LISTED = 12
FEW_LETTERS = 2


def nearest(name: str, known: Collection[str]) -> str:
    """The one of the known names that is near; empty: none is."""
    close = get_close_matches(name[:60].casefold(), {each.casefold() for each in known}, n=1)
    alike = [each for each in known if each.casefold() in close]
    return next(iter(get_close_matches(name[:60], alike, n=1, cutoff=0)), "")


def is_misspelt(name: str, meant: str) -> bool:
    """Whether a name has the same first letter as another, and at most FEW_LETTERS are to be changed, left out or put in."""
    typed = name.casefold()
    if typed[:1] != meant[:1].casefold() or abs(len(typed) - len(meant)) > FEW_LETTERS:
        return False
    row = list(range(len(meant) + 1))  # Levenshtein's distances of what is typed so far from each beginning of `meant`
    for number, letter in enumerate(typed, 1):
        above, row = row, [number]
        for place, other in enumerate(meant.casefold()):
            row.append(min(above[place + 1] + 1, row[place] + 1, above[place] + (letter != other)))
    return row[-1] <= FEW_LETTERS


def meant(name: str, known: Collection[str], careful: Collection[str] = ()) -> str:
    """`did you mean name?` when one of the known names is near, else what there is.

    Of those that are `careful` one is named only where the name is a misspelling of it (`is_misspelt`).
    """
    if near := nearest(name, [each for each in known if each not in careful or is_misspelt(name, each)]):
        return f"did you mean {near}?"
    listed = sorted(known)[:MAX_LISTED] if len(known) > MAX_LISTED else list(known)
    return f"known here: {', '.join(listed) or 'nothing'}{', …' if len(known) > MAX_LISTED else ''}"
