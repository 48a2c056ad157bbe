"""What the operator configured: frozen, complete, checked.  The only reader of the environment.

Parts receive the values they need as arguments, never settings.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Any

import yaml

from tinkbox.model.access import Right
from tinkbox.model.discovery import Quotas, Rule
from tinkbox.model.errors import Invalid, NotFound, Problem
from tinkbox.settings_dhcp import MODES, NO_POOL, Addressing, read_addressing
from tinkbox.settings_discovery import read_discovering
from tinkbox.settings_section import Section

CONFIG = Path("/etc/tinkbox/tinkbox.yaml")
SUBNETS = IPv4Network("10.213.0.0/16")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The appliance's settings.

    `interfaces` and `address` may be empty: then the one interface that qualifies is found at start.
    Ports are TCP for `http_port` and `operator_port`, UDP for `tftp_port` and `syslog_port` (0: nobody listens), both for
    `dns_port`.  `people` are those who
    have a token of their own for the operator door, with their rights.  `name` is what templates call the appliance.
    Names of workflows end in `services_domain`; with `services_names` the appliance answers for them.  Services on the
    appliance may mount what lies below `services_paths` (None: nothing), and have networks out of `services_subnets`.
    Machines that nobody knows are let in when the appliance `discovers`, within quotas, and rules accept them.
    """

    data: Path
    name: str = "provisioner"
    interfaces: tuple[str, ...] = ()
    address: IPv4Address | None = None
    operator_host: str = "127.0.0.1"
    operator_port: int = 7080
    people: Mapping[str, frozenset[Right]] = field(default_factory=dict)
    http_port: int = 80
    tftp_port: int = 69
    dns_port: int = 53
    syslog_port: int = 514
    dhcp_mode: str = "reservation"
    addressing: Addressing = field(default_factory=Addressing)
    discovers: bool = False
    discovery_quotas: Quotas = field(default_factory=Quotas)
    discovery_rules: tuple[Rule, ...] = ()
    docker: str = "unix:///var/run/docker.sock"
    services_domain: str = "workflows.tinkbox.internal"
    services_names: bool = True
    services_paths: Path | None = None
    services_subnets: IPv4Network = SUBNETS


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientTarget:
    """Where the operator's commands go: a URL with its token, or the socket of an appliance on this host."""

    url: str = ""
    token: str = ""
    socket: Path | None = None


def default_data() -> Path:
    """Where the appliance keeps its state: /var/lib/tinkbox for root, else below $XDG_STATE_HOME."""
    if os.geteuid() == 0:
        return Path("/var/lib/tinkbox")
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "tinkbox"


def client_target(data: Path | None = None) -> ClientTarget:
    """Which appliance the commands speak to.

    `--data` beats `TINKBOX_SERVER` (with `TINKBOX_TOKEN`), which beats the data directory that the
    configuration file names.
    """
    server = os.environ.get("TINKBOX_SERVER", "")
    if data is None and server:
        url = server if "://" in server else f"http://{server}"
        return ClientTarget(url=url.rstrip("/"), token=os.environ.get("TINKBOX_TOKEN", ""))
    return ClientTarget(socket=(data or load().data) / "operator.sock")


def terminal_kind() -> str:
    """What programs in a shell take the operator's terminal for."""
    return os.environ.get("TERM") or "xterm"


def load(path: Path | None = None, data: Path | None = None) -> Settings:
    """Read the configuration file; `data` overrides what it says.

    Without `path` the file in /etc is read when it is there.  Raises NotFound for a file that was
    named but is not there, and Invalid naming every problem in it.
    """
    chosen = path if path is not None else CONFIG
    try:
        text = chosen.read_text()
    except FileNotFoundError:
        if path is not None:
            raise NotFound(f"no configuration file {path}: leave --config out to run with the defaults") from None
        text = ""
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"cannot read the configuration file {chosen}: {error}") from None
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise Invalid(f"{chosen} is not valid YAML: {_where_it_is_none(error)}") from None
    settings, problems = _parse({} if document is None else document, data)
    if problems:
        raise Invalid(f"{chosen} has {len(problems)} problem(s)", problems)
    return settings


def _where_it_is_none(error: yaml.YAMLError) -> str:
    """In one line, as a person counts lines."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        context = f"{error.context}, " if error.context else ""
        return f"line {error.problem_mark.line + 1}: {context}{error.problem}"
    return " ".join(str(error).split())


def _parse(document: Any, data: Path | None) -> tuple[Settings, list[Problem]]:
    problems: list[Problem] = []
    top = Section(document, "", problems)
    operator, node, dhcp = top.section("operator"), top.section("node"), top.section("dhcp")
    services = top.section("services")
    host, port = operator.endpoint("listen", "127.0.0.1", 7080)
    mode = dhcp.choice("mode", MODES)
    discovering = read_discovering(top, mode)
    configured = Path(top.text("data") or default_data())
    settings = Settings(
        data=(data or configured).absolute(),
        name=top.name("name", "provisioner"),
        interfaces=top.texts("interface"),
        address=top.address("address"),
        operator_host=host,
        operator_port=port,
        people=operator.people("people"),
        http_port=node.port("http_port", 80),
        tftp_port=node.port("tftp_port", 69),
        dns_port=node.port("dns_port", 53),
        syslog_port=node.port("syslog_port", 514, least=0),
        dhcp_mode=mode,
        addressing=read_addressing(dhcp),
        discovers=discovering.on,
        discovery_quotas=discovering.quotas,
        discovery_rules=discovering.rules,
        docker=top.text("docker") or "unix:///var/run/docker.sock",
        services_domain=services.domain("domain", "workflows.tinkbox.internal"),
        services_names=services.choice("names", ("on", "off")) == "on",
        services_paths=services.folder("paths"),
        services_subnets=services.network("subnets", SUBNETS),
    )
    if settings.address and len(settings.interfaces) > 1:
        top.refuse("address", "which of the interfaces is it on? with several of them each has its own: leave it out")
    if mode == "pool" and not settings.addressing.lends and not any(each.key.endswith(".pool") for each in problems):
        dhcp.refuse("pool", NO_POOL)
    for section in (top, operator, node, dhcp, services):
        section.refuse_the_rest()
    return settings, problems
