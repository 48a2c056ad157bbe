"""The section `services`: workflow services on the appliance, and the names by which they are reached."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.services import HostFolder, Resources, Share
from tinkbox.settings import readers
from tinkbox.settings.declaring import reader, setting

LEAST_CPUS, MOST_CPUS = 0.01, 4096
MEMORY = readers.memory(6 << 20, "Docker starts no container with less")
WORKFLOW_BITS = 28  # the prefix of the network that every workflow with services gets
# RFC 6890: "this network", loopback, and from 224.0.0.0 on multicast, what is reserved, and broadcast.
_NO_HOSTS = tuple(map(IPv4Network, ("0.0.0.0/8", "127.0.0.0/8", "224.0.0.0/3")))


@reader(f"an IPv4 network of at least a `/{WORKFLOW_BITS}`")
def network(value: Any, default: IPv4Network) -> IPv4Network:
    """Addresses to make the networks of workflows of."""
    found = readers.written(value)
    try:
        chosen = IPv4Network(found) if found else default
    except ValueError:
        raise Invalid(f"expected an IPv4 network such as {default}, not {found!r}") from None
    if chosen.prefixlen > WORKFLOW_BITS:
        raise Invalid(f"{chosen} is too small: every workflow with services takes a /{WORKFLOW_BITS} of it")
    for each in _NO_HOSTS:
        if chosen.overlaps(each):
            raise Invalid(
                f"{chosen} has addresses of {each}, which is not for networks of hosts: name a private network such as {default}"
            )
    return chosen


@reader("a number such as `1.5`")
def processors(value: Any, _: float) -> float:
    """A number of processors, of which a hundredth is the least."""
    return readers.number(value, float, LEAST_CPUS, MOST_CPUS, "processors, such as 1.5")


_VOLUME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")  # as Docker names volumes
_READ_ONLY = ":ro"


@reader("names, each with an absolute path, and `:ro` behind one that is not to be written")
def volumes(value: Any, _: Mapping[str, HostFolder]) -> Mapping[str, HostFolder]:
    """Folders of the appliance by the names of volumes.  Raises Invalid with a problem for each that is wrong."""
    if not isinstance(value, dict):
        raise Invalid(f"expected names with folders, such as {{isos: '/srv/isos:ro'}}, not {value!r}")
    found: dict[str, HostFolder] = {}
    problems: list[Problem] = []
    for name, written in value.items():
        try:
            found[name] = _host_folder(name, written)
        except Invalid as error:
            problems.append(Problem(key=str(name), text=str(error)))
    if problems:
        raise Invalid("wrong volumes", problems)
    return found


def _host_folder(name: object, written: object) -> HostFolder:
    if not isinstance(name, str) or not _VOLUME.fullmatch(name):
        raise Invalid("a volume's name is up to 63 letters, digits and . _ - behind a letter or a digit")
    text = readers.written(written)
    path = readers.folder.read(text.removesuffix(_READ_ONLY), None)
    if path is None or path == Path("/") or ":" in str(path):
        raise Invalid(f"expected a folder below /, with :ro behind it or nothing, not {written!r}")
    return HostFolder(path=str(path), read_only=text.endswith(_READ_ONLY))


GONE = {
    "paths": "it is gone: name each folder that services may mount under services.volumes, such as {isos: '/srv/isos:ro'}"
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Workflow services on the appliance."""

    domain: str = setting(
        "workflows.tinkbox.internal",
        readers.domain,
        "domain for the names of workflows: `WORKFLOW-ID.DOMAIN` is the appliance, for machines and containers",
    )
    names: bool = setting(True, readers.switch, "whether the appliance answers DNS for the domain")
    volumes: Mapping[str, HostFolder] = setting(
        {},
        volumes,
        "folders that services on the appliance may mount, each whole, by the name that their `volumes` say; without any, "
        "they may mount nothing of the host",
    )
    memory: int = setting(512 << 20, MEMORY, "memory of a service on the appliance that asks for none (`mem_limit`)")
    most_memory: int = setting(4 << 30, MEMORY, "memory that such a service may ask for")
    cpus: float = setting(1.0, processors, "processors of a service on the appliance that asks for none (`cpus`)")
    most_cpus: float = setting(4.0, processors, "processors that such a service may ask for")
    pids: int = setting(
        512, readers.amount, "processes and threads of a service on the appliance that asks for none (`pids_limit`)"
    )
    most_pids: int = setting(4096, readers.amount, "processes and threads that such a service may ask for")
    subnets: IPv4Network = setting(
        IPv4Network("10.213.0.0/16"),
        network,
        f"addresses for networks on the appliance's Docker engine: every workflow with services gets a `/{WORKFLOW_BITS}`",
    )

    @property
    def share(self) -> Share:
        """What one service on the appliance may take of it."""
        most = Resources(memory=self.most_memory, cpus=self.most_cpus, pids=self.most_pids)
        return Share(usual=Resources(memory=self.memory, cpus=self.cpus, pids=self.pids).at_most(most), most=most)
