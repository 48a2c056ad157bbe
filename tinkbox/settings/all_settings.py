"""All settings of the appliance, with those that stand at the top of the file.

To add one, declare it where its section is, and use it; the reference in docs/operating.md is printed from here.
Parts of the appliance receive the values they need as arguments, never settings.
"""

from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

from tinkbox.model.session import TpmRule
from tinkbox.settings import readers
from tinkbox.settings.audit import AuditSettings
from tinkbox.settings.boot import BootedMachines
from tinkbox.settings.declaring import computed, section, setting
from tinkbox.settings.dhcp import Dhcp, check_dhcp
from tinkbox.settings.discovery import Discovery
from tinkbox.settings.doors import Node, Operator
from tinkbox.settings.environment import default_data
from tinkbox.settings.images import Images
from tinkbox.settings.limits import Limits
from tinkbox.settings.metadata import ToldSystems
from tinkbox.settings.registry import Registry
from tinkbox.settings.retention import Kept
from tinkbox.settings.services import GONE, Services
from tinkbox.settings.tls import Tls, check_tls


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the operator configured: frozen, complete, checked.  Problems are named in the order of these fields.

    `interfaces` and `address` may be empty: then the one interface that qualifies is found at start.
    """

    data: Path = computed(
        default_data,
        "/var/lib/tinkbox",
        readers.path,
        "folder for everything that tinkbox keeps; `--data` overrides it. Without root rights the default is `tinkbox` "
        "below `$XDG_STATE_HOME` or `~/.local/state`; in a unit of systemd it is the `StateDirectory=`",
    )
    name: str = setting(
        "provisioner",
        readers.name,
        "the appliance's name in templates, where it is the worker of a service; its address works as well",
    )
    operator: Operator = section(Operator)
    dhcp: Dhcp = section(Dhcp, check_dhcp)
    unknown_machines: str = setting(
        "ignore",
        readers.choice("ignore", "discover"),
        "what to do with an unknown machine, one that no hardware document names. `discover`: let it boot, say what it "
        "is, and wait to be accepted ([discovery.md](discovery.md)); this needs `dhcp.mode` `pool` or `proxy`",
    )
    discovery: Discovery = section(Discovery)
    tpm: str = setting(
        TpmRule.FIRST.value,
        readers.choice(*TpmRule),
        "what a machine's TPM 2.0 counts for ([security.md](security.md#the-tpm-of-a-machine)). `first`: a machine that showed "
        "one in its first boot has to show the same one in each boot. `accepted`: a machine has to show one that you accepted. "
        "`off`: nobody asks for it",
    )
    interfaces: tuple[str, ...] = setting(
        (),
        readers.texts,
        "provisioning interfaces, the first one before the others; without it, the only interface that has an address "
        "and no default route",
        key="interface",
    )
    address: IPv4Address | None = setting(
        None,
        readers.address,
        "address by which machines reach the appliance, with one interface only; without it, the interface's",
    )
    node: Node = section(Node)
    tls: Tls = section(Tls, check_tls)
    boot: BootedMachines = section(BootedMachines)
    docker: str = setting(
        "unix:///var/run/docker.sock",
        readers.engine,
        "Docker engine for workflow services; everything else works without it",
    )
    services: Services = section(Services, gone=GONE)
    images: Images = section(Images)
    registry: Registry = section(Registry)
    metadata: ToldSystems = section(ToldSystems)
    limits: Limits = section(Limits)
    retention: Kept = section(Kept)
    audit: AuditSettings = section(AuditSettings)

    @property
    def discovers(self) -> bool:
        """Whether unknown machines are let in, within quotas."""
        return self.unknown_machines == "discover"

    @property
    def tpm_rule(self) -> TpmRule:
        """What a machine's TPM counts for."""
        return TpmRule(self.tpm)
