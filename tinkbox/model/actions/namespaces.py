"""Whose network and whose processes a container sees, in the Docker engine's words (`NetworkMode`, `PidMode`)."""

import re
from typing import Final

from tinkbox.model.errors import Invalid

MACHINE: Final = "host"  # the machine's own
BRIDGES: Final = frozenset({"bridge", "default"})  # the engine's usual network, which an engine need not have
_NAME: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.-]*")
_JOINING: Final = "container:"


def check_network(network: str) -> None:
    """Raises Invalid for what can be no network: `host`, `none`, `bridge`, `container:NAME`, a network's name, empty: the usual."""
    if network and not _NAME.fullmatch(_joined(network) or network):
        raise Invalid(
            f"expected host, none, bridge, container:NAME or the name of a network of the machine's engine, not {network[:40]!r}"
        )


def check_pid(pid: str) -> None:
    """Raises Invalid for what is no process namespace: `host`, `container:NAME`, `private` or empty: one of its own."""
    if pid not in ("", "private", MACHINE) and not _NAME.fullmatch(_joined(pid)):
        raise Invalid(f"expected host, container:NAME or private, not {pid[:40]!r}")


def joins(network: str) -> bool:
    """Whether it is that of another container, which then has the names of hosts as well."""
    return network.startswith(_JOINING)


def _joined(text: str) -> str:
    return text.removeprefix(_JOINING) if joins(text) else ""
