"""How records of the log become text, for the appliance and the worker: nothing in a message forges a line or steers a terminal."""

import logging
from typing import Final, TextIO

from tinkbox.model.text import escaped
from tinkbox.model.tokens import without_tokens

# Of one line, in characters.
LONGEST: Final = 2000
# What follows a record's first line stands to the right: only a record begins at the left.
_INDENT: Final = "    "


class LogText(logging.Formatter):
    """One line for each record, and indented lines for its traceback.

    Control characters are written as escapes, and of what looks like a token of ours only how it begins.
    """

    def __init__(self, datefmt: str | None = None) -> None:
        super().__init__("%(asctime)s %(message)s", datefmt)

    def format(self, record: logging.LogRecord) -> str:
        record.message = record.getMessage()
        record.asctime = self.formatTime(record, self.datefmt)
        below = []
        # Never `exc_text`: another formatter may have left its own there.
        if record.exc_info:
            below += self.formatException(record.exc_info).split("\n")
        if record.stack_info:
            below += self.formatStack(record.stack_info).split("\n")
        return "\n".join([_line(self.formatMessage(record)), *(_INDENT + _line(each) for each in below)])


def log_to(stream: TextIO, datefmt: str | None = None) -> logging.Handler:
    """Write the log of the whole program to a stream, from INFO on."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(LogText(datefmt))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    return handler


def _line(text: str) -> str:
    text = without_tokens(text)
    kept = escaped(text[:LONGEST])
    return kept if len(text) <= LONGEST else f"{kept}…"
