"""Merging maps into a map as dario.cat/mergo v1.0.1 does for Sprig."""

from collections.abc import Mapping, MutableMapping
from typing import TypeGuard

from tinkbox.gotemplate.values import NIL_MAP, kind, truth
from tinkbox.sprig.arguments import Function, typed
from tinkbox.sprig.bounds import Steps, bound_depth, bound_items
from tinkbox.sprig.collections.changeable_maps import changeable

Map = Mapping[str, object]


def merge(target: Map, *sources: Map) -> Map:
    """Add to `target` what it lacks, or has empty, from the sources in turn; maps in maps are merged likewise.

    `target` is changed and given back. Parts of the sources are not copied.
    """
    return _merged(target, sources, overwrite=False)


def merge_overwrite(target: Map, *sources: Map) -> Map:
    """Like merge(), but what the later source has wins, even if it is empty."""
    return _merged(target, sources, overwrite=True)


def _merged(target: Map, sources: tuple[Map, ...], *, overwrite: bool) -> Map:
    result: MutableMapping[str, object] = {} if target is NIL_MAP else changeable(target)
    steps = Steps()
    for source in sources:
        _merge_into(result, source, overwrite, steps, 0)
    return result


def _merge_into(target: MutableMapping[str, object], source: Map, overwrite: bool, steps: Steps, depth: int) -> None:
    bound_depth(depth)
    bound_items(len(target) + len(source))
    for key, value in list(source.items()):
        steps.take()
        present = target.get(key)
        if value is None:
            if overwrite:
                target[key] = None
        elif _is_map(value) and _is_map(present) and (present or value):
            _merge_into(changeable(present), value, overwrite, steps, depth + 1)
        elif overwrite or not truth(present):
            target[key] = value


def _is_map(value: object) -> TypeGuard[Map]:
    return kind(value) == "map"


FUNCTIONS: Mapping[str, Function] = {
    "merge": typed(merge, "map", "map..."),
    "mustMerge": typed(merge, "map", "map..."),
    "mergeOverwrite": typed(merge_overwrite, "map", "map..."),
    "mustMergeOverwrite": typed(merge_overwrite, "map", "map..."),
}
