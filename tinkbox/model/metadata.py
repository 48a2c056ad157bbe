"""What an installed system is told of itself, and what it tells of its first boot."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from tinkbox.model.hardware import Hardware
from tinkbox.model.ssh_keys import placeholder_problem

MAX_USER_DATA: Final = 256 * 1024  # bytes
MAX_KEYS: Final = 64
MAX_KEY: Final = 16 * 1024
# Of what a first boot tells.
MAX_FAILURES: Final = 16
MAX_FAILURE: Final = 400
MAX_MODULE: Final = 80
_KEY = re.compile(r"(?:[a-z0-9@.,=\"/ -]+ )?(?:ssh|ecdsa|sk)-[A-Za-z0-9@.-]+ [A-Za-z0-9+/]+=*(?: .*)?\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """What a workflow says of the systems that it installs; what is empty is left to the hardware document.

    `network` is a network-config, version 1 or 2, without the key `network` around it.
    """

    hostname: str = ""
    ssh_keys: tuple[str, ...] = ()
    user_data: str = ""
    vendor_data: str = ""
    network: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """What the appliance's configuration says of every system; `ca` is text of certificates (PEM), each one whole."""

    ssh_keys: tuple[str, ...] = ()
    timezone: str = ""
    proxy: str = ""
    ca: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """One installed system, as every tree tells it.

    `workflow_id` is that of its installation, empty when its machine is known by its address alone.  `details` are those of
    `metadata.instance`, `facility` those of `metadata.facility` in the hardware document, as they are there; `bonding_mode` is
    Linux's number, 0: its cards stand alone.  `url` is where its own tree is, without a slash at the end; empty: nowhere.
    """

    hardware: Hardware
    id: str
    hostname: str
    workflow_id: str = ""
    ssh_keys: tuple[str, ...] = ()
    user_data: str = ""
    vendor_data: str = ""
    network: Mapping[str, Any] = field(default_factory=dict)
    bonding_mode: int = 0
    details: Mapping[str, Any] = field(default_factory=dict)
    facility: Mapping[str, Any] = field(default_factory=dict)
    defaults: Defaults = field(default_factory=Defaults)
    url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostKey:
    """A public key of an installed system's ssh server: `ed25519` and `SHA256:…`, as ssh shows it."""

    kind: str
    fingerprint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleFailure:
    """What went wrong in a module of cloud-init, such as `modules-final/config-scripts_user`; `result` is FAIL or WARN."""

    module: str
    result: str
    message: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstBoot:
    """What the system that a workflow installed on a machine told since the machine went away to boot it.

    `reports` tells that its cloud-init reports what it does; `finished_at` is when that reported to be done.
    """

    phoned_at: datetime | None = None
    address: str = ""
    hostname: str = ""
    host_keys: tuple[HostKey, ...] = ()
    reports: bool = False
    finished_at: datetime | None = None
    failures: tuple[ModuleFailure, ...] = ()

    @property
    def failed(self) -> tuple[ModuleFailure, ...]:
        """The modules that failed; the others only warned."""
        return tuple(each for each in self.failures if each.result == "FAIL")


def ssh_key_problem(text: str) -> str:
    """What is wrong with a public key as ssh writes it; empty: nothing."""
    if len(text) > MAX_KEY:
        return f"a key of more than {MAX_KEY} letters"
    if not text.isprintable() or not _KEY.match(text):
        return (
            placeholder_problem(text) or f"expected a public key such as 'ssh-ed25519 AAAA… me@here', not {text[:40]!r}"
        )
    return ""
