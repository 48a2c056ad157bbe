"""Go's view on Python values, in one place for those who write functions for templates.

The parts: types/ (kinds, truth, bytes of strings; structs and other values of types of their own), printing/ (fmt.Sprint,
fmt.Sprintf, strconv.Quote), execution/functions.py (what a function takes), errors.py (GoError). A function refuses to build
a string of more than MAX_TEXT characters.
"""

from tinkbox.gotemplate.errors import GoError
from tinkbox.gotemplate.execution.functions import Typed
from tinkbox.gotemplate.printing.directives import sprintf
from tinkbox.gotemplate.printing.formatting import MAX_TEXT, sprint, sprintln, text
from tinkbox.gotemplate.printing.quoting import quote
from tinkbox.gotemplate.types.kinds import (
    INTEGERS,
    byte_length,
    from_bytes,
    is_nil,
    joined,
    kind,
    sorted_items,
    to_bytes,
    truth,
    type_name,
)
from tinkbox.gotemplate.types.structs import NIL_SLICE, NilPointer, Struct
from tinkbox.gotemplate.types.typed_values import (
    NIL_MAP,
    Int64,
    Ints,
    Lists,
    NamedInteger,
    NilStrings,
    StringMap,
    Strings,
    Thing,
    Uint64,
)

__all__ = [
    "INTEGERS",
    "MAX_TEXT",
    "NIL_MAP",
    "NIL_SLICE",
    "GoError",
    "Int64",
    "Ints",
    "Lists",
    "NamedInteger",
    "NilPointer",
    "NilStrings",
    "StringMap",
    "Strings",
    "Struct",
    "Thing",
    "Typed",
    "Uint64",
    "byte_length",
    "from_bytes",
    "is_nil",
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
