"""Sprig's functions on strings: trimming, searching, splitting, joining and quoting."""

from collections.abc import Mapping, Sequence

from tinkbox.gotemplate.values import GoError, NilStrings, StringMap, Strings, to_bytes
from tinkbox.gotemplate.values import quote as go_quote
from tinkbox.sprig.arguments import Function, typed
from tinkbox.sprig.bounds import bound_items, bound_text
from tinkbox.sprig.numbers.conversion import to_text, to_texts
from tinkbox.sprig.text.lettercase import NOT_UTF8, SPACES

REPLACEMENT = "\ufffd"
STRAY_BYTES = "".join(map(chr, range(0xDC80, 0xDD00)))


def trim(text: str) -> str:
    return text.strip(SPACES)


def trim_all(characters: str, text: str) -> str:
    """Strip these characters off; a byte that is no UTF-8 counts as U+FFFD.

    str.strip() would go through all of them for each character of the text.
    """
    unwanted = set(characters)
    if NOT_UTF8.search(characters) or REPLACEMENT in characters:
        unwanted.update(REPLACEMENT + STRAY_BYTES)
    start = next((at for at, each in enumerate(text) if each not in unwanted), len(text))
    behind = next((at for at, each in enumerate(reversed(text)) if each not in unwanted), 0)
    return text[start : len(text) - behind]


def trim_suffix(suffix: str, text: str) -> str:
    return text.removesuffix(suffix)


def trim_prefix(prefix: str, text: str) -> str:
    return text.removeprefix(prefix)


def contains(part: str, text: str) -> bool:
    return part in text


def has_prefix(prefix: str, text: str) -> bool:
    return text.startswith(prefix)


def has_suffix(suffix: str, text: str) -> bool:
    return text.endswith(suffix)


def repeat(count: int, text: str) -> str:
    """Raises GoError for a negative count."""
    if count < 0:
        raise GoError("strings: negative Repeat count")
    bound_text(count * len(text))
    return text * count


def replace(old: str, new: str, text: str) -> str:
    """Replace all; an empty old text is found before, between and after all characters."""
    bound_text(len(text) + text.count(old) * (len(new) - len(old)))
    return text.replace(old, new)


def plural(one: str, many: str, count: int) -> str:
    return one if count == 1 else many


def quote(*values: object) -> str:
    """Put each value that is not nil between double quotes, with Go's escapes."""
    return joined(" ", [go_quote(each) for each in to_texts(values)])


def squote(*values: object) -> str:
    """Put each value that is not nil between single quotes, without any escaping."""
    return joined(" ", [f"'{each}'" for each in to_texts(values)])


def cat(*values: object) -> str:
    return joined(" ", to_texts(values))


def join(separator: str, values: object) -> str:
    return joined(separator, to_texts(values))


def joined(separator: str, texts: list[str]) -> str:
    """Join, but raise GoError for a result beyond the bounds before it is made."""
    bound_text(sum(map(len, texts)) + len(separator) * max(len(texts) - 1, 0))
    return separator.join(texts)


def split_list(separator: str, text: str) -> list[str]:
    return _pieces(separator, -1, text)


def split(separator: str, text: str) -> dict[str, str]:
    """Split into a map with the keys `_0`, `_1` and so on."""
    return _numbered(_pieces(separator, -1, text))


def splitn(separator: str, limit: int, text: str) -> dict[str, str]:
    """Split into at most `limit` pieces, the last of which keeps the rest; a negative limit is none."""
    return _numbered(_pieces(separator, limit, text))


def _pieces(separator: str, limit: int, text: str) -> list[str]:
    if limit == 0:
        return []
    if not separator:
        bound_items(len(text))
        return list(text) if limit < 0 or limit >= len(text) else [*text[: limit - 1], text[limit - 1 :]]
    bound_items(text.count(separator) + 1)
    return text.split(separator, limit - 1 if limit > 0 else -1)


def _numbered(pieces: list[str]) -> dict[str, str]:
    return {f"_{index}": piece for index, piece in enumerate(pieces)}


def sort_alpha(values: object) -> Sequence[str]:
    """Sort the texts of a list by their bytes; anything but a list is taken for its only element.

    A list of Go's type []string is itself sorted, as in Sprig.
    """
    if not isinstance(values, list | tuple):
        return [to_text(values)]
    if isinstance(values, NilStrings):
        return values
    if isinstance(values, Strings):
        bound_text(sum(map(len, values)))
        values.sort(key=to_bytes)
        return values
    return sorted(to_texts(values), key=to_bytes)


def to_strings(values: object) -> Sequence[str]:
    """Show each element like to_texts(); a list of Go's type []string is given back as it is."""
    if isinstance(values, Strings | NilStrings):
        return values
    return to_texts(values)


def as_strings(texts: Sequence[str]) -> Sequence[str]:
    return texts if isinstance(texts, Strings | NilStrings) else Strings(texts)


FUNCTIONS: Mapping[str, Function] = {
    "trim": typed(trim, "string"),
    "trimall": typed(trim_all, "string", "string"),
    "trimAll": typed(trim_all, "string", "string"),
    "trimSuffix": typed(trim_suffix, "string", "string"),
    "trimPrefix": typed(trim_prefix, "string", "string"),
    "contains": typed(contains, "string", "string"),
    "hasPrefix": typed(has_prefix, "string", "string"),
    "hasSuffix": typed(has_suffix, "string", "string"),
    "repeat": typed(repeat, "int", "string"),
    "replace": typed(replace, "string", "string", "string"),
    "plural": typed(plural, "string", "string", "int"),
    "quote": typed(quote, "any..."),
    "squote": typed(squote, "any..."),
    "cat": typed(cat, "any..."),
    "join": typed(join, "string", "any"),
    "splitList": typed(split_list, "string", "string", gives=Strings),
    "split": typed(split, "string", "string", gives=StringMap),
    "splitn": typed(splitn, "string", "int", "string", gives=StringMap),
    "sortAlpha": typed(sort_alpha, "any", gives=as_strings),
    "toString": typed(to_text, "any"),
    "toStrings": typed(to_strings, "any", gives=as_strings),
}
