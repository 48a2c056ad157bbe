"""Values to write as YAML and texts to read as YAML, by chance from a seed: what is written often, and what is told apart with effort."""

import json
from random import Random
from typing import Any

WORDS = [
    "y",
    "n",
    "yes",
    "No",
    "true",
    "False",
    "ON",
    "off",
    "null",
    "~",
    "NULL",
    ".inf",
    "-.inf",
    ".NaN",
    "0644",
    "0x10",
    "1_000",
    ".5",
    "5.",
    "1e3",
    "0o17",
    "0b11",
    "0b-1",
    "08",
    "-0",
    "+1",
    "12:30:45",
    "1:2",
    "2006-01-02",
    "2006-1-2T3:4:5Z",
    "2006-01-02T25:00:00Z",
    "2006-02-30",
    "<<",
    "=",
    "-",
    "--",
    "---",
    "...",
    "?",
    ":",
    "a:b",
    "a:",
    ":a",
    "#x",
    "x#y",
    "&",
    "*",
    "!",
    "|",
    ">",
    "%",
    "@",
    "`",
    ",",
    "[",
    "]",
    "{",
    "}",
    "'",
    '"',
    "\\",
    "a?",
    "?a",
    "1.5.3",
    "192.168.1.1",
    "52:54:00:12:34:56",
    "00:11:22",
    "/dev/sda",
    "key",
    "a",
    "b",
    "word",
]
LETTERS = "abcXYZ019 _-:#,.'\"\\\n\t ?!&*|>%@`{}[]=~<"
RARE = "éü\xa0\x85\u2028\u2029\r\0\a\x1b\x7f\ufeff\U0001f600漢\ufffd\x80\u0660"
NUMBERS = (0, 1, -1, 86400, 1e6, 0.1, -0.0, 1e20, 1e21, 1.5e300, 1e-7, 123456789.5, 2.0**53, 1e19, -1e19, 1e18)
TAGS = (
    "!!str",
    "!!int",
    "!!float",
    "!!bool",
    "!!null",
    "!!binary",
    "!!timestamp",
    "!own",
    "!",
    "!<tag:yaml.org,2002:int>",
)
ENDS = frozenset("\n\t\r\x85\u2028\u2029\0\a\x1b\x7f\x80\ufeff")
BRACKETS = frozenset("[]{},?'\"")


class Samples:
    """Makes samples; the same seed makes the same ones."""

    def __init__(self, seed: int) -> None:
        self._chance = Random(seed)

    def value(self, depth: int = 0) -> Any:
        """A value of JSON."""
        chance = self._chance.random()
        if depth < 4 and chance < 0.3:
            return {self.text(): self.value(depth + 1) for _ in range(self._chance.choice((0, 1, 2, 3, 5)))}
        if depth < 4 and chance < 0.45:
            return [self.value(depth + 1) for _ in range(self._chance.choice((0, 1, 2, 3)))]
        if chance < 0.55:
            return self.number()
        return self._chance.choice((None, True, False)) if chance < 0.6 else self.text()

    def number(self) -> int | float:
        of_any_size = self._chance.random() * 10 ** self._chance.randint(-10, 25)
        return self._chance.choice(
            (*NUMBERS, self._chance.random(), self._chance.randint(-(10**6), 10**6), of_any_size)
        )

    def text(self) -> str:
        chance = self._chance.random()
        if chance < 0.35:
            return self._chance.choice(WORDS)
        if chance < 0.5:
            return self._letters("0123456789_+-.eExXobTtZ: ", 9)
        if chance < 0.7:
            return self._letters(LETTERS + RARE, 12)
        if chance < 0.82:
            words = (*WORDS, *("lorem", "ipsum") * 20)
            return " ".join(self._chance.choice(words) for _ in range(self._chance.randint(1, 60)))
        if chance < 0.92:
            return "\n".join(self._letters(LETTERS, 8) for _ in range(self._chance.randint(1, 5)))
        if chance < 0.94:
            return "x" * self._chance.choice((100, 127, 128, 129, 500, 1021, 1022, 1023)) + self._chance.choice(
                ("", "é", " y", "<")
            )
        parts = (("a", "b"), ("0", "1", "2", "9", "10", "11", "007", "01"), ("", "a", "_", "0"))
        return "".join(self._chance.choice(each) for each in parts)

    def yaml(self, indent: int = 0, depth: int = 0) -> str:
        """Lines that are YAML, or nearly."""
        chance, margin = self._chance.random(), " " * indent
        if depth < 4 and chance < 0.4:
            return "".join(self._entry(margin, indent, depth) for _ in range(self._chance.choice((1, 2, 3))))
        if depth < 4 and chance < 0.55:
            items = (self.yaml(indent + 2, depth + 1) for _ in range(self._chance.choice((1, 2, 3))))
            return "".join(f"{margin}- {item.lstrip()}" for item in items)
        if chance < 0.65:
            head = self._chance.choice(("|", "|-", "|+", ">", ">-", ">+", "|2", ">1"))
            return f"{margin}{head}\n" + "".join(self._line(margin) for _ in range(self._chance.randint(1, 4)))
        if chance < 0.78:
            return f"{margin}{self._flow()}\n"
        if chance < 0.8:
            return margin + self._chance.choice(("# comment\n", "---\n", "...\n", "%YAML 1.1\n---\n", "\t\n"))
        return f"{margin}{self.scalar()}\n"

    def stream(self) -> str:
        """A document, sometimes with something behind it."""
        more = ("---\nb: 1\n", "...\n", "---\n", "--- |\n x\n", "# end", "---\n]\n")
        return self.yaml() + (self._chance.choice(more) if self._chance.random() < 0.1 else "")

    def scalar(self, *, in_brackets: bool = False) -> str:
        """A scalar in one of its styles; in quotation marks what would end it, or begin something that Go never looks at."""
        text = self._chance.choice(
            (self._chance.choice(WORDS), self._letters("0123456789_+-.eExXobTtZ: ", 9) or "0", self.text())
        )
        style = self._chance.random()
        if style < 0.1 or not ENDS.isdisjoint(text) or (in_brackets and not BRACKETS.isdisjoint(text)):
            return json.dumps(text, ensure_ascii=style < 0.5)
        if style < 0.2:
            return "'" + text.replace("'", "''") + "'"
        return f"{self._chance.choice(TAGS)} {text}" if style < 0.3 else text

    def _entry(self, margin: str, indent: int, depth: int) -> str:
        key = self._chance.choice(
            ("a", "b", "c", "d1", "<<", "1", "y", "null", "1.5", "'q'", "? a", "0x1f", self.scalar(in_brackets=True))
        )
        anchor = self._chance.choice(("&x ", "&y ")) if self._chance.random() < 0.05 else ""
        value = self.yaml(indent + 2, depth + 1)
        if "\n" in value.strip("\n"):
            return f"{margin}{anchor}{key}:\n{value}"
        before = self._chance.choice(("", "&x ", "&y ", "*x #", "*y #")) if self._chance.random() < 0.2 else ""
        return f"{margin}{anchor}{key}: {before}{value.lstrip() or chr(10)}"

    def _line(self, margin: str) -> str:
        return (
            margin + "  " * self._chance.randint(1, 2) + self._chance.choice(WORDS) + "\n" * self._chance.randint(1, 2)
        )

    def _flow(self) -> str:
        first, second = self.scalar(in_brackets=True), self.scalar(in_brackets=True)
        return self._chance.choice(
            (f"{{a: {first}, b: [{second}]}}", f"[{first}, {second}]", f"{{{first}, {second}: c}}", f"[a,{first},{{b: {second}}}]",
             f"{{a: {{b: {first}}}, <<: {{c: {second}}}}}", f"{{a: &z {first}, b: *z, c: {second}}}")
        )  # fmt: skip

    def _letters(self, letters: str, most: int) -> str:
        return "".join(self._chance.choice(letters) for _ in range(self._chance.randint(0, most)))
