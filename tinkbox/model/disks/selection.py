"""How a template names a disk without knowing its path: `disk:` and `wipes:`, and `--disk` of a command.

    only                             the one disk that the machine has
    smallest, largest                the one of that size
    /dev/vda, /dev/disk/by-id/…      the one of that path
    serial=S3Z1 rotational=no        the one of which all conditions hold
    size>=200G largest               the largest of those of which they hold

A selection never guesses: what fits several disks, or none, is refused (`disk_choice`).
"""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from posixpath import normpath
from typing import Final

from tinkbox.model.errors import Invalid
from tinkbox.model.spelling import meant
from tinkbox.model.wildcards import consists_of

MAX_SELECTION: Final = 199
_CONDITION: Final = re.compile(r"([A-Za-z_-]+)\s*([<>=!~]+)(.*)\Z", re.ASCII | re.DOTALL)
_SIZE: Final = re.compile(r"([0-9]{1,15})(?:\.([0-9]{1,3}))?([kKmMgGtTpP]?)(i?[bB])?\Z", re.ASCII)
_POWERS: Final = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_FLAGS: Final = {"no": False, "false": False, "0": False, "yes": True, "true": True, "1": True}
# A disk that is sold as one of 200 GB has some bytes more or less.
_NEARLY: Final = 0.01


class Key(StrEnum):
    """What a condition may ask of a disk."""

    SERIAL = "serial"
    WWN = "wwn"
    MODEL = "model"
    SIZE = "size"
    ROTATIONAL = "rotational"
    NAME = "name"
    TRANSPORT = "transport"


class Pick(StrEnum):
    """Which of the disks that fit is meant."""

    ONLY = "only"  # there must be no other
    SMALLEST = "smallest"
    LARGEST = "largest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A serial, a model and the like: capitals count for nothing, and `*` stands for any letters."""

    key: Key
    pattern: str

    def fits(self, *values: str) -> bool:
        pieces = folded(self.key, self.pattern).split("*")
        return any(consists_of(folded(self.key, value), pieces) for value in values if value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """A number of bytes and how a disk's is to compare: from `least` to `most`, both included."""

    least: int = 0
    most: int | None = None

    def fits(self, size: int) -> bool:
        return self.least <= size and (self.most is None or size <= self.most)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """One disk, by its `path`, or by what it is; `text` is how the template puts it, with single blanks."""

    text: str
    path: str = ""
    texts: tuple[Text, ...] = ()
    sizes: tuple[Size, ...] = ()
    rotational: bool | None = None
    pick: Pick = Pick.ONLY

    def names(self, transport: str) -> bool:
        """Whether it says in so many words that the disk is attached by this transport."""
        return any(each.key is Key.TRANSPORT and each.fits(transport) for each in self.texts)


def folded(key: Key, value: str) -> str:
    """A value as it is compared: without capitals, with `_` for blanks, as udev has it; a wwn without its kind."""
    value = "_".join(value.split())
    if key is Key.NAME:
        return value
    value = value.casefold()
    if key is Key.WWN:
        value = re.sub(r"\A(wwn-|nvme-)?(0x|naa\.|eui\.|uuid\.)?", "", value)
    return value


def parse_selection(text: str) -> Selection:
    """What a selection means; raises Invalid, which says what is expected."""
    shown = repr(text[:60])
    if len(text) > MAX_SELECTION:
        raise Invalid(f"{shown}…: {EXPECTED}, in at most {MAX_SELECTION} letters")
    try:
        words = shlex.split(text)
    except ValueError:
        raise Invalid(f"{shown}: a quotation mark is missing") from None
    plain = " ".join(text.split())
    if not plain.isprintable():
        raise Invalid(f"{shown}: {EXPECTED}")
    if not words:
        raise Invalid(f"no disk is named: {EXPECTED}")
    if words[0].startswith("/"):
        return Selection(text=plain, path=_path(plain, shown))
    pick = Pick.ONLY
    if words[-1].lower() in tuple(Pick):
        pick = Pick(words.pop().lower())
        if pick is Pick.ONLY and words:
            raise Invalid(f"{shown}: only stands alone; conditions must fit one disk in any case")
    return _with_conditions(plain, words, pick, shown)


def parse_path(text: str) -> str:
    """The path of a disk, where nothing but a path will do; raises Invalid."""
    if text.startswith("/") and text == text.strip():
        path = parse_selection(text).path
        if len(path.split()) == 1:
            return path
    raise Invalid(f"{text[:60]!r}: expected the disk's path below /dev, such as /dev/sda")


EXPECTED: Final = (
    "expected the disk's path below /dev, such as /dev/sda, or smallest, largest, only, or conditions such as serial=S3Z1 "
    "or size>=200G rotational=no"
)


def _path(path: str, shown: str) -> str:
    if not path.startswith("/dev/") or normpath(path) != path:
        raise Invalid(f"{shown}: {EXPECTED}")
    return path


def _with_conditions(text: str, words: list[str], pick: Pick, shown: str) -> Selection:
    texts: list[Text] = []
    sizes: list[Size] = []
    flags: list[bool] = []
    for before, word in zip(["", *words], words, strict=False):
        found = _CONDITION.match(word)
        if found is None:
            raise Invalid(f"{shown}: {_misplaced(word, before)}")
        name, relation, value = found[1].lower(), found[2], found[3].strip()
        if name not in tuple(Key):
            raise Invalid(f"{shown}: a disk has no {name[:40]}; {meant(name, tuple(Key))}")
        key = Key(name)
        if relation not in ((">=", "<=", "=") if key is Key.SIZE else ("=",)):
            allowed = "size>=, size<= or size=" if key is Key.SIZE else f"{key}="
            raise Invalid(f"{shown}: {name}{relation} means nothing; write {allowed}")
        if not value:
            raise Invalid(f"{shown}: {name}{relation} lacks its value")
        if key is not Key.SIZE and ((key is Key.ROTATIONAL and flags) or any(each.key is key for each in texts)):
            raise Invalid(f"{shown}: {key} is given twice, and all conditions must hold")
        if key is Key.SIZE:
            sizes.append(_size(relation, value))
        elif key is Key.ROTATIONAL:
            flags.append(_flag(value))
        else:
            texts.append(Text(key=key, pattern=value))
    rotational = flags[0] if flags else None
    return Selection(text=text, texts=tuple(texts), sizes=tuple(sizes), rotational=rotational, pick=pick)


def _misplaced(word: str, before: str) -> str:
    if word.lower() in tuple(Pick):
        return f"{word} is the last word, behind the conditions"
    if word.lower() in tuple(Key):
        return f"{word} lacks its value, as in {_SUCH[Key(word.lower())]}"
    cut = _CONDITION.match(before)
    if cut is not None:
        return f'a value with a blank stands in quotation marks: {cut[1]}{cut[2]}"{cut[3]} {word[:40]}"'
    near = meant(word.partition("=")[0], (*Pick, *Key))
    return f"{word[:40]!r} is no condition; {near}" if near.startswith("did") else EXPECTED


_SUCH: Final[Mapping[Key, str]] = {
    Key.SERIAL: "serial=S3Z1",
    Key.WWN: "wwn=5000c500a1b2c3d4",
    Key.MODEL: 'model="Samsung SSD*"',
    Key.SIZE: "size>=200G",
    Key.ROTATIONAL: "rotational=no",
    Key.NAME: "name=nvme*",
    Key.TRANSPORT: "transport=sata",
}


def parse_disk_size(text: str) -> tuple[int, bool]:
    """The bytes of a size as it is printed on disks, and whether they are meant exactly; raises Invalid.

    `200G` and `200GB` are 200 × 10⁹, `200GiB` is 200 × 2³⁰; both mean about so much.  A number without a unit is exact.
    """
    found = _SIZE.match(text.replace(" ", ""))
    if found is None or (found[2] and not found[3]):
        raise Invalid(f"{text[:40]!r} is no size of a disk: write 200G, 1.5TB, 186GiB, or plain bytes")
    step = 1024 if (found[4] or "").startswith("i") else 1000
    whole, tenths = int(found[1]), found[2] or ""
    worth = step ** _POWERS[found[3].lower()]
    return whole * worth + (int(tenths) * worth // 10 ** len(tenths) if tenths else 0), not found[3]


def _size(relation: str, value: str) -> Size:
    size, exact = parse_disk_size(value)
    about = 0 if exact else int(size * _NEARLY)
    least = size - about if relation in (">=", "=") else 0
    return Size(least=least, most=size + about if relation in ("<=", "=") else None)


def _flag(value: str) -> bool:
    try:
        return _FLAGS[value.lower()]
    except KeyError:
        raise Invalid(f"rotational is yes or no, not {value[:40]!r}") from None
