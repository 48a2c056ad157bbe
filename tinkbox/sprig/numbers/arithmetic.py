"""Sprig's integers: int64 arithmetic that overflows as Go's does, and sequences."""

import functools
from collections.abc import Callable, Iterable, Mapping

from tinkbox.gotemplate.values import GoError, Int64, Ints
from tinkbox.sprig.arguments import Function, typed
from tinkbox.sprig.bounds import MAX_ITEMS, bound_items
from tinkbox.sprig.numbers.conversion import nearest, parse_digits, to_int, to_text, wrap


def atoi(text: str) -> int:
    """Read a decimal integer; 0 if it is none, the nearest int64 if it is beyond."""
    return nearest(text)


def to_decimal(value: object) -> int:
    """Read an octal number such as a file's mode; 0 if it is none."""
    return parse_digits(to_text(value), 8) or 0


def _folded(operation: Callable[[int, int], int], first: int, rest: Iterable[object]) -> int:
    return functools.reduce(lambda left, right: wrap(operation(left, to_int(right))), rest, first)


def add(*values: object) -> int:
    return _folded(lambda left, right: left + right, 0, values)


def add1(value: object) -> int:
    return add(value, 1)


def sub(left: object, right: object) -> int:
    return wrap(to_int(left) - to_int(right))


def mul(first: object, *rest: object) -> int:
    return _folded(lambda left, right: left * right, to_int(first), rest)


def div(left: object, right: object) -> int:
    """Divide towards zero. Raises GoError for a division by zero."""
    dividend, divisor = to_int(left), _divisor(right)
    quotient = abs(dividend) // abs(divisor)
    return wrap(quotient if (dividend < 0) == (divisor < 0) else -quotient)


def mod(left: object, right: object) -> int:
    """Give the remainder, with the sign of the dividend. Raises GoError for a division by zero."""
    dividend, divisor = to_int(left), _divisor(right)
    remainder = abs(dividend) % abs(divisor)
    return -remainder if dividend < 0 else remainder


def _divisor(value: object) -> int:
    divisor = to_int(value)
    if divisor == 0:
        raise GoError("runtime error: integer divide by zero")
    return divisor


def biggest(first: object, *rest: object) -> int:
    return max(map(to_int, (first, *rest)))


def smallest(first: object, *rest: object) -> int:
    return min(map(to_int, (first, *rest)))


def until(count: int) -> list[int]:
    """Count from 0 up, or down, to but without `count`."""
    return until_step(0, count, -1 if count < 0 else 1)


def until_step(start: int, stop: int, step: int) -> list[int]:
    """Count from start to but without stop; a step that leads away from it gives an empty list.

    A step beyond int64 goes on at the other end, as in Go.
    """
    counted: list[int] = []
    while step and (numbers := range(start, stop, step)):
        bound_items(min(len(counted) + _length(numbers), MAX_ITEMS + 1))
        counted += numbers
        start = wrap(numbers[-1] + step)
    return counted


def _length(numbers: range) -> int:
    """Count; len() itself fails beyond what a machine can hold."""
    return max(0, (numbers.stop - numbers.start + numbers.step - (1 if numbers.step > 0 else -1)) // numbers.step)


def seq(*parameters: int) -> str:
    """Write the numbers up, or down, to END, from START END or from START STEP END, as the program seq does."""
    if not 1 <= len(parameters) <= 3:
        return ""
    start = 1 if len(parameters) == 1 else parameters[0]
    end = parameters[-1]
    onward = -1 if end < start else 1
    step = parameters[1] if len(parameters) == 3 else onward
    if onward < 0 < step:
        return ""
    return " ".join(map(str, until_step(start, wrap(end + onward), step)))


FUNCTIONS: Mapping[str, Function] = {
    "atoi": typed(atoi, "string"),
    "int": typed(to_int, "any"),
    "int64": typed(to_int, "any", gives=Int64),
    "toDecimal": typed(to_decimal, "any", gives=Int64),
    "add": typed(add, "any...", gives=Int64),
    "add1": typed(add1, "any", gives=Int64),
    "sub": typed(sub, "any", "any", gives=Int64),
    "mul": typed(mul, "any", "any...", gives=Int64),
    "div": typed(div, "any", "any", gives=Int64),
    "mod": typed(mod, "any", "any", gives=Int64),
    "biggest": typed(biggest, "any", "any...", gives=Int64),
    "max": typed(biggest, "any", "any...", gives=Int64),
    "min": typed(smallest, "any", "any...", gives=Int64),
    "until": typed(until, "int", gives=Ints),
    "untilStep": typed(until_step, "int", "int", "int", gives=Ints),
    "seq": typed(seq, "int..."),
}
