"""Which maps a template may change: those that are made to be changed, not Go's nil map."""

from collections.abc import Mapping, MutableMapping

from tinkbox.gotemplate.values import GoError


def changeable(target: Mapping[str, object]) -> MutableMapping[str, object]:
    """Give the same map, to change it. Raises GoError if it cannot be changed."""
    if isinstance(target, MutableMapping):
        return target
    raise GoError("this map cannot be changed, or it is nil")
