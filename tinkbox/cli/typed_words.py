"""What a word on the command line means: the name of the value in the help decides, as for what completions suggest.

`FILE|DIR|-` is a place where something is read or written, `MACHINE` a key.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Final

from tinkbox.model.key_kinds import TYPED, KeyKind
from tinkbox.model.labels import is_change
from tinkbox.model.text import can_be_shown

_QUOTED: Final = re.compile(r"[\s'\"\\]")
_ID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_PLACES: Final[Mapping[str, str]] = {"FILE": "a file", "DIR": "a folder"}
_BESIDE: Final[Mapping[str, str]] = {**_PLACES, "URL": "a URL", "TEMPLATE": "a template", "-": "- for standard input"}
_KEYS: Final[Mapping[str, str]] = {each: TYPED.get(each, "its name") for each in KeyKind}
# What may stand before a key: the noun of what it names, or of that whose newest it is.
_NOUNS: Final[Mapping[str, Sequence[str]]] = {
    KeyKind.MACHINE: ("hardware",),
    KeyKind.RETIRED_MACHINE: ("hardware",),
    KeyKind.TEMPLATE: ("template",),
    KeyKind.WORKFLOW: ("workflow", "hardware"),
    KeyKind.ROLLOUT: ("rollout", "template"),
}
_ALL_NOUNS: Final = frozenset(chain.from_iterable(_NOUNS.values()))


def why_empty(value_name: str, word: str) -> str:
    """Why a word names no file, no folder, and nothing that a key can name, where it has to; empty: it may.

    An empty one comes from a shell variable that is not set, and would be the current folder, or all that a path lists.
    """
    parts = value_name.split("|")
    if word.strip():
        return ""
    if _KEYS.keys() >= set(parts):
        return f"it is empty: give {_KEYS[parts[0]]}"
    if word or _PLACES.keys().isdisjoint(parts):
        return ""
    return f"it is empty: name {' or '.join(_BESIDE[each] for each in parts if each in _BESIDE)}"


def key_for_scripts(name: str, identity: str) -> str:
    """What `-o name` prints of a thing, with which `xargs` can call every command: its name, or its id where that would not do.

    The name may be none that means it alone: the caller knows that, and gives the id for it.  One of the program has no id.
    """
    return name if _is_key(name) else identity or name


def _is_key(word: str) -> bool:
    """Whether a name can be typed for what it names, and passed on by `xargs`: no flag, no quotes needed, no other's id.

    Nor may it begin as a key of another noun: a machine `workflow/one` would mean a workflow to `workflow cancel`.  To `label`
    a machine `rack=r2` or `zone-` would be a change for the machines beside it.
    """
    is_plain = can_be_shown(word) and not word.startswith("-") and not _QUOTED.search(word) and not is_change(word)
    is_own = word.partition("/")[0] not in _ALL_NOUNS or "/" not in word
    return bool(word) and is_plain and is_own and not _ID.fullmatch(word)


def key_in(value_name: str, word: str) -> str:
    """A key without the noun before it, as `apply -o name` prints it and `export` takes it: `hardware/node7`.

    A workflow is also looked up by its machine, `hardware/node7`, and a rollout by its template.
    """
    noun, slash, key = word.partition("/")
    return key if slash and key and noun in _NOUNS.get(value_name, ()) else word
