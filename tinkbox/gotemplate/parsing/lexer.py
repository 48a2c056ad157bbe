"""Cuts a template into tokens. What is no token becomes an ERROR token, at which the parser stops: as late as Go does."""

import re
from dataclasses import dataclass
from enum import Enum, auto

from tinkbox.gotemplate.printing.quoting import quote_rune

SPACES = " \t\r\n"
LEFT, RIGHT = "{{", "}}"
COMMENT, COMMENT_END = "/*", "*/"


class Kind(Enum):
    TEXT = auto()
    LEFT = auto()
    RIGHT = auto()
    SPACE = auto()
    ASSIGN = auto()
    DECLARE = auto()
    PIPE = auto()
    OPEN = auto()
    CLOSE = auto()
    CHARACTER = auto()  # printable ASCII that means nothing but a comma between variables
    STRING = auto()
    RUNE = auto()
    NUMBER = auto()
    COMPLEX = auto()
    BOOL = auto()
    VARIABLE = auto()
    FIELD = auto()
    IDENTIFIER = auto()
    DOT = auto()
    NIL = auto()
    KEYWORD = auto()
    ERROR = auto()
    END = auto()


KEYWORDS = {"break", "continue", "block", "define", "else", "end", "if", "range", "template", "with"}
WORDS = {"true": Kind.BOOL, "false": Kind.BOOL, "nil": Kind.NIL} | dict.fromkeys(KEYWORDS, Kind.KEYWORD)
SIGNS = {"=": Kind.ASSIGN, "|": Kind.PIPE, "(": Kind.OPEN, ")": Kind.CLOSE}
SPACE = re.compile(r"[ \t\r\n]+")
STRING = re.compile(r'"(?:[^"\\\n]|\\[^\n])*"', re.DOTALL)
RUNE = re.compile(r"'(?:[^'\\\n]|\\[^\n])*'", re.DOTALL)
RAW = re.compile(r"`[^`]*`")
WORD = re.compile(r"\w+")
NUMBER = re.compile(
    r"[+-]?(?:0[xX][0-9a-fA-F_]*(?:\.[0-9a-fA-F_]*)?(?:[pP][+-]?[0-9_]*)?|0[oO][0-7_]*(?:\.[0-7_]*)?"
    r"|0[bB][01_]*(?:\.[01_]*)?|[0-9_]*(?:\.[0-9_]*)?(?:[eE][+-]?[0-9_]*)?)i?",
)
TERMINATORS = SPACES + ".,|:()"
UNCLOSED_ACTION = "unclosed action"


@dataclass(frozen=True, slots=True)
class Token:
    kind: Kind
    text: str
    at: int


def tokens(source: str) -> list[Token]:
    """Cut the source into tokens; the last one is END or ERROR, whose text is the message."""
    lexer = _Lexer(source)
    lexer.run()
    return lexer.tokens


def word_length(source: str, at: int) -> int:
    """Count the letters, digits and underscores from here."""
    match = WORD.match(source, at)
    if match is None:
        return 0
    word = match[0]
    if word.isascii():
        return len(word)
    return next((index for index, each in enumerate(word) if not is_alphanumeric(each)), len(word))


def is_alphanumeric(character: str) -> bool:
    return character == "_" or character.isalpha() or character.isdecimal()


class _Stop(Exception):
    """There is nothing more to read: the last token says why."""


class _Lexer:
    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0
        self.depth = 0
        self.tokens: list[Token] = []

    def run(self) -> None:
        try:
            while self.at < len(self.source):
                self._text()
            self._emit(Kind.END, 0)
        except _Stop:
            return

    def _emit(self, kind: Kind, length: int) -> None:
        self.tokens.append(Token(kind, self.source[self.at : self.at + length], self.at))
        self.at += length

    def _fail(self, message: str, at: int | None = None) -> _Stop:
        self.tokens.append(Token(Kind.ERROR, message, self.at if at is None else at))
        return _Stop()

    def _text(self) -> None:
        """Read text up to an action, and the action."""
        left = self.source.find(LEFT, self.at)
        if left < 0:
            self._emit(Kind.TEXT, len(self.source) - self.at)
            return
        inner = left + len(LEFT)
        trims = self.source.startswith("-", inner) and self.source[inner + 1 : inner + 2] in tuple(SPACES)
        text = self.source[self.at : left]
        if trims:
            text = text.rstrip(SPACES)
        if text:
            self._emit(Kind.TEXT, len(text))
        self.at = left
        after = inner + 2 if trims else inner
        if self.source.startswith(COMMENT, after):
            self._comment(after)
            return
        self._emit(Kind.LEFT, len(LEFT))
        self.at = after
        self.depth = 0
        while self._right() is None:
            self._inside()
        self._close(Kind.RIGHT)

    def _right(self) -> bool | None:
        """Tell whether the right delimiter here trims; None if there is none here."""
        if self.source.startswith(RIGHT, self.at):
            return False
        if self.source.startswith("-" + RIGHT, self.at + 1) and self.source[self.at] in SPACES:
            return True
        return None

    def _close(self, kind: Kind | None) -> None:
        trims = self._right()
        if kind and self.depth:
            raise self._fail("unclosed left paren")
        if trims:
            self.at += 2
        if kind:
            self._emit(kind, len(RIGHT))
        else:
            self.at += len(RIGHT)
        if trims:
            self.at += len(self.source) - self.at - len(self.source[self.at :].lstrip(SPACES))

    def _comment(self, start: int) -> None:
        end = self.source.find(COMMENT_END, start + len(COMMENT))
        if end < 0:
            raise self._fail("unclosed comment")
        self.at = end + len(COMMENT_END)
        if self._right() is None:
            raise self._fail("comment ends before closing delimiter", start)
        self._close(None)

    def _inside(self) -> None:
        """Read one token within an action."""
        if self.at >= len(self.source):
            raise self._fail(UNCLOSED_ACTION)
        first = self.source[self.at]
        if first in SPACES:
            self._space()
        elif first in SIGNS:
            self._sign(first)
        elif first == ":":
            if not self.source.startswith(":=", self.at):
                raise self._fail("expected :=")
            self._emit(Kind.DECLARE, 2)
        elif first in "\"`'":
            self._quoted(first)
        elif first == "$":
            self._named(Kind.VARIABLE)
        elif first == ".":
            self._point()
        elif first in "+-" or "0" <= first <= "9":
            self._number()
        elif is_alphanumeric(first):
            self._word()
        elif "!" <= first <= "~":
            self._emit(Kind.CHARACTER, 1)
        else:
            raise self._fail(f"unrecognized character in action: {self._shown(first)}")

    def _space(self) -> None:
        match = SPACE.match(self.source, self.at)
        assert match is not None
        length = len(match[0])
        if self.source.startswith("-" + RIGHT, match.end()):
            length -= 1  # the last space belongs to the trim marker
        if length:
            self._emit(Kind.SPACE, length)

    def _sign(self, sign: str) -> None:
        self.depth += {"(": 1, ")": -1}.get(sign, 0)
        if self.depth < 0:
            raise self._fail("unexpected right paren")
        self._emit(SIGNS[sign], 1)

    def _quoted(self, mark: str) -> None:
        pattern, kind, what = {
            '"': (STRING, Kind.STRING, "unterminated quoted string"),
            "'": (RUNE, Kind.RUNE, "unterminated character constant"),
            "`": (RAW, Kind.STRING, "unterminated raw quoted string"),
        }[mark]
        match = pattern.match(self.source, self.at)
        if match is None:
            raise self._fail(what)
        self._emit(kind, len(match[0]))

    def _point(self) -> None:
        following = self.source[self.at + 1 : self.at + 2]
        if following and following in "0123456789":
            self._number()
        elif self._terminates(self.at + 1):
            self._emit(Kind.DOT, 1)
        else:
            self._named(Kind.FIELD)

    def _named(self, kind: Kind) -> None:
        length = 1 + word_length(self.source, self.at + 1)
        self._need_end(self.at + length)
        self._emit(kind, length)

    def _word(self) -> None:
        length = word_length(self.source, self.at)
        self._need_end(self.at + length)
        word = self.source[self.at : self.at + length]
        self._emit(WORDS.get(word, Kind.IDENTIFIER), length)

    def _terminates(self, at: int) -> bool:
        return at >= len(self.source) or self.source[at] in TERMINATORS or self.source.startswith(RIGHT, at)

    def _need_end(self, at: int) -> None:
        if not self._terminates(at):
            raise self._fail(f"bad character {self._shown(self.source[at])}", at)

    def _number(self) -> None:
        match = NUMBER.match(self.source, self.at)
        assert match is not None
        end, kind = match.end(), Kind.NUMBER
        if self._continues(end):
            raise self._fail(f'bad number syntax: "{self.source[self.at : end + 1]}"')
        if self.source[end : end + 1] in ("+", "-"):
            second = NUMBER.match(self.source, end)
            assert second is not None
            end, kind = second.end(), Kind.COMPLEX
            if self._continues(end) or not second[0].endswith("i"):
                shown = self.source[self.at : end + 1 if self._continues(end) else end]
                raise self._fail(f'bad number syntax: "{shown}"')
        self._emit(kind, end - self.at)

    def _continues(self, at: int) -> bool:
        return at < len(self.source) and is_alphanumeric(self.source[at])

    @staticmethod
    def _shown(character: str) -> str:
        code = f"U+{ord(character):04X}"
        return f"{code} {quote_rune(ord(character))}" if character.isprintable() else code
