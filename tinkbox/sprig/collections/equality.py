"""Go's reflect.DeepEqual on values, and membership by it, with a bound on the work."""

from collections.abc import Hashable, Iterable, Mapping, Sequence

from tinkbox.gotemplate.values import is_nil, type_name
from tinkbox.sprig.bounds import Steps, bound_depth


def deep_equal(left: object, right: object) -> bool:
    """Tell whether two values have the same kind and content. Raises GoError if that takes too many steps."""
    return equal_within(Steps(), left, right)


def equal_within(steps: Steps, left: object, right: object, depth: int = 0) -> bool:
    """Compare like deep_equal(), as part of more work."""
    steps.take()
    bound_depth(depth)
    if type_name(left) != type_name(right):
        return False
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        steps.take(len(left))
        return left is right or (
            is_nil(left) == is_nil(right)
            and left.keys() == right.keys()
            and all(equal_within(steps, left[key], right[key], depth + 1) for key in left)
        )
    if isinstance(left, Sequence) and isinstance(right, Sequence) and not isinstance(left, str):
        return left is right or (
            is_nil(left) == is_nil(right)
            and len(left) == len(right)
            and all(equal_within(steps, one, other, depth + 1) for one, other in zip(left, right, strict=True))
        )
    return left == right


class Distinct:
    """A set of values under deep_equal(). Raises GoError if that takes too many steps."""

    def __init__(self, values: Iterable[object] = ()) -> None:
        self._steps = Steps()
        self._alike: dict[Hashable, list[object]] = {}
        for each in values:
            self.add(each)

    def add(self, value: object) -> None:
        self._alike.setdefault(self._outline(value), []).append(value)

    def __contains__(self, value: object) -> bool:
        return any(equal_within(self._steps, value, each) for each in self._alike.get(self._outline(value), ()))

    def _outline(self, value: object) -> Hashable:
        """Show a value down to its elements; equal values have the same outline."""
        if isinstance(value, Mapping):
            self._steps.take(len(value))
            return type_name(value), frozenset((key, _glimpse(each)) for key, each in value.items())
        if isinstance(value, list | tuple):
            self._steps.take(len(value))
            return type_name(value), tuple(map(_glimpse, value))
        return type_name(value), value


def _glimpse(value: object) -> Hashable:
    return type_name(value), len(value) if isinstance(value, list | tuple | Mapping) else value
