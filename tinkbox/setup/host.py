"""The interfaces of this host, and what is changed of them after a person said yes."""

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from ipaddress import IPv4Interface, IPv4Network
from pathlib import Path
from typing import Final

from tinkbox.boot.network.interfaces import present_interfaces
from tinkbox.model.errors import Unavailable
from tinkbox.setup.placing import put
from tinkbox.setup.proposals import AddressFile, Choice, HostInterface, for_ifupdown, for_networkd

SYSTEMD: Final = Path("/run/systemd/system")  # sd_booted(3)
NETWORKD: Final = Path("/run/systemd/netif/state")  # written by systemd-networkd while it runs
INTERFACES: Final = Path("/etc/network/interfaces")
INTERFACES_OF_KERNEL: Final = Path("/sys/class/net")
_SOURCED: Final = re.compile(r"^source(-directory)?\s+/etc/network/interfaces\.d", re.MULTILINE)
# Made by Docker for containers, and by no person for machines.
_CONTAINERS: Final = re.compile(r"docker\d+|br-[0-9a-f]{12}|veth[0-9a-f]{7}")


def host_interfaces() -> list[HostInterface]:
    """All that machines could be on, in their order."""
    return [
        HostInterface(name=each.name, address=each.address, outward=each.outward, up=each.up)
        for each in present_interfaces()
        if not _CONTAINERS.fullmatch(each.name)
        and not (INTERFACES_OF_KERNEL / each.name / "brport").exists()  # a bridge's: machines are on the bridge
        and not (each.address and each.address.is_loopback)
        and each.name != "lo"
    ]


def host_networks() -> dict[str, IPv4Network]:
    """The networks that this host has an address in, by interface; also those that no machine could be on."""
    return {each.name: each.address.network for each in present_interfaces() if each.address is not None}


@contextmanager
def given_address(interface: HostInterface, address: IPv4Interface) -> Iterator[None]:
    """Give an interface an address, and take it back where what follows is refused or stopped.  Raises Unavailable."""
    with ExitStack() as undoing:
        _run("ip", "link", "set", interface.name, "up")
        if not interface.up:
            undoing.callback(_undo, "ip", "link", "set", interface.name, "down")
        _run("ip", "address", "add", str(address), "dev", interface.name)
        undoing.callback(_undo, "ip", "address", "del", str(address), "dev", interface.name)
        yield
        undoing.pop_all()


def keep_address(choice: Choice) -> Path | None:
    """Have the host keep the address of the interface over a reboot.

    Returns the file that keeps it; None where it is not known what sets addresses here, or where that file says
    something else.  Raises Unavailable.
    """
    file = _address_file(choice)
    if file is None or file.path.exists():
        return None
    put(file.path, file.text.encode())
    if NETWORKD.exists():
        with suppress(Unavailable):  # the address is set, and the next boot reads the file in any case
            _run("networkctl", "reload")
    return file.path


def _address_file(choice: Choice) -> AddressFile | None:
    """By what sets addresses when this host boots."""
    if NETWORKD.exists():
        return for_networkd(choice)
    try:
        return for_ifupdown(choice) if _SOURCED.search(INTERFACES.read_text()) else None
    except OSError:
        return None


def has_systemd() -> bool:
    return SYSTEMD.is_dir()


def is_root() -> bool:
    return os.geteuid() == 0


def _undo(*command: str) -> None:
    """Run what takes back a change; what was refused is told, and not that this failed as well."""
    with suppress(Unavailable):
        _run(*command)


def _run(*command: str) -> None:
    try:
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Unavailable(f"cannot start {command[0]}: {error.strerror}: install the package iproute2") from None
    if ended.returncode:
        raise Unavailable(f"`{' '.join(command)}` failed: {' '.join(ended.stderr.split())}")
