"""The interfaces of this host, and what is changed of them after a person said yes."""

import os
import re
import subprocess
from pathlib import Path
from typing import Final

from tinkbox.boot.network.interfaces import present_interfaces
from tinkbox.model.errors import Unavailable
from tinkbox.setup.proposals import Choice, HostInterface

SYSTEMD: Final = Path("/run/systemd/system")  # sd_booted(3)
# Made by Docker for containers, and by no person for machines.
_CONTAINERS: Final = re.compile(r"docker\d+|br-[0-9a-f]{12}|veth[0-9a-f]{7}")


def host_interfaces() -> list[HostInterface]:
    """All that machines could be on, in their order."""
    return [
        HostInterface(name=each.name, address=each.address, outward=each.outward, up=each.up)
        for each in present_interfaces()
        if not _CONTAINERS.fullmatch(each.name)
        and not (each.address and each.address.is_loopback)
        and each.name != "lo"
    ]


def set_address(choice: Choice) -> None:
    """Give the interface its address until the next reboot; raises Unavailable."""
    _run("ip", "link", "set", choice.interface, "up")
    _run("ip", "address", "add", str(choice.address), "dev", choice.interface)


def has_systemd() -> bool:
    return SYSTEMD.is_dir()


def is_root() -> bool:
    return os.geteuid() == 0


def _run(*command: str) -> None:
    try:
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Unavailable(f"cannot start {command[0]}: {error.strerror}: install the package iproute2") from None
    if ended.returncode:
        raise Unavailable(f"`{' '.join(command)}` failed: {' '.join(ended.stderr.split())}")
