"""Which disk of a machine a selection means, by what the machine has; pure.

Rule 1: a selection means one disk or is refused.  Nothing is chosen because it comes first.
Rule 2: what can be taken out, cannot be written, or hangs on USB is chosen by its path alone; one on USB also where the
selection says transport=usb.
Rule 3: what is in use, such as a mounted disk, is a candidate like any other: else the same words would mean another disk
while it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from tinkbox.model.disks.disks import Refused
from tinkbox.model.disks.selection import Key, Pick, Selection, Text, folded
from tinkbox.model.reasons import Reason
from tinkbox.model.text import counted

LISTED = 6  # so that a message has room for all of them
_UNITS = ((10**15, "P"), (10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "K"))


class Outside(StrEnum):
    """Why a disk is no candidate."""

    REMOVABLE = "removable"
    READ_ONLY = "read-only"
    NO_MEDIUM = "no medium in it"
    USB = "on USB"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A disk as its machine tells of it; `path` is where it is now, `size` in bytes.

    `serials` and `models` are what it is called, the name to show first.  `wwn` is without a kind such as `naa.`; `links`
    are its names below /dev/disk.  `used` says by what it is used now, empty when by nothing.
    """

    path: str
    size: int
    models: tuple[str, ...] = ()
    serials: tuple[str, ...] = ()
    wwn: str = ""
    rotational: bool = False
    transport: str = ""
    links: tuple[str, ...] = ()
    outside: Outside | None = None
    used: str = ""

    def __str__(self) -> str:
        """In the words of a selection, which can be copied."""
        words = [self.path, f"size={shown_size(self.size)}"]
        for key, value in ((Key.MODEL, self.models[:1]), (Key.SERIAL, self.serials[:1])):
            words += [f"{key}={_quoted(each)}" for each in value if each]
        words += [f"{Key.WWN}={self.wwn}"] if self.wwn else []
        words.append(f"{Key.ROTATIONAL}={'yes' if self.rotational else 'no'}")
        words += [f"{Key.TRANSPORT}={self.transport}"] if self.transport else []
        notes = ", ".join(filter(None, (self.outside, self.used)))
        return " ".join(words) + (f" ({notes})" if notes else "")


def choose(selection: Selection, there: Sequence[Candidate]) -> Candidate | Refused:
    """The one disk that is meant, or why there is none, with all that could have been."""
    if selection.path:
        found = [each for each in there if selection.path in (each.path, *each.links)]
    else:
        found = [each for each in there if _fits(selection, each)]
    if found and selection.pick is not Pick.ONLY:
        sizes = [each.size for each in found]
        wanted = min(sizes) if selection.pick is Pick.SMALLEST else max(sizes)
        found = [each for each in found if each.size == wanted]
    if not found:
        return Refused(reason=Reason.NO_SUCH_DISK, message=_none(selection, there))
    if len(found) > 1:
        return Refused(reason=Reason.DISK_AMBIGUOUS, message=_several(selection, found))
    return found[0]


def _fits(selection: Selection, disk: Candidate) -> bool:
    if disk.outside is not None and not (disk.outside is Outside.USB and selection.names(disk.transport)):
        return False
    if selection.rotational not in (None, disk.rotational):
        return False
    return all(_has(disk, each) for each in selection.texts) and all(each.fits(disk.size) for each in selection.sizes)


def _has(disk: Candidate, wanted: Text) -> bool:
    match wanted.key:
        case Key.SERIAL:
            return wanted.fits(*disk.serials)
        case Key.MODEL:
            return wanted.fits(*disk.models)
        case Key.WWN:
            return wanted.fits(disk.wwn)
        case Key.NAME:
            return wanted.fits(disk.path.removeprefix("/dev/"))
        case Key.TRANSPORT:
            return wanted.fits(disk.transport)
    raise AssertionError(wanted.key)


def _none(selection: Selection, there: Sequence[Candidate]) -> str:
    inside = [each for each in there if each.outside is None]
    told = f"no disk of this machine is meant by `{selection.text}`: it has {listed(inside)}"
    outside = [each for each in there if each.outside is not None]
    if outside:
        told += f". Chosen by path alone: {listed(outside)}"
    return told


def _several(selection: Selection, found: Sequence[Candidate]) -> str:
    # Equal sizes make several of what smallest and largest mean.
    many = f"`{selection.text}` means {counted(len(found), 'disk')} of this machine, and must mean one"
    wwns = {each.wwn for each in found}
    if len(wwns) == 1 and "" not in wwns:
        many += " (by its wwn it is the same disk by two paths)" if len(found) == 2 else " (they share one wwn)"
    return f"{many}; name it, as by {_telling(found)}: {listed(found)}"


def _telling(found: Sequence[Candidate]) -> str:
    """A condition by which the first of these differs from the others."""
    for key, values in (
        (Key.SERIAL, [each.serials[0] if each.serials else "" for each in found]),
        (Key.WWN, [each.wwn for each in found]),
    ):
        known = [folded(key, value) for value in values]
        if known[0] and known.count(known[0]) == 1:
            return f"{key}={_quoted(values[0])}"
    places = [link for link in found[0].links if link.startswith("/dev/disk/by-path/")]
    return next((each for each in places if not any(each in other.links for other in found[1:])), found[0].path)


def listed(disks: Sequence[Candidate]) -> str:
    """The first of them in words."""
    if not disks:
        return "none that the OSIE knows"
    words = [str(each) for each in disks[:LISTED]]
    if len(disks) > LISTED:
        words.append(f"{len(disks) - LISTED} more")
    return "; ".join(words)


def shown_size(size: int) -> str:
    """As it is printed on disks, near enough to be found by it: `500G`."""
    for worth, unit in _UNITS:
        if size >= worth:
            return f"{size / worth:.1f}".removesuffix(".0") + unit
    return str(size)


def _quoted(value: str) -> str:
    return f'"{value}"' if " " in value else value
