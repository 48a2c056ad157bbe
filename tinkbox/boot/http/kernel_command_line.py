"""What the OSIE is told on its kernel's command line."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from tinkbox.model.boot import ConsoleAccess, Plan

SYSLOG_PORT: Final = 514
# By the architecture of hardware documents; what is here for one that is missing is what PCs have.
CONSOLES: Final[Mapping[str, tuple[str, ...]]] = {
    "x86_64": ("console=tty0", "console=ttyS0,115200"),
    "aarch64": ("console=tty0", "console=ttyAMA0,115200"),
}


def kernel_arguments(
    plan: Plan, url: str, *, dns: str = "", syslog_port: int = 0, console: ConsoleAccess = ConsoleAccess.SHELL
) -> tuple[str, ...]:
    """The arguments for a machine that reaches the node door at `url`; those of its hardware document are the last.

    `dns` is where names of workflows are answered, empty: only by what the network has.  `syslog_port` is ours, 0: none.
    `console` is what the OSIE's consoles offer.
    """
    interface = plan.interface
    words = [f"tinkbox.server={url}"]
    if dns:
        words.append(f"tinkbox.dns={dns}")
    if syslog_port:
        words.append(f"tinkbox.syslog={syslog(url, syslog_port)}")
    words.append(f"tinkbox.mac={interface.mac}")
    if interface.vlan_id is not None:
        words.append(f"vlan_id={interface.vlan_id}")
    if console is not ConsoleAccess.SHELL:
        words.append(f"tinkbox.console={console}")
    consoles = CONSOLES.get(interface.architecture, CONSOLES["x86_64"])
    return (*words, *consoles, *interface.netboot.kernel_parameters)


def syslog(url: str, port: int) -> str:
    """Our syslog receiver, HOST[:PORT], for a machine that reaches the node door at `url`."""
    host = urlsplit(url).hostname or ""
    return host if port == SYSLOG_PORT else f"{host}:{port}"
