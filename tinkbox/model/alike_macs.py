"""MACs that are easily taken for one another: by a person who types one, and on the label of a card with several ports."""

from collections.abc import Iterator
from enum import StrEnum
from itertools import pairwise
from typing import Final

from tinkbox.model.hardware import MacAddress

_DIGITS: Final = "0123456789abcdef"
_PORTS: Final = 2  # how far the MACs of two ports of one card are apart, at most


class Likeness(StrEnum):
    """How two MACs are alike, as what stands behind a colon."""

    PORT = "only the last byte differs, by one or two: two ports of one card, or a mistake in typing"
    DIGIT = "one digit differs: a mistake in typing"
    SWAPPED = "two digits are swapped: a mistake in typing"


def likeness(one: MacAddress, other: MacAddress) -> Likeness | None:
    """How two MACs are alike; None: they are the same, or not alike."""
    if one == other or len(one) != len(other):
        return None
    if one[:-2] == other[:-2] and abs(int(one[-2:], 16) - int(other[-2:], 16)) <= _PORTS:
        return Likeness.PORT
    different = [place for place, (mine, its) in enumerate(zip(one, other, strict=True)) if mine != its]
    if len(different) == 1:
        return Likeness.DIGIT
    if len(different) == 2:
        first, second = different
        beside = second - first == 1 or (second - first == 2 and one[first + 1] == ":")
        if beside and (one[first], one[second]) == (other[second], other[first]):
            return Likeness.SWAPPED
    return None


def alike(mac: MacAddress) -> Iterator[MacAddress]:
    """All MACs that are like this one, about two hundred, each once."""
    places = [place for place, letter in enumerate(mac) if letter != ":"]
    found = {f"{mac[:place]}{digit}{mac[place + 1 :]}" for place in places for digit in _DIGITS}
    for first, second in pairwise(places):
        letters = list(mac)
        letters[first], letters[second] = mac[second], mac[first]
        found.add("".join(letters))
    last = int(mac[-2:], 16)
    found |= {f"{mac[:-2]}{each:02x}" for each in range(max(0, last - _PORTS), min(255, last + _PORTS) + 1)}
    # Of thousands of machines that wait, so without a look at what cannot be otherwise.
    yield from (MacAddress.from_bytes(bytes.fromhex(each.replace(":", ""))) for each in sorted(found - {mac}))
