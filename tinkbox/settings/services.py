"""The section `services`: workflow services on the appliance, and the names by which they are reached."""

from dataclasses import dataclass
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

from tinkbox.model.errors import Invalid
from tinkbox.settings import readers
from tinkbox.settings.declaring import reader, setting

WORKFLOW_BITS = 28  # the prefix of the network that every workflow with services gets


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
    return chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Workflow services on the appliance."""

    domain: str = setting(
        "workflows.tinkbox.internal",
        readers.domain,
        "domain for the names of workflows: `WORKFLOW-ID.DOMAIN` is the appliance, for machines and containers",
    )
    names: bool = setting(True, readers.switch, "whether the appliance answers DNS for the domain")
    paths: Path | None = setting(
        None,
        readers.folder,
        "folder of which services on the appliance may mount parts; without it, they may mount nothing of the host",
    )
    subnets: IPv4Network = setting(
        IPv4Network("10.213.0.0/16"),
        network,
        f"addresses for networks on the appliance's Docker engine: every workflow with services gets a `/{WORKFLOW_BITS}`",
    )
