"""Texts by their pieces, between which anything stands: `a*b` is `["a", "b"]`."""

from collections.abc import Sequence


def consists_of(text: str, pieces: Sequence[str]) -> bool:
    """Whether the pieces stand in a text in their order, the first at its beginning and the last at its end; one alone is the text.

    Each is sought behind the one before, so that no text makes it long.
    """
    if len(pieces) == 1:
        return text == pieces[0]
    first, *between, last = pieces
    if len(text) < len(first) + len(last) or not (text.startswith(first) and text.endswith(last)):
        return False
    at, end = len(first), len(text) - len(last)
    for piece in between:
        at = text.find(piece, at, end)
        if at < 0:
            return False
        at += len(piece)
    return True
