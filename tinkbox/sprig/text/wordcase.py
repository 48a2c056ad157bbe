"""snakecase, kebabcase and camelcase, which find words as github.com/huandu/xstrings v1.5.0 does.

Each character has a class, written as one letter: c space, d `_` or `-`, p other punctuation, U upper case letter,
a other letter, n number, o anything else, Chinese characters included. A word is a run of them; spaces, `_` and `-` are
connectors, but `_` and `-` right after punctuation belong to it. A byte that is no UTF-8, or U+FFFD, is of the class of the
character that follows, or else precedes; a text of nothing else is one word x.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping

from tinkbox.sprig.arguments import Function, typed
from tinkbox.sprig.text.lettercase import NOT_UTF8, SPACES, is_upper, to_lower, to_upper, valid

# In `HTTPServer` the last capital begins the next word.
WORD = re.compile("[cd]+|p[pd]*|(?:V*U)+(?=V*Ua)|V*Ua+|(?:V*U)+|a+|n+|o+|x+")
UNKNOWN = re.compile("x+")
REPLACEMENT = "\ufffd"
CHINESE = ((0x3400, 0x4D85), (0x4E00, 0x9FCC), (0x20000, 0x2B81D))
END = ("", "")
Word = tuple[str, str]


def is_connector(character: str) -> bool:
    return character in "-_" or character in SPACES


def _class(character: str) -> str:
    if character == REPLACEMENT or NOT_UTF8.match(character):
        return "x"
    if is_connector(character):
        return "d" if character in "-_" else "c"
    category = unicodedata.category(character)
    if category == "Lu":
        return "U"
    if category[0] == "L":
        return "o" if any(first <= ord(character) <= last for first, last in CHINESE) else "a"
    return {"P": "p", "N": "n"}.get(category[0], "o")


def _words(text: str) -> Iterator[Word]:
    found = "".join(map(_class, text))
    classes = UNKNOWN.sub(lambda match: len(match[0]) * _neighbour(found, *match.span()), found)
    for match in WORD.finditer(classes):
        yield match[0][0].replace("d", "c").replace("V", "U"), text[match.start() : match.end()]


def _neighbour(classes: str, start: int, end: int) -> str:
    """Give the class of the character behind a place, or else before it, or else x; V before a capital, which it goes with."""
    if classes[end : end + 1] == "U":
        return "V"
    return classes[end : end + 1] or classes[max(start - 1, 0) : start] or "x"


def snakecase(text: str) -> str:
    return Connecting(text, "_").text()


def kebabcase(text: str) -> str:
    return Connecting(text, "-").text()


class Connecting:
    """Writes words in lower case with a connector between; a number goes with small letters after it, else before it."""

    def __init__(self, text: str, connector: str) -> None:
        self._connector = connector
        self._words = [*_words(text), END]
        self._pieces: list[str] = []
        self._position = 0

    def text(self) -> str:
        while not self._at_last():
            kind = self._kind()
            self._write()
            if kind not in "cp":
                self._connect(kind)
        self._write()
        return "".join(self._pieces)

    def _connect(self, kind: str) -> None:
        if kind == "n":
            self._write_letters_and_numbers()
        elif self._kind() == "n":
            if self._at_last():
                return
            if self._words[self._position + 1][0] == "a":
                self._pieces.append(self._connector)
                self._write_letters_and_numbers()
            else:
                self._write()
        if self._kind() not in ("", "c", "p"):
            self._pieces.append(self._connector)

    def _kind(self) -> str:
        return self._words[self._position][0]

    def _at_last(self) -> bool:
        return self._position >= len(self._words) - 2

    def _write_letters_and_numbers(self) -> None:
        while self._kind() in ("a", "n"):
            self._write()

    def _write(self) -> None:
        kind, word = self._words[self._position]
        if kind == "c":
            self._pieces.append("".join(self._connector if is_connector(each) else REPLACEMENT for each in word))
        elif kind == "U":
            self._pieces.append("".join(to_lower(each) if is_upper(each) else each for each in valid(word)))
        else:
            self._pieces.append(word)
        self._position += 1


def camelcase(text: str) -> str:
    """Begin each word with a capital and leave out single connectors between words."""
    text = valid(text)
    body = text.lstrip("-_" + SPACES)
    leading = text[: len(text) - len(body)]
    if not body:
        # Sprig writes the last connector twice.
        return leading + leading[-1:]
    pieces = [leading]
    in_capitals = is_upper(body[0])
    previous = to_upper(body[0])
    for each in body[1:]:
        current = each
        if not is_connector(previous):
            pieces.append(previous)
            in_capitals = in_capitals and is_upper(each)
            current = to_lower(each) if in_capitals else each
        elif is_connector(each):
            pieces.append(previous)
        else:
            in_capitals = is_upper(each)
            current = to_upper(each)
        previous = current
    return "".join([*pieces, previous])


FUNCTIONS: Mapping[str, Function] = {
    "snakecase": typed(snakecase, "string"),
    "kebabcase": typed(kebabcase, "string"),
    "camelcase": typed(camelcase, "string"),
}
