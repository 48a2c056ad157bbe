"""What actions and services print, shown byte by byte, without loss or repetition over a restart of the appliance.

Which attempt or run it is of, and what of it was not kept, goes to standard error.
"""

import codecs
import sys
from collections.abc import AsyncIterator, Callable
from shutil import get_terminal_size
from typing import Final, TextIO

from tinkbox.cli.interruptions.outages import Outages
from tinkbox.cli.output.formats import Document
from tinkbox.cli.output.printable import clean, clean_block
from tinkbox.model.cells import cells
from tinkbox.model.errors import Unavailable

TAB: Final = 8  # cells at most
Stream = AsyncIterator[tuple[str, Document | None]]


async def follow(page: "Page", stream: Callable[[str], Stream]) -> None:
    """Show on a page what a stream brings, from the place on where it was cut off."""
    import asyncio

    place, outages = "", Outages()
    while True:
        try:
            async for reached, piece in stream(place):
                place = reached
                outages.over()
                if piece is not None:
                    page.show(piece)
            return
        except Unavailable as error:
            if not place:
                raise
            outages.tell(error)
        await asyncio.sleep(1)


def name_of_attempt(piece: Document) -> tuple[str, str]:
    return piece["attempt"], f"{piece['task']} / {piece['action']}{_again('attempt', piece)}"


def name_of_run(piece: Document) -> tuple[str, str]:
    return piece["run"], f"{piece['service']}{_again('run', piece)}"


def _again(what: str, piece: Document) -> str:
    return f", {what} {piece['number']}" if piece["number"] > 1 else ""


class Page:
    """Where output is shown: on a terminal without what could steer it, elsewhere as it is.

    `whose` gives the token of what printed a piece, and its name.  Where several are shown `about` names the one that is: it
    stands before that name, and on a terminal before each line, for what is printed may look like the line of another's name.
    """

    def __init__(self, whose: Callable[[Document], tuple[str, str]]) -> None:
        self.about = ""
        self._out: TextIO = sys.stdout
        self._err: TextIO = sys.stderr
        self._whose = whose
        self._token = ""
        self._in_line = False
        self._taken = 0  # cells of the line, where lines are marked
        self._shown = _Decoder()

    def show(self, piece: Document) -> None:
        """Show one piece, under a line that names what printed it when that is another than the last."""
        import base64

        token, name = self._whose(piece)
        if token != self._token:
            self._token, self._shown = token, _Decoder()
            self._say(f"==> {self.about}: {name} <==" if self.about else f"==> {name} <==")
        if piece["missing"]:
            self._say(f"[{piece['missing']} bytes were not kept]")
        self._put(base64.b64decode(piece["output"]))

    def _say(self, line: str) -> None:
        if self._in_line:
            # Where both are the same terminal, this would be taken for output.
            self._out.write("\n")
            self._out.flush()
            self._in_line = False
        print(clean(line), file=self._err, flush=True)

    def _put(self, content: bytes) -> None:
        if self._out.isatty():
            text = self._shown.text(content)
            self._out.write(self._marked(text) if self.about else text)
            self._in_line = bool(text) and not text.endswith("\n")
        else:
            self._out.buffer.write(content)
        self._out.flush()

    def _marked(self, text: str) -> str:
        """Each line of the screen with whose it is: one that is too long is broken, and not by the terminal."""
        mark = f"{clean(self.about)} | "
        room = max(1, get_terminal_size().columns - cells(mark))
        told, in_line = list[str](), self._in_line
        for letter in text:
            width = TAB if letter == "\t" else cells(letter)
            if in_line and letter != "\n" and self._taken + width > room:
                told.append("\n")
                in_line = False
            if not in_line:
                told.append(mark)
                self._taken = 0
            told.append(letter)
            self._taken += width
            in_line = letter != "\n"
        return "".join(told)


class _Decoder:
    """Bytes of one attempt as text that cannot steer a terminal, though they be cut anywhere."""

    def __init__(self) -> None:
        self._utf8 = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._held = ""

    def text(self, content: bytes) -> str:
        text = self._held + self._utf8.decode(content)
        # Only what comes next says whether this ends a line alone.
        self._held = "\r" if text.endswith("\r") else ""
        return clean_block(text.removesuffix("\r"))
