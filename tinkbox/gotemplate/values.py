"""Go's view on Python values, in one place for those who write functions for templates.

The parts: kinds.py (kinds, truth, bytes of strings), formatting.py (fmt.Sprint and its relatives),
directives.py (fmt.Sprintf), quoting.py (strconv.Quote), errors.py (GoError). A function
refuses to build a string of more than MAX_TEXT characters.
"""

from tinkbox.gotemplate.directives import sprintf
from tinkbox.gotemplate.errors import GoError
from tinkbox.gotemplate.formatting import MAX_TEXT, sprint, sprintln, text
from tinkbox.gotemplate.kinds import byte_length, from_bytes, joined, kind, sorted_items, to_bytes, truth, type_name
from tinkbox.gotemplate.quoting import quote

__all__ = [
    "MAX_TEXT",
    "GoError",
    "byte_length",
    "from_bytes",
    "joined",
    "kind",
    "quote",
    "sorted_items",
    "sprint",
    "sprintf",
    "sprintln",
    "text",
    "to_bytes",
    "truth",
    "type_name",
]
