"""The folders of the appliance that its services may mount, looked at once, when it starts."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from tinkbox.model.errors import Conflict, Unavailable
from tinkbox.model.services import HostFolder

_KERNELS: Final = (Path("/proc"), Path("/sys"), Path("/dev"))


def real_folders(named: Mapping[str, HostFolder], ours: Mapping[str, Path]) -> Mapping[str, HostFolder]:
    """The same volumes, without links in their paths.

    None may be in what the kernel makes (`/proc`, `/sys`, `/dev`).  Whoever may write to a folder decides what lies below it, also that it is a link.  So none may lie in another, nor be,
    hold or lie in what is `ours`: paths by what people call them.  Raises Unavailable for one that is no folder, and
    Conflict.
    """
    found = {name: _real(name, folder) for name, folder in named.items()}
    places = {
        **{f"the volume {name}": Path(each.path) for name, each in found.items()},
        **{name: path.resolve() for name, path in ours.items()},
    }
    for one, path in places.items():
        for other, above in places.items():
            if one != other and path.is_relative_to(above):
                raise Conflict(
                    f"services.volumes: {one} ({path}) lies in {other} ({above}): name folders beside each other"
                )
    return found


def _real(name: str, folder: HostFolder) -> HostFolder:
    try:
        path = Path(folder.path).resolve(strict=True)
    except OSError as error:
        raise Unavailable(
            f"services.volumes.{name}: {folder.path}: {error.strerror}: make it, or leave it out"
        ) from None
    if any(path.is_relative_to(each) for each in _KERNELS):
        raise Conflict(f"services.volumes.{name}: {path} is the kernel's, and no folder for files: name another one")
    if not path.is_dir():
        raise Unavailable(f"services.volumes.{name}: {path} is no folder: name one, or leave it out")
    return replace(folder, path=str(path))
