"""Go's fmt for one value: a verb with its flags, width and precision, and the functions of the Print family.

All results are bounded: GoError says so when a value is nested too deeply or its text gets too long.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tinkbox.gotemplate.errors import GoError
from tinkbox.gotemplate.printing.floats import format_float
from tinkbox.gotemplate.printing.quoting import can_backquote, quote, quote_rune, rune
from tinkbox.gotemplate.types.kinds import is_nil, joined, kind, sorted_items, to_bytes, type_name
from tinkbox.gotemplate.types.structs import NilPointer, Struct, pointed_to
from tinkbox.gotemplate.types.typed_values import NamedInteger, Thing

MAX_TEXT = 256 * 1024
MAX_DEPTH = 100
OF_POINTERS = "vpbodxX"
FORMS = {"b": "b", "o": "o", "O": "o", "x": "x", "X": "X", "d": "d", "v": "d"}
PREFIXES = {"b": "0b", "o": "0", "O": "0", "x": "0x", "X": "0X"}


@dataclass(frozen=True, slots=True)
class Spec:
    """The flags, width and precision of one directive; `sharp_v` and `plus_v` are the flags of %#v and %+v."""

    minus: bool = False
    plus: bool = False
    sharp: bool = False
    space: bool = False
    zero: bool = False
    width: int | None = None
    precision: int | None = None
    sharp_v: bool = False
    plus_v: bool = False

    def pad(self, shown: str, *, zeros: bool | None = None) -> str:
        missing = (self.width or 0) - len(shown)
        if missing <= 0:
            return shown
        check_length(missing)
        if self.minus:
            return shown + " " * missing
        return ("0" if (self.zero if zeros is None else zeros) else " ") * missing + shown


PLAIN = Spec()


def check_length(length: int) -> None:
    """Refuse a text of that many characters before it is made: GoError beyond MAX_TEXT."""
    if length > MAX_TEXT:
        raise GoError(f"the text of a value is longer than {MAX_TEXT} characters")


class Paper:
    """Collects pieces of text up to a bound; write() raises GoError beyond it."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.left = MAX_TEXT

    def write(self, piece: str) -> None:
        self.left -= len(piece)
        check_length(MAX_TEXT - self.left)
        self.pieces.append(piece)

    def text(self) -> str:
        return joined("".join(self.pieces))


def text(value: object) -> str:
    """Show a value as an action does: like %v, but `<no value>` for nil itself.

    Raises GoError for what cannot be shown: foreign objects, more than 100 levels, more than MAX_TEXT characters.
    """
    if isinstance(value, str):
        return value
    return "<no value>" if value is None else show(pointed_to(value))


def show(value: object) -> str:
    """Show a value as %v does. Raises GoError like text()."""
    paper = Paper()
    write_value(paper, value, "v", PLAIN)
    return paper.text()


def sprint(*values: object) -> str:
    """Join like fmt.Sprint: a space only between two neighbours that are both no strings. Raises GoError like text()."""
    paper = Paper()
    for index, value in enumerate(values):
        if index and not isinstance(value, str) and not isinstance(values[index - 1], str):
            paper.write(" ")
        write_value(paper, value, "v", PLAIN)
    return paper.text()


def sprintln(*values: object) -> str:
    """Join like fmt.Sprintln: always a space between, a newline at the end. Raises GoError like text()."""
    paper = Paper()
    for index, value in enumerate(values):
        if index:
            paper.write(" ")
        write_value(paper, value, "v", PLAIN)
    paper.write("\n")
    return paper.text()


def write_value(paper: Paper, value: object, verb: str, spec: Spec, depth: int = 0) -> None:
    """Write a value under a verb, Go's `%!d(string=hi)` included where they do not fit. Raises GoError like text()."""
    if depth > MAX_DEPTH:
        raise GoError(f"a value is nested more than {MAX_DEPTH} levels deep")
    if verb == "T" and depth == 0:
        name = type_name(value)
        paper.write(spec.pad(name if value is None or spec.precision is None else name[: spec.precision]))
        return
    if spec.sharp_v and is_nil(value) and value is not None and verb == "v":
        name = type_name(value)
        paper.write(f"({name})(nil)" if name.startswith("*") else f"{name}(nil)")
        return
    if isinstance(value, list | tuple) and verb != "p":
        _write_slice(paper, value, verb, spec, depth)
        return
    if isinstance(value, Struct) and verb != "p":
        if depth and kind(value) == "ptr" and verb not in OF_POINTERS:
            write_misfit(paper, value, verb, spec)
            return
        _write_struct(paper, value, verb, spec, depth)
        return
    if isinstance(value, Mapping) and verb != "p":
        _write_map(paper, value, verb, spec, depth)
        return
    shown = _nil(verb, spec, depth) if value is None else _scalar(value, verb, spec)
    if shown is not None:
        paper.write(shown)
        return
    write_misfit(paper, value, verb, spec, depth)


def write_misfit(paper: Paper, value: object, verb: str, spec: Spec, depth: int = 0) -> None:
    """Write `%!d(string=hi)`. Raises GoError like text()."""
    if value is None:
        paper.write(f"%!{verb}(<nil>)")
        return
    paper.write(f"%!{verb}({type_name(value)}=")
    inside = int(value) if isinstance(value, NamedInteger) else value  # whose text is not asked for here
    write_value(paper, inside, "v", spec, 0 if isinstance(value, Struct) else depth + 1)
    paper.write(")")


def _nil(verb: str, spec: Spec, depth: int) -> str | None:
    if depth:
        return "interface {}(nil)" if spec.sharp_v else "<nil>"
    return spec.pad("<nil>") if verb == "v" else None


def _write_slice(paper: Paper, value: Sequence[object], verb: str, spec: Spec, depth: int) -> None:
    paper.write(f"{type_name(value)}{{" if spec.sharp_v else "[")
    for index, each in enumerate(value):
        if index:
            paper.write(", " if spec.sharp_v else " ")
        write_value(paper, each, verb, spec, depth + 1)
    paper.write("}" if spec.sharp_v else "]")


def _write_map(paper: Paper, value: Mapping[str, object], verb: str, spec: Spec, depth: int) -> None:
    paper.write(f"{type_name(value)}{{" if spec.sharp_v else "map[")
    for index, (key, each) in enumerate(sorted_items(value)):
        if index:
            paper.write(", " if spec.sharp_v else " ")
        write_value(paper, key, verb, spec, depth + 1)
        paper.write(":")
        write_value(paper, each, verb, spec, depth + 1)
    paper.write("}" if spec.sharp_v else "]")


def _write_struct(paper: Paper, value: Struct, verb: str, spec: Spec, depth: int) -> None:
    """Write the fields in their order; what Go would show as an address in memory is written out as well."""
    name = value.type_name
    pointer = "&" if name.startswith("*") and depth == 0 else ""
    paper.write(f"{pointer}{name.removeprefix('*')}{{" if spec.sharp_v else f"{pointer}{{")
    for index, (field, each) in enumerate(value.items()):
        if index:
            paper.write(", " if spec.sharp_v else " ")
        if spec.sharp_v or spec.plus_v:
            paper.write(f"{field}:")
        write_value(paper, each, verb, spec, depth + 1)
    paper.write("}")


def _scalar(value: object, verb: str, spec: Spec) -> str | None:
    """Show one scalar; None if the verb does not fit it."""
    if isinstance(value, bool):
        return spec.pad("true" if value else "false") if verb in "tv" else None
    if isinstance(value, str):
        return _string(value, verb, spec)
    if isinstance(value, float):
        return _float(value, verb, spec)
    if isinstance(value, NamedInteger) and verb in "vsqxX" and not spec.sharp_v:
        return _string(value.text(), verb, spec)
    if isinstance(value, int):
        if kind(value).startswith("uint") and spec.sharp_v and verb == "v":
            return _int(int(value), "x", replace(spec, sharp=True))
        return _int(int(value), verb, spec)
    if isinstance(value, NilPointer):
        return spec.pad("<nil>") if verb == "v" else _int(0, verb, spec) if verb in OF_POINTERS else None
    if isinstance(value, Thing):
        return _string(value.text(), verb, spec)
    kind(value)
    return None


def _string(value: str, verb: str, spec: Spec) -> str | None:
    if verb in "xX":
        return _hex(to_bytes(value if spec.precision is None else value[: spec.precision]), verb, spec)
    if verb not in "vsq":
        return None
    if spec.precision is not None:
        value = value[: spec.precision]
    if verb == "q" or spec.sharp_v:
        if spec.sharp and can_backquote(value):
            return spec.pad(f"`{value}`")
        value = quote(value, ascii_only=spec.plus)
    return spec.pad(value)


def _hex(data: bytes, verb: str, spec: Spec) -> str:
    if spec.precision is not None:
        data = data[: spec.precision]
    prefix = "0" + verb if spec.sharp and data else ""
    digits: Iterable[str] = (f"{each:02{verb}}" for each in data)
    return spec.pad((" " + prefix).join(digits).join((prefix, "")) if spec.space else prefix + "".join(digits))


def _float(value: float, verb: str, spec: Spec) -> str | None:
    if verb == "v":
        verb = "g"
    if verb not in "beEfFgGxX":
        return None
    verb = "f" if verb == "F" else verb
    check_length(spec.precision or 0)
    shown = format_float(value, verb, spec.precision, sharp=spec.sharp and not spec.sharp_v)
    sign = shown[0] if shown[0] in "+-" else "+"
    digits = shown.lstrip("+-")
    if digits in {"Inf", "NaN"}:
        spec = replace(spec, zero=False)
        if digits == "NaN" and not (spec.space or spec.plus):
            return spec.pad(digits)
    if spec.space and sign == "+" and not spec.plus:
        sign = " "
    if not spec.plus and sign == "+" and not (digits == "Inf" and shown[0] == "+"):
        return spec.pad(digits)
    if spec.zero and not spec.minus and spec.width:
        return sign + replace(spec, width=spec.width - 1).pad(digits)
    return spec.pad(sign + digits)


def _int(value: int, verb: str, spec: Spec) -> str | None:
    if verb == "c":
        return spec.pad(rune(value))
    if verb == "q":
        return spec.pad(quote_rune(value, ascii_only=spec.plus))
    if verb == "U":
        return _unicode(value, spec)
    if verb not in FORMS:
        return None
    sign = "-" if value < 0 else "+" if spec.plus else " " if spec.space else ""
    least = spec.precision
    if least is None and spec.zero and not spec.minus and spec.width:
        least = spec.width - len(sign)
    check_length(least or 0)
    if spec.precision == 0 and value == 0:
        return spec.pad("", zeros=False)
    digits = format(abs(value), FORMS[verb]).rjust(least or 0, "0")
    if spec.sharp and verb in PREFIXES and not (verb in "oO" and digits.startswith("0")):
        digits = PREFIXES[verb] + digits
    if verb == "O":
        digits = "0o" + digits
    return spec.pad(sign + digits, zeros=False)


def _unicode(value: int, spec: Spec) -> str:
    unsigned = value & 0xFFFF_FFFF_FFFF_FFFF
    check_length(spec.precision or 0)
    shown = "U+" + f"{unsigned:X}".rjust(max(4, spec.precision or 0), "0")
    if spec.sharp and unsigned <= 0x10FFFF and rune(unsigned).isprintable():
        shown += f" '{rune(unsigned)}'"
    return spec.pad(shown, zeros=False)
