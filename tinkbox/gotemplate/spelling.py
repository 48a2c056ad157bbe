"""The nearest name to one that does not exist, for messages."""

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

MAX_NAMES = 500
MAX_LENGTH = 60


def suggestion(name: str, names: Iterable[object]) -> str:
    """Give `; did you mean "hostname"?`, or nothing if no name is near; only the first 500 names are compared."""
    if len(name) > MAX_LENGTH:
        return ""
    candidates = [each for each in islice(names, MAX_NAMES) if isinstance(each, str) and len(each) <= MAX_LENGTH]
    close = get_close_matches(name.casefold(), {each.casefold() for each in candidates}, n=1)
    alike = [each for each in candidates if each.casefold() in close]
    near = get_close_matches(name, alike, n=1, cutoff=0)
    return f'; did you mean "{near[0]}"?' if near else ""
