"""A reader of a page of the documentation, who types what stands in its blocks, from top to bottom, and does what it asks for.

- Lines of `sh` blocks are typed as they stand, and have to succeed.
- What a block without a language shows has to have been shown since the last line was typed.
- What else there is stands in the tables of the test: lines that are left out, what is done with hands before a line or in
  its place, and what a reader fills in.  A block that is in none of them fails.
"""

import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from examples.lab.machine import Machine
from tests.machine.terminal import Terminal

PATIENCE: Final = 1500.0
_FENCE: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PROMPT: Final = re.compile(r"\[(\d+)\]# \Z")
# In what a page shows: what is another each time.  Addresses and names are not.
_VARYING: Final = re.compile(r"…|(?<![\w.:/-])\d+(?:[.:]\d+)?(?![\w.:/-])|\b[KMG]iB\b|\b[kMG]?B/s")


@dataclass(frozen=True, slots=True)
class Block:
    """`line` is where its text begins in the page."""

    language: str
    text: str
    line: int

    @property
    def lines(self) -> list[str]:
        """What is typed of it: without empty lines and remarks."""
        joined = self.text.replace("\\\n", " ").splitlines()
        return [words for each in joined if (words := each.partition("  #")[0].strip())]


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text()
    for found in _FENCE.finditer(text):
        yield Block(found[1], found[2], text[: found.start(2)].count("\n") + 1)


Doing = Callable[["Reader"], None]


@dataclass
class Reader:
    """`machine` is powered on where a command waits for it; `shown` is what came of the last line."""

    terminal: Terminal
    machine: Machine | None = None
    said: str = ""
    shown: str = ""
    status: int = 0
    # Told by `tinkbox install`, and seen by ssh: host keys have to be the same.
    host_keys: set[str] = field(default_factory=set)

    def read(
        self,
        page: Path,
        *,
        left_out: Collection[str] = (),
        before: Mapping[str, Doing] | None = None,
        instead: Mapping[str, Doing] | None = None,
        filled: Mapping[str, Callable[[str], str]] | None = None,
    ) -> None:
        """Do all that a page says.  A line is named by what it begins with; a name that fits none fails as well."""
        before, instead, filled = before or {}, instead or {}, filled or {}
        used = set[str]()

        def named(table: Collection[str], line: str) -> str | None:
            key = next((each for each in table if line.startswith(each)), None)
            used.update([key] if key else [])
            return key

        for block in blocks(page):
            where = f"{page.name}:{block.line}"
            if not block.language:
                self.compare(block.text, where)
                continue
            for line in block.lines if block.language == "sh" else block.lines[:1]:
                if key := named(before, line):
                    before[key](self)
                if named(left_out, line):
                    continue
                if key := named(instead, line):
                    instead[key](self)
                    continue
                assert block.language == "sh", f"{where}: what does the reader do with this block?"
                key = named(filled, line)
                typed = filled[key](line) if key else line
                self.types(typed)
                assert self.status == 0, f"{where}: `{typed}` ended with {self.status}:\n{self.shown}"
        unused = {*left_out, *instead, *before, *filled} - used
        assert not unused, f"{page.name} has no line that begins with {sorted(unused)}"

    def types(self, line: str, answers: Sequence[tuple[str, str]] = ()) -> str:
        """Type a line, and answer what is asked; returns what was shown until the next prompt.

        `answers` come before the usual ones, each once: the end of what is shown, and what is typed then.
        """
        left = list(answers)
        begin = answered = len(self.terminal.text)
        self.terminal.press(line + "\n")
        deadline = time.monotonic() + PATIENCE
        while True:
            shown = self.terminal.look()[begin:]
            fresh = self.terminal.text[answered:]
            if (end := _PROMPT.search(fresh)) and "\n" in fresh:
                break
            assert time.monotonic() < deadline, f"`{line}` goes on:\n{shown[-3000:]}"
            self._does_what_is_asked(shown)
            own = next((each for each in left if re.search(each[0] + r"\Z", fresh)), None)
            if own:
                left.remove(own)
            keys = own[1] if own else self._usual_answer(fresh)
            if keys is not None:
                answered = len(self.terminal.text)
                self.terminal.press(keys + "\n")
        self.status, self.shown = int(end[1]), shown[: -len(end[0])]
        self.said += self.shown
        self.host_keys |= set(re.findall(r"host key (SHA256:[\w+/]{43})", self.shown))
        return self.shown

    def compare(self, text: str, where: str) -> None:
        """Each line of an expected output was shown, in its fixed parts, since the last line was typed."""
        for line in text.splitlines():
            fixed = [re.escape(each) for each in _VARYING.split(line)]
            assert re.search(r"\S+".join(fixed), self.shown), f"{where}: not shown: {line}\n{self.shown}"

    def _does_what_is_asked(self, shown: str) -> None:
        if self.machine is not None and not self.machine.running and "power it on" in shown:
            self.machine.power_on()

    def _usual_answer(self, shown: str) -> str | None:
        """Enter takes what is proposed; a host key is compared with the one that was told."""
        if found := re.search(
            r"key fingerprint is (SHA256:[\w+/]{43}).*\(yes/no/\[fingerprint\]\)\? \Z", shown, re.DOTALL
        ):
            assert found[1] in self.host_keys, f"{found[1]} is another than {self.host_keys}"
            return "yes"
        asked = re.search(r"(\[[^\]\n]+\]: |Enter file in which to save the key \(\S+\): |passphrase[^\n]*: )\Z", shown)
        return "" if asked else None
