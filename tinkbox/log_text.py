"""How records of the log become text, for the appliance and the worker: nothing in a message forges a line or steers a terminal."""

import logging
from typing import Final, TextIO

from tinkbox.model.text import escaped
from tinkbox.model.token_mask import TokenMask

# Of one line, in characters.
LONGEST: Final = 2000
# What follows a record's first line stands to the right: only a record begins at the left.
_INDENT: Final = "    "


class LogText(logging.Formatter):
    """One line for each record, and indented lines for its traceback.

    Control characters are written as escapes, and tokens are masked.
    """

    def __init__(self, datefmt: str | None = None, mask: TokenMask | None = None) -> None:
        super().__init__("%(asctime)s %(message)s", datefmt)
        self._mask = mask or TokenMask()

    def format(self, record: logging.LogRecord) -> str:
        record.message = record.getMessage()
        record.asctime = self.formatTime(record, self.datefmt)
        below = []
        # Never `exc_text`: another formatter may have left its own there.
        if record.exc_info:
            below += self.formatException(record.exc_info).split("\n")
        if record.stack_info:
            below += self.formatStack(record.stack_info).split("\n")
        return "\n".join([self._line(self.formatMessage(record)), *(_INDENT + self._line(each) for each in below)])

    def _line(self, text: str) -> str:
        text = self._mask(text)
        kept = escaped(text[:LONGEST])
        return kept if len(text) <= LONGEST else f"{kept}…"


def log_to(stream: TextIO, datefmt: str | None = None, mask: TokenMask | None = None) -> logging.Handler:
    """Write the log of the whole program to a stream, from INFO on."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(LogText(datefmt, mask))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    return handler
