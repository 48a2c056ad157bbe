"""fmt.Sprintf: the directives of a format string, and Go's notes on what does not fit."""

import re
from collections.abc import Sequence
from dataclasses import replace

from tinkbox.gotemplate.printing.formatting import PLAIN, Paper, Spec, write_misfit, write_value
from tinkbox.gotemplate.types.kinds import type_name

MAX_SIZE = 1_000_000
MAX_DIGITS = 100  # of a number with zeros before it
INDEX = r"\[(?:[^\]]*\])?"
DIRECTIVE = re.compile(
    rf"(?P<flags>[+\-# 0]*)(?P<first>{INDEX})?(?P<width>\*|[0-9]+)?"
    rf"(?P<point>\.(?!\Z)(?P<second>{INDEX})?(?P<precision>\*|[0-9]+)?)?(?P<third>{INDEX})?(?P<verb>.)?",
    re.DOTALL,
)


def sprintf(form: str, *values: object) -> str:
    """Format as fmt.Sprintf does, its `%!d(string=hi)`, `%!d(MISSING)` and `%!(EXTRA int=1)` included.

    Raises GoError like values.text().
    """
    return _Sprintf(form, values).run()


class _Sprintf:
    def __init__(self, form: str, values: Sequence[object]) -> None:
        self.form = form
        self.values = values
        self.next = 0
        self.reordered = False
        self.index_is_good = True
        self.paper = Paper()

    def run(self) -> str:
        position = 0
        while (percent := self.form.find("%", position)) >= 0:
            self.paper.write(self.form[position:percent])
            match = DIRECTIVE.match(self.form, percent + 1)
            assert match is not None  # every part of the pattern is optional
            if _overflows(match["width"]) or _overflows(match["precision"]):
                self.paper.write("%!(NOVERB)")
                position = len(self.form)
                break
            self._directive(match)
            position = match.end()
        self.paper.write(self.form[position:])
        if not self.reordered:
            self._extra(self.values[self.next :])
        return self.paper.text()

    def _directive(self, match: re.Match[str]) -> None:
        self.index_is_good = True
        spec = self._precision(match, self._width(match, _flags(match["flags"])))
        if match["third"]:
            self._take_index(match["third"])
        verb = match["verb"]
        if verb is None:
            self.paper.write("%!(NOVERB)")
        elif verb == "%":
            self.paper.write("%")
        elif not self.index_is_good:
            self.paper.write(f"%!{verb}(BADINDEX)")
        elif self.next >= len(self.values):
            self.paper.write(f"%!{verb}(MISSING)")
        else:
            self.next += 1
            self._write(self.values[self.next - 1], verb, spec)

    def _write(self, value: object, verb: str, spec: Spec) -> None:
        if verb in "vw" and spec.sharp:
            spec = replace(spec, sharp=False, sharp_v=True)
        if verb in "vw" and spec.plus:
            spec = replace(spec, plus=False, plus_v=True)
        if verb == "w":
            write_misfit(self.paper, value, verb, spec)
            return
        write_value(self.paper, value, verb, spec)

    def _width(self, match: re.Match[str], spec: Spec) -> Spec:
        if match["first"]:
            self._take_index(match["first"])
        if match["width"] == "*":
            width = self._take_int()
            if width is None:
                self.paper.write("%!(BADWIDTH)")
                return spec
            return replace(spec, width=abs(width), minus=spec.minus or width < 0, zero=spec.zero and width >= 0)
        if match["first"] and (match["width"] or match["point"]):
            self.index_is_good = False
        return replace(spec, width=int(match["width"])) if match["width"] else spec

    def _precision(self, match: re.Match[str], spec: Spec) -> Spec:
        if not match["point"]:
            return spec
        if match["second"]:
            self._take_index(match["second"])
        if match["precision"] != "*":
            return replace(spec, precision=int(match["precision"] or "0"))
        precision = self._take_int()
        if precision is None or precision < 0:
            self.paper.write("%!(BADPREC)")
            return spec
        return replace(spec, precision=precision)

    def _take_index(self, shown: str) -> None:
        self.reordered = True
        digits = shown[1:-1]
        number = int(digits) if re.fullmatch(r"[0-9]{1,6}", digits) and shown.endswith("]") else 0
        if 1 <= number <= len(self.values):
            self.next = number - 1
        else:
            self.index_is_good = False

    def _take_int(self) -> int | None:
        if self.next >= len(self.values):
            return None
        value = self.values[self.next]
        self.next += 1
        if not isinstance(value, int) or isinstance(value, bool):
            return None
        return value if abs(value) <= MAX_SIZE else None

    def _extra(self, values: Sequence[object]) -> None:
        if not values:
            return
        self.paper.write("%!(EXTRA ")
        for index, value in enumerate(values):
            if index:
                self.paper.write(", ")
            if value is None:
                self.paper.write("<nil>")
            else:
                self.paper.write(type_name(value) + "=")
                write_value(self.paper, value, "v", PLAIN)
        self.paper.write(")")


def _flags(flags: str) -> Spec:
    return Spec(minus="-" in flags, plus="+" in flags, sharp="#" in flags, space=" " in flags, zero="0" in flags)


def _overflows(digits: str | None) -> bool:
    """Tell whether Go gives up reading a width or a precision, and with it the rest of the format."""
    return digits is not None and digits != "*" and (len(digits) > MAX_DIGITS or int(digits[:-1] or "0") > MAX_SIZE)
