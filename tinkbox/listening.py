"""Everything that the appliance listens on, bound before anything is served, and what machines know it by."""

import socket
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv4Address
from pathlib import Path

from tinkbox.boot.network.interfaces import ProvisioningInterface, provisioning_interfaces
from tinkbox.boot.network.sockets import Taken, bind_tcp, bind_udp
from tinkbox.door.connections.local_socket import LocalSocket
from tinkbox.model.errors import Invalid, Unavailable
from tinkbox.model.leases import Subnet
from tinkbox.model.text import counted
from tinkbox.private_files import give_to
from tinkbox.settings import contradictions
from tinkbox.settings.all_settings import Settings
from tinkbox.settings.doors import HTTPS_PORT
from tinkbox.settings.metadata import COMPATIBLE_PORTS
from tinkbox.wire.dhcp.packets import BOOT_SERVER_PORT, SERVER_PORT

HTTP_PORT = 80
DNS_PORT = 53
SOCKET_MODE, GROUP_SOCKET_MODE = 0o600, 0o660
MAX_SOCKET_PATH = 107


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """What is listened on at one provisioning interface, on its address alone.

    `url` is the node door's there, `registry` the registry's host as image names carry it; `https_url` and `https_registry` are
    those of the same door where it is encrypted, on `node_tls`, and empty without that.  `names` answers DNS, over UDP
    and TCP.  What the configuration turns off is None, and so is `node_tls` where somebody else has its port and nobody chose it.  On `compatible` metadata is asked by address, as with Hegel and Tootles.
    """

    interface: ProvisioningInterface
    url: str
    registry: str
    https_url: str
    https_registry: str
    node: socket.socket
    node_tls: socket.socket | None
    tftp: socket.socket
    dhcp: socket.socket | None
    boot_server: socket.socket | None
    syslog: socket.socket | None
    names: tuple[socket.socket, socket.socket] | None
    compatible: tuple[socket.socket, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sockets:
    """Both operator doors, and one `Listening` for every provisioning interface, the first before the others.

    `subnets` are the networks that machines are on, ours and those behind relays.
    `images` is where the engine on this host pulls from: an engine takes plain HTTP on loopback without being told to.
    """

    operator_local: LocalSocket
    operator: socket.socket
    images: socket.socket
    networks: tuple[Listening, ...]
    subnets: tuple[Subnet, ...]

    @property
    def has_no_relays(self) -> bool:
        """Whether all networks that machines are on are our own."""
        return all(each.interface for each in self.subnets)

    @property
    def first(self) -> Listening:
        """Where the appliance is known by one address only, it is known by this one's."""
        return self.networks[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """Sockets that were tried: of a port that was left alone there is one that is bound to nothing.

    `unseen` are ports that somebody holds, and we may not see who: most likely the appliance that runs.
    """

    sockets: Sockets
    unseen: Sequence[str]


def own_names(settings: Settings, sockets: Sockets, host: str, addresses: Collection[IPv4Address]) -> list[str]:
    """All names and addresses by which the doors are reached, those of machines first; `host` is this host's name, `addresses` its own.

    Where the operator door listens on every address, each of them is one.
    """
    listen = settings.operator.listen.host
    everywhere = listen == "0.0.0.0"  # noqa: S104 - nothing is bound here
    return [
        settings.name,
        *(str(each.interface.address) for each in sockets.networks),
        *(map(str, sorted(addresses)) if everywhere else [listen]),
        host,
        *settings.tls.names,
        "localhost",
        "127.0.0.1",
        f"*.{settings.services.domain}",
    ]


class _Binding:
    """Binds what is served on, for as long as `stack` lasts; `group` may use the operator door's unix socket."""

    def __init__(self, stack: ExitStack, group: int | None = None) -> None:
        self._stack = stack
        self._group = group

    def keep(self, bind: Callable[[], socket.socket]) -> socket.socket:
        return self._stack.enter_context(closing(bind()))

    def local(self, path: Path) -> LocalSocket:
        """The operator door's unix socket; whoever the file permissions let in is the operator."""
        _refuse_long(path)
        return self._stack.enter_context(closing(LocalSocket(path, partial(_bind_local, path, self._group))))

    def tcp(self, address: str, port: int, setting: str = "address") -> socket.socket:
        """`setting` is what the address is of."""
        return self.keep(lambda: bind_tcp(address=address, port=port, setting=setting))

    def udp(self, interface: str, address: str, port: int) -> socket.socket:
        return self.keep(lambda: bind_udp(interface=interface, address=address, port=port))


class _Trying(_Binding):
    """Binds only to find out whether it could, as `tried` says."""

    def __init__(self, stack: ExitStack, running: int | None) -> None:
        super().__init__(stack)
        self._running = running
        self.unseen: list[str] = []

    def keep(self, bind: Callable[[], socket.socket]) -> socket.socket:
        try:
            return super().keep(bind)
        except Taken as taken:
            if self._running is None or taken.pid not in (self._running, None):
                raise
            if taken.pid is None:
                self.unseen.append(taken.where)
        return super().keep(socket.socket)

    def local(self, path: Path) -> LocalSocket:
        _refuse_long(path)
        return self._stack.enter_context(closing(LocalSocket(path, socket.socket)))


@contextmanager
def bound(settings: Settings, group: int | None) -> Iterator[Sockets]:
    """Bind all of it, for as long as the context lasts; `group` may use the operator door's unix socket.

    Raises Unavailable or Invalid, with the remedy, for what cannot be had.
    """
    with ExitStack() as stack:
        yield _sockets(settings, _Binding(stack, group))


@contextmanager
def tried(settings: Settings, running: int | None) -> Iterator[Trial]:
    """Raise what `bound` would raise, and make no file.

    `running` is the process of an appliance whose ports are to be left alone; None: every port must be free.
    """
    with ExitStack() as stack:
        binding = _Trying(stack, running)
        yield Trial(sockets=_sockets(settings, binding), unseen=binding.unseen)


def _sockets(settings: Settings, binding: _Binding) -> Sockets:
    interfaces = provisioning_interfaces(settings.interfaces, settings.address)
    subnets = settings.dhcp.on([(each.name, each.network) for each in interfaces])
    problems = list(contradictions.on_networks(settings, [each.address for each in interfaces], subnets))
    if problems:
        raise Invalid(f"the configuration does not fit this host: {counted(len(problems), 'problem')}", problems)
    return Sockets(
        operator_local=binding.local(settings.data / "operator.sock"),
        operator=binding.tcp(settings.operator.listen.host, settings.operator.listen.port, "operator.listen"),
        images=binding.tcp("127.0.0.1", 0),
        subnets=subnets,
        networks=tuple(_listening(settings, each, binding) for each in interfaces),
    )


def _listening(settings: Settings, interface: ProvisioningInterface, binding: _Binding) -> Listening:
    address = str(interface.address)

    def udp(port: int, *, everybody: bool = False) -> socket.socket:
        return binding.udp(interface.name, "" if everybody else address, port)

    with_port = "" if settings.node.http_port == HTTP_PORT else f":{settings.node.http_port}"
    encrypted = _bind_encrypted(settings, address, binding)
    with_tls_port = "" if settings.node.https_port == HTTPS_PORT else f":{settings.node.https_port}"
    answers = settings.dhcp.mode != "off"
    return Listening(
        interface=interface,
        url=f"http://{address}{with_port}",
        registry=f"{address}{with_port}",
        https_url=f"https://{address}{with_tls_port}" if encrypted else "",
        https_registry=f"{address}{with_tls_port}" if encrypted else "",
        node=binding.tcp(address, settings.node.http_port),
        node_tls=encrypted,
        tftp=udp(settings.node.tftp_port),
        # What is broadcast reaches only a socket that is bound to no address.
        dhcp=udp(SERVER_PORT, everybody=True) if answers else None,
        boot_server=udp(BOOT_SERVER_PORT) if answers else None,
        syslog=udp(settings.node.syslog_port) if settings.node.syslog_port else None,
        names=_bind_names(settings, interface, binding) if settings.services.names else None,
        compatible=_bind_compatible(settings, interface, binding),
    )


def _bind_encrypted(settings: Settings, address: str, binding: _Binding) -> socket.socket | None:
    port = settings.node.https_port
    try:
        return binding.tcp(address, port) if port and port != settings.node.http_port else None
    except Taken as error:
        if port != HTTPS_PORT:
            raise Unavailable(f"{error}; or choose another node.https_port") from None
        return None


def _bind_compatible(
    settings: Settings, interface: ProvisioningInterface, binding: _Binding
) -> tuple[socket.socket, ...]:
    """The ports of `metadata.ports`; of those that nobody chose one that is taken is left to whoever has it."""
    bound: list[socket.socket] = []
    for port in contradictions.metadata_ports(settings, [interface.address]):
        try:
            bound.append(binding.tcp(str(interface.address), port))
        except Taken as error:
            if settings.metadata.ports != COMPATIBLE_PORTS:
                raise Unavailable(f"{error}; or take {port} out of metadata.ports") from None
    return tuple(bound)


def _bind_names(
    settings: Settings, interface: ProvisioningInterface, binding: _Binding
) -> tuple[socket.socket, socket.socket]:
    address, port = str(interface.address), settings.node.dns_port
    try:
        return binding.udp(interface.name, address, port), binding.tcp(address, port)
    except Unavailable as error:
        lead = f"lead names below {settings.services.domain} to {address} with a DNS server of yours"
        raise Unavailable(f"{error}; or {lead}, and set services.names: off") from None


def _bind_local(path: Path, group: int | None) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        path.unlink(missing_ok=True)  # of a run that was killed: the lock says that nobody uses it
        made.bind(str(path))
        if group is None:
            path.chmod(SOCKET_MODE)
        else:
            give_to(group, path, GROUP_SOCKET_MODE)
        made.listen(128)
        made.setblocking(False)
    except OSError as error:
        made.close()
        way_out = "move it away" if path.exists() else f"see `ls -ld {path.parent}` and `df -i {path.parent}`"
        raise Unavailable(f"cannot listen on {path}: {error.strerror}: {way_out}") from None
    return made


def _refuse_long(path: Path) -> None:
    if len(str(path).encode()) > MAX_SOCKET_PATH:
        raise Unavailable(f"{path} is too long for a unix socket: name a data directory with a shorter path")
