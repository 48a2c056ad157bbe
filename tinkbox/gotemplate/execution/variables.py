"""The variables of one template while it is executed."""

from tinkbox.gotemplate.errors import GoError


class Variables:
    """A stack of names and values, of which the last of a name counts.

    A block remembers mark() at its start and gives it to release() at its end.
    """

    def __init__(self, data: object) -> None:
        self._order: list[str] = []
        self._values: dict[str, list[object]] = {}
        self.declare("$", data)

    def declare(self, name: str, value: object) -> None:
        self._order.append(name)
        self._values.setdefault(name, []).append(value)

    def assign(self, name: str, value: object) -> None:
        """Replace the value. Raises GoError if nothing declares the name."""
        self._of(name)[-1] = value

    def value(self, name: str) -> object:
        """Give the value. Raises GoError if nothing declares the name."""
        return self._of(name)[-1]

    def mark(self) -> int:
        return len(self._order)

    def release(self, mark: int) -> None:
        while len(self._order) > mark:
            self._values[self._order.pop()].pop()

    def _of(self, name: str) -> list[object]:
        values = self._values.get(name)
        if not values:
            raise GoError(f"undefined variable: {name}")
        return values
