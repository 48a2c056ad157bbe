"""What keeps machines from beginning that may have work: told once for all of them.  Pure."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from shlex import quote
from typing import Final

from tinkbox.engine.workflows.image_digests import DigestOf
from tinkbox.model.hardware import Hardware, called, primary

NAMED: Final = 5  # machines in a line


def boot_obstacles(
    machines: Sequence[Hardware], osie: Collection[str], key: Callable[[Hardware], str]
) -> Iterator[str]:
    """What stands in the way of their boot.

    `osie` are the architectures of the OSIEs that there are, `key` is what means a machine and no other.
    """
    silent = [each for each in machines if not any(one.allow_pxe for one in each.interfaces)]
    if silent:
        its = "its document" if len(silent) == 1 else "their documents"
        edit = f"`tinkbox hardware edit {quote(key(silent[0]))}`"
        yield f"no card of {_machines([called(each) for each in silent])} may netboot: allow it in {its}, {edit}"
    missing: dict[str, list[str]] = defaultdict(list)
    for each in machines:
        if (architecture := str(primary(each).architecture)) not in osie:
            missing[architecture].append(called(each))
    for architecture, names in missing.items():
        boot = "boots" if len(names) == 1 else "boot"
        yield f"there is no OSIE for {architecture}, which {_machines(names)} {boot}: `tinkbox osie build` makes one"


def missing_images(names: Iterable[str], digest_of: DigestOf) -> Iterator[str]:
    """The images of these that the appliance's registry should have, and has not."""
    for name in dict.fromkeys(names):
        if digest_of(name) == "":
            yield f"image {name} is not in the registry: push it there, or `tinkbox image load` it from a file"


def _machines(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"machine {names[0]}"
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{len(names)} machines ({', '.join(names[:NAMED])}{more})"
