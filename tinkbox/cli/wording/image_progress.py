"""How far the download and the packing of a system image are.  Pure."""

from typing import TYPE_CHECKING, Final

from tinkbox.model.images.system_image import Progress, Stage
from tinkbox.model.sizes import show_size

if TYPE_CHECKING:
    from tinkbox.catalogue.downloading import Arrived

_STAGES: Final = {
    Stage.CHECKING: "Checking the file",
    Stage.UNPACKING: "Decompressing the file",
    Stage.PACKING: "Packing the disk",
}


def downloading(name: str, arrived: "Arrived") -> str:
    parts = [_so_far(arrived.done, arrived.total)]
    if arrived.silent_seconds:
        parts.append(f"nothing came for {int(arrived.silent_seconds)} s")
        return f"Downloading {name}: {', '.join(parts)}"
    if arrived.rate:
        parts.append(f"{show_size(int(arrived.rate))}/s")
    if arrived.seconds_left is not None:
        minutes, seconds = divmod(int(arrived.seconds_left), 60)
        parts.append(f"{minutes}:{seconds:02} left")
    return f"Downloading {name}: {', '.join(parts)}"


def packing(progress: Progress) -> str:
    return f"{_STAGES[progress.stage]}: {_so_far(progress.done, progress.total)}"


def transferring(doing: str, done: int, total: int) -> str:
    """How far images are on their way, such as `Saving`."""
    return f"{doing}: {_so_far(done, total)}"


def _so_far(done: int, total: int) -> str:
    """A `total` of 0 is not known."""
    return f"{show_size(done)} of {show_size(total)} ({min(100, done * 100 // total)}%)" if total else show_size(done)
