"""How much a rendering may take, and the account of what it has taken."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tinkbox.gotemplate.errors import GoError
from tinkbox.gotemplate.printing.formatting import MAX_TEXT
from tinkbox.gotemplate.types.kinds import byte_length

CHARACTERS_PER_STEP = 64
ELEMENTS_PER_STEP = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one rendering may take at most.

    `output_bytes` bounds the output and each string that a function makes, in bytes of UTF-8. `steps` counts statements,
    commands, operands of functions and rounds of a range, and further each 64 characters or 16 elements that a function or a range
    handles, and each 16 names that are followed.
    `depth` counts blocks, templates and parentheses that are being executed within each other.
    """

    output_bytes: int = MAX_TEXT
    steps: int = 100_000
    depth: int = 100


def unhindered() -> None:
    """A rendering goes on for as long as its steps last."""


class Budget:
    """What is left of the Limits; each method raises GoError when it is not enough.

    `go_on` is called after each function, and raises GoError where the rendering is not to go on: steps tell little of time.
    """

    def __init__(self, limits: Limits, go_on: Callable[[], None] = unhindered) -> None:
        self.limits = limits
        self._go_on = go_on
        self.output: list[str] = []
        self._bytes = 0
        self._steps = 0
        self._depth = 0

    def step(self, count: int = 1) -> None:
        self._steps += count
        if self._steps > self.limits.steps:
            raise GoError(f"rendering takes more than {self.limits.steps} steps")

    def enter(self) -> None:
        self._depth += 1
        if self._depth > self.limits.depth:
            raise GoError(f"rendering is nested more than {self.limits.depth} levels deep")

    def leave(self) -> None:
        self._depth -= 1

    def write(self, text: str) -> None:
        # A byte that is no text is written as U+FFFD in the end, of three bytes like the surrogate that stands for it.
        self._bytes += len(text.encode("utf-8", "surrogatepass"))
        if self._bytes > self.limits.output_bytes:
            raise GoError(f"the output is longer than {self.limits.output_bytes} bytes")
        self.output.append(text)

    def handle(self, value: object) -> None:
        """Pay for a value that a function takes, or that a range goes through."""
        if isinstance(value, str):
            self.step(len(value) // CHARACTERS_PER_STEP)
        elif isinstance(value, list | tuple | Mapping):
            self.step(len(value) // ELEMENTS_PER_STEP)

    def keep(self, value: object) -> None:
        """Pay for a value that a function has made, and refuse a string longer than the output may be."""
        self._go_on()
        self.handle(value)
        if isinstance(value, str) and byte_length(value) > self.limits.output_bytes:
            raise GoError(f"the result is longer than {self.limits.output_bytes} bytes")
