"""What a template may ask for at most, so that none can hang the appliance or eat its memory."""

from tinkbox.gotemplate.values import GoError

MAX_TEXT = 1 << 20
MAX_ITEMS = 100_000
MAX_DEPTH = 100
MAX_STEPS = 200_000


def bound_text(length: int) -> None:
    """Refuse a text of that many characters before it is made: GoError beyond MAX_TEXT."""
    if length > MAX_TEXT:
        raise GoError(f"the text would be longer than {MAX_TEXT} characters")


def bound_items(count: int) -> None:
    """Refuse a list or map of that many elements before it is made: GoError beyond MAX_ITEMS."""
    if count > MAX_ITEMS:
        raise GoError(f"the list would have more than {MAX_ITEMS} elements")


def bound_depth(depth: int) -> None:
    """Refuse to go deeper into a value, which may contain itself: GoError beyond MAX_DEPTH."""
    if depth > MAX_DEPTH:
        raise GoError(f"a value is nested more than {MAX_DEPTH} levels deep")


class Steps:
    """Work that grows faster than its result: take() raises GoError after MAX_STEPS of it."""

    def __init__(self, limit: int = MAX_STEPS) -> None:
        self.limit = limit
        self.taken = 0

    def take(self, count: int = 1) -> None:
        self.taken += count
        if self.taken > self.limit:
            raise GoError(f"this would take more than {self.limit} steps")
