"""What GRUB would start of an installed system: the default entry of its menu, as far as that can be read without GRUB."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

_KERNEL = ("linux", "linux16", "linuxefi")
_RAMDISK = ("initrd", "initrd16", "initrdefi")
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
# The device before a path, such as ($root) or (hd0,gpt1): paths are looked up on the one disk that is mounted.
_DEVICE = re.compile(r"\A\([^)]*\)")


@dataclass(slots=True, kw_only=True)
class Entry:
    """One entry; `kernel` and `ramdisks` are paths on the disk, `kernel` is empty where the entry starts none."""

    titles: tuple[str, ...]
    kernel: str = ""
    ramdisks: tuple[str, ...] = ()
    command_line: str = ""


@dataclass(slots=True)
class _Menu:
    """What was read so far: `places` of the menu, a submenu's entries in one; `depth` counts open braces."""

    places: list[list[Entry]] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    depth: int = 0
    submenu: int = -1


def default_entry(text: str) -> Entry | None:
    """The default entry of a grub.cfg, else the first that starts a kernel; None when there is none.

    Conditions are not looked at, and the last value of a variable counts: in what update-grub writes that is the one
    without a saved choice.
    """
    menu = _Menu()
    for words, opens in _lines(text):
        _read(menu, words)
        menu.depth += 1 if opens else -1 if words[0] == "}" else 0
        if menu.submenu >= menu.depth:
            menu.submenu = -1
    default = _filled(menu.variables.get("default", ""), menu.variables)
    chosen = next((place for place in menu.places for each in place if default in each.titles), [])
    if not chosen and default.isascii() and default.isdecimal() and int(default) < len(menu.places):
        chosen = menu.places[int(default)]
    return next((each for each in [*chosen, *(entry for place in menu.places for entry in place)] if each.kernel), None)


def _lines(text: str) -> Iterator[tuple[list[str], bool]]:
    """The words of each line that has some, and whether it opens a brace."""
    for line in text.splitlines():
        try:
            words = shlex.split(line, comments=True)
        except ValueError:
            words = line.split()
        if words:
            yield words, words[-1] == "{"


def _read(menu: _Menu, words: list[str]) -> None:
    match words:
        case ["set", assignment, *_] if "=" in assignment:
            name, _, value = assignment.partition("=")
            menu.variables[name] = value
        case ["submenu", *_]:
            menu.places.append([])
            menu.submenu = menu.depth
        case ["menuentry", title, *options]:
            named = (name for option, name in pairwise(options) if option in ("--id", "$menuentry_id_option"))
            made = Entry(titles=(title, *named))
            if menu.submenu >= 0 and menu.depth > menu.submenu:
                menu.places[-1].append(made)
            else:
                menu.places.append([made])
        case [command, path, *rest] if menu.places and menu.places[-1]:
            entry = menu.places[-1][-1]
            if command in _KERNEL:
                entry.kernel = _path(path, menu.variables)
                entry.command_line = " ".join(filter(None, (_filled(word, menu.variables) for word in rest)))
            elif command in _RAMDISK:
                entry.ramdisks = tuple(_path(each, menu.variables) for each in (path, *rest))


def _filled(text: str, variables: dict[str, str]) -> str:
    """A text with its variables, once: one that is not known is empty, as for GRUB."""
    return _VARIABLE.sub(lambda found: variables.get(found[1] or found[2], ""), text)


def _path(text: str, variables: dict[str, str]) -> str:
    return _filled(_DEVICE.sub("", text), variables)
