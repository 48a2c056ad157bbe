"""What the operator configured: frozen, complete, checked.  The only reader of the environment.

Parts receive the values they need as arguments, never settings.
"""

import difflib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import AddressValueError, IPv4Address, IPv4Network
from pathlib import Path
from typing import Any

import yaml

from tinkbox.model.access import OPERATOR, Right
from tinkbox.model.errors import Invalid, NotFound, Problem

CONFIG = Path("/etc/tinkbox/tinkbox.yaml")
DHCP_MODES = ("reservation", "off")
SUBNETS = IPv4Network("10.213.0.0/16")
WORKFLOW_BITS = 28  # the prefix of the network that every workflow with services gets
_PERSON = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_DOMAIN = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?")
_MAX_DOMAIN = 253 - 37  # RFC 1035 §2.3.4, and a workflow's id with its dot in front


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The appliance's settings.

    `interface` and `address` may be empty: then the one interface that qualifies is found at start.
    Ports are TCP for `http_port` and `operator_port`, UDP for `tftp_port`, both for `dns_port`.  `people` are those who
    have a token of their own for the operator door, with their rights.  `name` is what templates call the appliance.
    Names of workflows end in `services_domain`; with `services_names` the appliance answers for them.  Services on the
    appliance may mount what lies below `services_paths` (None: nothing), and have networks out of `services_subnets`.
    """

    data: Path
    name: str = "provisioner"
    interface: str = ""
    address: IPv4Address | None = None
    operator_host: str = "127.0.0.1"
    operator_port: int = 7080
    people: Mapping[str, frozenset[Right]] = field(default_factory=dict)
    http_port: int = 80
    tftp_port: int = 69
    dns_port: int = 53
    dhcp_mode: str = "reservation"
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
        raise Invalid(f"{chosen} is not valid YAML: {' '.join(str(error).split())}") from None
    settings, problems = _parse({} if document is None else document, data)
    if problems:
        raise Invalid(f"{chosen} has {len(problems)} problem(s)", problems)
    return settings


def _parse(document: Any, data: Path | None) -> tuple[Settings, list[Problem]]:
    problems: list[Problem] = []
    top = _Section(document, "", problems)
    operator, node, dhcp = top.section("operator"), top.section("node"), top.section("dhcp")
    services = top.section("services")
    host, port = operator.endpoint("listen", "127.0.0.1", 7080)
    configured = Path(top.text("data") or default_data())
    settings = Settings(
        data=(data or configured).absolute(),
        name=top.name("name", "provisioner"),
        interface=top.text("interface"),
        address=top.address("address"),
        operator_host=host,
        operator_port=port,
        people=operator.people("people"),
        http_port=node.port("http_port", 80),
        tftp_port=node.port("tftp_port", 69),
        dns_port=node.port("dns_port", 53),
        dhcp_mode=dhcp.choice("mode", DHCP_MODES),
        docker=top.text("docker") or "unix:///var/run/docker.sock",
        services_domain=services.domain("domain", "workflows.tinkbox.internal"),
        services_names=services.choice("names", ("on", "off")) == "on",
        services_paths=services.folder("paths"),
        services_subnets=services.network("subnets", SUBNETS),
    )
    top.choice("unknown_machines", ("ignore",))
    for section in (top, operator, node, dhcp, services):
        section.refuse_the_rest()
    return settings, problems


class _Section:
    """One mapping of the file; takes values out of it and notes what does not fit."""

    def __init__(self, entry: Any, key: str, problems: list[Problem]) -> None:
        self._entry: Mapping[str, Any] = entry if isinstance(entry, dict) else {}
        self._key = key
        self._problems = problems
        self._known: list[str] = []
        if not isinstance(entry, dict):
            problems.append(Problem(key=key, text="expected keys with values"))

    def _refuse(self, name: str, text: str) -> None:
        self._problems.append(Problem(key=f"{self._key}.{name}".strip("."), text=text))

    def _take(self, name: str) -> Any:
        self._known.append(name)
        return self._entry.get(name)

    def section(self, name: str) -> "_Section":
        value = self._take(name)
        return _Section({} if value is None else value, name, self._problems)

    def text(self, name: str) -> str:
        value = self._take(name)
        if value is None or isinstance(value, str):
            return value or ""
        self._refuse(name, f"expected text, not {value!r}")
        return ""

    def address(self, name: str) -> IPv4Address | None:
        value = self.text(name)
        try:
            return IPv4Address(value) if value else None
        except AddressValueError:
            self._refuse(name, f"invalid ip: {value!r}")
            return None

    def port(self, name: str, default: int) -> int:
        value = self._take(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 65_536:
            self._refuse(name, f"expected a port between 1 and 65535, not {value!r}")
            return default
        return value

    def endpoint(self, name: str, host: str, port: int) -> tuple[str, int]:
        value = self.text(name)
        if not value:
            return host, port
        chosen, colon, number = value.rpartition(":")
        if not colon or not re.fullmatch(r"[0-9]{1,5}", number) or not 0 < int(number) < 65_536:
            self._refuse(name, f"expected ADDRESS:PORT, not {value!r}")
            return host, port
        return chosen or host, int(number)

    def choice(self, name: str, choices: tuple[str, ...]) -> str:
        # YAML 1.1 reads a bare `off` as false, and `on` as true.
        value = self._take(name)
        value = "off" if value is False else "on" if value is True else value
        if value is None or value in choices:
            return value or choices[0]
        self._refuse(name, f"expected {' or '.join(choices)}, not {value!r}")
        return choices[0]

    def name(self, name: str, default: str) -> str:
        value = self.text(name) or default
        if _NAME.fullmatch(value):
            return value
        self._refuse(name, f"a name is up to 63 letters, digits and . _ - in between, not {value!r}")
        return default

    def domain(self, name: str, default: str) -> str:
        """A domain in small letters, without a dot at its end."""
        value = (self.text(name) or default).lower().removesuffix(".")
        if _DOMAIN.fullmatch(value) and len(value) <= _MAX_DOMAIN:
            return value
        self._refuse(name, f"expected a domain such as {default}, at most {_MAX_DOMAIN} characters, not {value!r}")
        return default

    def folder(self, name: str) -> Path | None:
        value = self.text(name)
        if value and (not value.startswith("/") or ".." in Path(value).parts or "\0" in value):
            self._refuse(name, f"expected an absolute path without .., not {value!r}")
            return None
        return Path(value) if value else None

    def network(self, name: str, default: IPv4Network) -> IPv4Network:
        """Addresses to make the networks of workflows of."""
        value = self.text(name)
        try:
            network = IPv4Network(value) if value else default
        except ValueError:
            self._refuse(name, f"expected an IPv4 network such as {default}, not {value!r}")
            return default
        if network.prefixlen > WORKFLOW_BITS:
            self._refuse(name, f"{network} is too small: every workflow with services takes a /{WORKFLOW_BITS} of it")
            return default
        return network

    def people(self, name: str) -> dict[str, frozenset[Right]]:
        value = self._take(name)
        if value is not None and not isinstance(value, dict):
            self._refuse(name, f"expected names with rights, such as {{anna: [look, attach]}}, not {value!r}")
            return {}
        known: dict[str, frozenset[Right]] = {}
        for person, rights in (value or {}).items():
            key = f"{name}.{person}"
            if not isinstance(person, str) or not _PERSON.fullmatch(person) or person == OPERATOR:
                self._refuse(key, "a name is letters, digits and . _ @ - in between, and not operator")
            elif not isinstance(rights, list) or not rights or not all(each in list(Right) for each in rights):
                self._refuse(key, f"expected a list of {', '.join(Right)}, not {rights!r}")
            else:
                known[person] = frozenset(map(Right, rights))
        return known

    def refuse_the_rest(self) -> None:
        for name in self._entry:
            if name not in self._known:
                near = difflib.get_close_matches(str(name), self._known, n=1)
                hint = f"did you mean {near[0]}?" if near else f"known here: {', '.join(self._known)}"
                self._refuse(str(name), f"unknown key; {hint}")
