"""Sprig's functions on maps. set, unset and the merging ones change the map they are given, as in Go."""

from collections.abc import Mapping

from tinkbox.gotemplate.values import GoError, StringMap, Strings, kind, sorted_items, type_name
from tinkbox.sprig.arguments import Function, typed
from tinkbox.sprig.bounds import Steps, bound_depth, bound_items
from tinkbox.sprig.collections.changeable_maps import changeable
from tinkbox.sprig.numbers.conversion import to_text

Map = Mapping[str, object]
MAP = type_name({})


def make(*values: object) -> dict[str, object]:
    """Take keys and values in turn; the last key may lack its value, which is then empty."""
    padded = values if len(values) % 2 == 0 else (*values, "")
    return {to_text(key): value for key, value in zip(padded[::2], padded[1::2], strict=True)}


def get(source: Map, key: str) -> object:
    """Look up a key; the empty string if it is missing."""
    return source.get(key, "")


def put(target: Map, key: str, value: object) -> Map:
    """Set a key and give the changed map. Raises GoError for a nil map."""
    changed = changeable(target)
    bound_items(len(changed) + 1)
    changed[key] = value
    return changed


def unset(target: Map, key: str) -> Map:
    """Remove a key, if it is there, and give the changed map."""
    if key in target:
        del changeable(target)[key]
    return target


def has_key(source: Map, key: str) -> bool:
    return key in source


def pluck(key: str, *sources: Map) -> list[object]:
    """List what the maps that have the key have for it."""
    return [source[key] for source in sources if key in source]


def keys(*sources: Map) -> list[str]:
    """List the keys of all maps, those of each in order; Go has them in no order."""
    bound_items(sum(map(len, sources)))
    return [key for source in sources for key, _ in sorted_items(source)]


def values(source: Map) -> list[object]:
    """List the values in the order of their keys; Go has them in no order."""
    return [value for _, value in sorted_items(source)]


def pick(source: Map, *wanted: str) -> dict[str, object]:
    return {key: source[key] for key in wanted if key in source}


def omit(source: Map, *unwanted: str) -> dict[str, object]:
    omitted = set(unwanted)
    return {key: value for key, value in source.items() if key not in omitted}


def dig(*arguments: object) -> object:
    """Follow keys into maps: KEY... DEFAULT MAP. The default is given if a key is missing.

    Raises GoError if what lies on the way is no map.
    """
    if len(arguments) < 3:
        raise GoError("dig needs at least three arguments")
    *path, default, found = arguments
    for key in path:
        if not isinstance(key, str):
            raise GoError(f"interface conversion: interface {{}} is {type_name(key)}, not string")
    for key in path:
        if not isinstance(found, Mapping) or type_name(found) != MAP:
            raise GoError(f"interface conversion: interface {{}} is {type_name(found)}, not map[string]interface {{}}")
        if key not in found:
            return default
        found = found[key]
    return found


def deep_copy(value: object) -> object:
    """Copy a value with all lists and maps in it. Raises GoError for nil, and for what contains itself."""
    if value is None:
        raise GoError("deepCopy error: there is nothing to copy")
    return _copy(value, Steps(), 0)


def _copy(value: object, steps: Steps, depth: int) -> object:
    steps.take()
    bound_depth(depth)
    if isinstance(value, Mapping) and kind(value) == "map":
        entries = {key: _copy(each, steps, depth + 1) for key, each in value.items()}
        return StringMap(entries) if isinstance(value, StringMap) else entries
    if isinstance(value, list | tuple):
        return type(value)(_copy(each, steps, depth + 1) for each in value)
    kind(value)
    return value


FUNCTIONS: Mapping[str, Function] = {
    "dict": typed(make, "any..."),
    "get": typed(get, "map", "string"),
    "set": typed(put, "map", "string", "any"),
    "unset": typed(unset, "map", "string"),
    "hasKey": typed(has_key, "map", "string"),
    "pluck": typed(pluck, "string", "map..."),
    "keys": typed(keys, "map...", gives=Strings),
    "values": typed(values, "map"),
    "pick": typed(pick, "map", "string..."),
    "omit": typed(omit, "map", "string..."),
    "dig": typed(dig, "any..."),
    "deepCopy": typed(deep_copy, "any"),
    "mustDeepCopy": typed(deep_copy, "any"),
}
