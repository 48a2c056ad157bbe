"""The version of a program of ours, as a worker or an OSIE tells it: it stands in our own sentences, so it has a form."""

import re
from typing import Final

from tinkbox.model.errors import Invalid
from tinkbox.model.text import spelled

_VERSION: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+~_-]{0,63}")


def program_version(text: str) -> str:
    """The version, empty where none is told.  Raises Invalid for a text that is none: every release of ours has told one of this form."""
    if text and not _VERSION.fullmatch(text):
        raise Invalid(f"version is at most 64 letters, digits and . + ~ - _, such as 0.1.0, and not {spelled(text)}")
    return text
