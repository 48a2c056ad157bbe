"""What keys a terminal sends: bytes on one side, keys on the other.

A printable letter is a key by itself; the others have names.
"""

import codecs
import re
from enum import StrEnum
from typing import Final


class Key(StrEnum):
    """Keys that are no letters."""

    UP = "up"
    DOWN = "down"
    LEFT = "left"
    RIGHT = "right"
    PAGE_UP = "page up"
    PAGE_DOWN = "page down"
    HOME = "home"
    END = "end"
    ENTER = "enter"
    ESCAPE = "escape"
    TAB = "tab"
    BACKSPACE = "backspace"
    CLEAR = "clear"  # Ctrl-U
    CLEAR_WORD = "clear word"  # Ctrl-W
    INTERRUPT = "interrupt"  # Ctrl-C
    UNKNOWN = "unknown"


_SEQUENCE: Final = re.compile(r"\x1b(?:\[([0-?]*)[ -/]*([@-~])|O([ -~]))")
# What may be the beginning of one.
_BEGUN: Final = re.compile(r"\x1b(?:\[[0-?]{0,16}[ -/]{0,4}|O)?\Z")
_FINAL: Final = {"A": Key.UP, "B": Key.DOWN, "C": Key.RIGHT, "D": Key.LEFT, "H": Key.HOME, "F": Key.END}
_NUMBERED: Final = {
    "1": Key.HOME,
    "4": Key.END,
    "5": Key.PAGE_UP,
    "6": Key.PAGE_DOWN,
    "7": Key.HOME,
    "8": Key.END,
}
_CONTROL: Final = {
    "\r": Key.ENTER,
    "\n": Key.ENTER,
    "\t": Key.TAB,
    "\x7f": Key.BACKSPACE,
    "\x08": Key.BACKSPACE,
    "\x15": Key.CLEAR,
    "\x17": Key.CLEAR_WORD,
    "\x03": Key.INTERRUPT,
    "\x02": Key.PAGE_UP,
    "\x06": Key.PAGE_DOWN,
}


class KeyReader:
    """Takes bytes as they come, which may end in the middle of a letter or of a sequence."""

    def __init__(self) -> None:
        self._letters = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._rest = ""

    @property
    def is_waiting(self) -> bool:
        """Whether more may follow what came: else it was the key Esc."""
        return bool(self._rest)

    def read(self, content: bytes) -> list[str]:
        """The keys that are complete."""
        text, self._rest = self._rest + self._letters.decode(content), ""
        keys, place = [], 0
        while place < len(text):
            if text[place] != "\x1b":
                keys.append(_letter(text[place]))
                place += 1
            elif (found := _SEQUENCE.match(text, place)) is not None:
                keys.append(_named(found))
                place = found.end()
            elif _BEGUN.match(text, place):
                self._rest = text[place:]
                break
            else:
                keys.append(Key.ESCAPE)
                place += 1
        return keys

    def ended(self) -> list[str]:
        """Nothing more came: what was begun is the key Esc, and letters."""
        rest, self._rest = self._rest, ""
        return [Key.ESCAPE, *map(_letter, rest[1:])] if rest else []


def _letter(letter: str) -> str:
    return _CONTROL.get(letter, letter if letter.isprintable() else Key.UNKNOWN)


def _named(found: re.Match[str]) -> str:
    numbers, final, keypad = found[1], found[2], found[3]
    if keypad is not None:
        return Key.ENTER if keypad == "M" else _FINAL.get(keypad, Key.UNKNOWN)
    if final == "~":
        return _NUMBERED.get(numbers.split(";")[0], Key.UNKNOWN)
    return _FINAL.get(final, Key.UNKNOWN)
