"""The images of actions that come with a release, and how they get into the appliance."""

from collections.abc import Sequence
from typing import Final

INSTALL_IMAGE: Final = "install-image:v1"
REBOOT: Final = "reboot:v1"
RELEASED: Final = frozenset({INSTALL_IMAGE, REBOOT, "image2disk:v1", "kexec:v1", "writefile:v1"})


def to_load(names: Sequence[str]) -> str:
    """What to type where these are missing."""
    files = " ".join(f"{each.partition(':')[0]}.tar" for each in names)
    return (
        f"type `tinkbox image load {files}` in the folder images/ of the release, or `tinkbox init --files DIR` with the folder "
        "that has images/"
    )
