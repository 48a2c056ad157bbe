"""The end of what the actions of a workflow printed, as lines."""

import base64
import codecs
import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

KEPT: Final = 300
LONGEST: Final = 2_000  # letters of a line; of a longer one the end counts
# Colours, and what else moves a terminal (ECMA-48): without its first letter the rest would be read as text.
_SEQUENCE: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")


@dataclass(slots=True)
class LogEnd:
    """Takes pieces in their order; `place` is where the next ones are asked after."""

    workflow: str
    place: str = ""
    _lines: deque[str] = field(default_factory=lambda: deque(maxlen=KEPT))
    _attempt: str = ""
    _rest: str = ""
    _letters: codecs.IncrementalDecoder = field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8")(errors="replace")
    )

    def add(self, piece: Mapping[str, Any]) -> None:
        """One more piece of output, as the appliance sends it."""
        if piece["attempt"] != self._attempt:
            self._attempt = piece["attempt"]
            self._lines += [*([self._rest] if self._rest else []), f"==> {piece['task']} / {piece['action']}"]
            self._rest = ""
            self._letters.reset()
        if piece.get("missing"):
            self._lines += [*([self._rest] if self._rest else []), f"[{piece['missing']} bytes were not kept]"]
            self._rest = ""
        text = self._rest + self._letters.decode(base64.b64decode(piece["output"]))
        *whole, rest = text.replace("\r\n", "\n").split("\n")
        self._lines += (_last_of(_SEQUENCE.sub("", each)) for each in whole)
        # Its carriage return may be the first half of an end of line.
        self._rest = _last_of(rest) + "\r" * rest.endswith("\r")

    def shown(self) -> list[str]:
        """The lines, with one that has not ended yet."""
        last = _SEQUENCE.sub("", self._rest).rstrip("\r")
        return [*self._lines, *([last] if last else [])]


def _last_of(line: str) -> str:
    """What stays of a line that was written over: a display of progress ends with carriage returns."""
    return line.rstrip("\r").rpartition("\r")[2][-LONGEST:]
