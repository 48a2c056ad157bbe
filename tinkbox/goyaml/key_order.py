"""The order in which go.yaml.in/yaml/v2 writes the keys of a map: letters behind everything else, and numbers by their value."""

from collections.abc import Iterable
from functools import cmp_to_key


def in_order(keys: Iterable[str]) -> list[str]:
    """Sort keys: `disk2` stands before `disk10`, and `_x` before `a`."""
    return sorted(keys, key=cmp_to_key(_compared))


def _compared(left: str, right: str) -> int:
    if left == right:
        return 0
    return -1 if _is_less(left, right) else 1


def _is_less(left: str, right: str) -> bool:
    place = next((at for at, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), None)
    if place is None:
        return len(left) < len(right)
    a, b = left[place], right[place]
    if a.isalpha() or b.isalpha():
        return a < b if a.isalpha() and b.isalpha() else b.isalpha()
    # A zero behind another digit than zero makes the number longer; at its beginning it counts for nothing.
    begin = 1 if "0" in (a, b) and _follows_a_digit(left, place) else 0
    (left_number, left_end), (right_number, right_end) = _digits(left, place, begin), _digits(right, place, begin)
    if left_number != right_number:
        return left_number < right_number
    if left_end != right_end:
        return left_end < right_end
    return a < b


def _follows_a_digit(text: str, place: int) -> bool:
    while place and text[place - 1].isdecimal():
        place -= 1
        if text[place] != "0":
            return True
    return False


def _digits(text: str, place: int, number: int) -> tuple[int, int]:
    """The number that begins at this place, within 64 bits, and the place behind it."""
    while place < len(text) and text[place].isdecimal():
        number = (number * 10 + ord(text[place]) - ord("0") + (1 << 63)) % (1 << 64) - (1 << 63)
        place += 1
    return number, place
