"""What a terminal shows of what a full-screen program wrote: the few codes that ours writes, and no others."""

import re

_STEP = re.compile(r"\x1b\[(\??[0-9;]*)([A-Za-z])|[^\x1b]")


class Screen:
    """Takes what was written, from the moment on at which the program took the screen over."""

    def __init__(self, rows: int, columns: int) -> None:
        self.lines = [[" "] * columns for _ in range(rows)]
        self._columns = columns
        self._row = self._column = 0

    def feed(self, written: bytes) -> "Screen":
        text = written.decode(errors="replace")
        # What was there before it was wiped may have been of another size.
        begin = max(text.rfind("\x1b[?1049h"), text.rfind("\x1b[2J"), 0)
        if text.rfind("\x1b[?1049l") >= begin:
            return self  # another program has the terminal
        for found in _STEP.finditer(text[begin:]):
            code, letter = found[1], found[2]
            if letter is None:
                self._put(found[0])
            elif letter == "H":
                row, column = (int(each) for each in (code or "1;1").split(";"))
                self._row, self._column = row - 1, column - 1
            elif letter == "K":
                self.lines[self._row][self._column :] = [" "] * (self._columns - self._column)
            elif letter == "J":
                self.lines = [[" "] * self._columns for _ in self.lines]
            else:
                assert letter in "mhl", found[0]
        return self

    @property
    def text(self) -> str:
        return "\n".join("".join(line).rstrip() for line in self.lines)

    def _put(self, letter: str) -> None:
        assert self._row < len(self.lines), "below the screen"
        assert self._column < self._columns, "wider than the screen"
        self.lines[self._row][self._column] = letter
        self._column += 1
