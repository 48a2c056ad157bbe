"""Settings that cannot be right together, each alone though it could be: every rule that is about several sections.

Some show in the file itself, others only beside the host's networks and disk, when the appliance starts or is checked.
What is about one section alone stands with that section.
"""

from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address
from typing import Final
from urllib.parse import urlsplit

from tinkbox.model.enrolment import HttpsBoot
from tinkbox.model.errors import Problem
from tinkbox.model.leases import Subnet
from tinkbox.model.retention import KEEP_FREE
from tinkbox.model.sizes import show_size
from tinkbox.settings.all_settings import Settings
from tinkbox.settings.doors import HTTPS_PORT, Endpoint
from tinkbox.settings.images import RESERVE
from tinkbox.settings.metadata import COMPATIBLE_PORTS, OFF
from tinkbox.settings.services import Services

_HEARING: Final = ("pool", "proxy")  # modes of DHCP in which unknown machines can have an address and be answered
_DHCP_PORTS: Final = (67, 4011)  # of DHCP, and of the boot server beside it


def in_file(settings: Settings, unread: Sequence[str]) -> Iterator[Problem]:
    """What the file alone shows; of sections with a key that is `unread` nothing is said that depends on them."""
    whole = {each.partition(".")[0].partition("[")[0] for each in unread}
    if "dhcp" not in whole:
        yield from _dhcp(settings)
    if not whole & {"discovery", "unknown_machines"}:
        yield from _discovery(settings)
    if "services" not in whole:
        yield from _resources(settings.services)
    if not whole & {"dhcp", "services"}:
        yield from _services_networks(settings)
    if not whole & {"dhcp", "node", "services"}:
        yield from _ports(settings)
    if not whole & {"boot", "node"} and settings.boot.https_boot is HttpsBoot.ENROLL and not settings.node.https_port:
        text = "machines that are enrolled boot by HTTPS alone, and node.https_port is 0: choose a port, or set boot.https: off"
        yield Problem(key="boot.https", text=text)
    if settings.address and len(settings.interfaces) > 1:
        text = "which of the interfaces is it on? with several of them each has its own: leave it out"
        yield Problem(key="address", text=text)


def lowered(settings: Settings) -> Iterator[str]:
    """Defaults that nobody chose and that follow a lower cap, each as a line for a person."""
    for key, chosen, most in _beyond_cap(settings.services):
        if getattr(settings.services, key) == getattr(Services(), key):
            yield f"services.{key} is lowered from {chosen} to {most}, which is services.most_{key}"


def on_networks(settings: Settings, own: Sequence[IPv4Address], subnets: Sequence[Subnet]) -> Iterator[Problem]:
    """What shows beside the appliance's `own` addresses, and the networks that machines are on."""
    for each in own:
        if each in settings.services.subnets:
            text = f"{settings.services.subnets} has {each}, the appliance's own address: name other addresses"
            yield Problem(key="services.subnets", text=text)
    for subnet in subnets:
        chosen = settings.services.subnets
        if chosen.subnet_of(subnet.network) and chosen != Services().subnets:
            text = f"{chosen} lies in {subnet.network}, where machines are: name addresses that nothing else uses"
            yield Problem(key="services.subnets", text=text)
    for key, port in [*_tcp(settings), *_chosen_ports(settings)]:
        if port == settings.operator.listen.port and _reached(settings.operator.listen, own):
            text = f"{settings.operator.listen} is what {key} takes already: choose another port for one of the two"
            yield Problem(key="operator.listen", text=text)
    for host, mirror in settings.registry.asked.items():
        if _leads_to(mirror.url, own, settings.node.http_port):
            text = f"{mirror.url} is this appliance, which has nothing to fetch from itself: name another registry for {host}"
            yield Problem(key="registry.mirrors", text=text)
    for subnet in subnets:
        if not _lends(subnet, own):
            text = (
                f"the pool of {subnet.network} has no address to lend: the appliance's own, gateways, name servers and the "
                "ends of the network are never lent: name more addresses"
            )
            yield Problem(key="dhcp", text=text)


def on_disk(settings: Settings, room: int) -> Iterator[Problem]:
    """What shows beside the data folder's disk, on which data may take so much; what nobody wrote is fitted to it."""
    free = settings.retention.of.keep_free
    if free >= room and free != KEEP_FREE:
        text = (
            f"{show_size(free)} can never be free: the disk of data ({settings.data}) has {show_size(room)}, so finished "
            "workflows would be deleted at once: lower it, or have data on a larger disk"
        )
        yield Problem(key="retention.keep_free", text=text)
    reserve = settings.images.reserve
    if reserve >= room and reserve != RESERVE:
        text = (
            f"{show_size(reserve)} can never be free: the disk of data ({settings.data}) has {show_size(room)}, so no image "
            "could be pushed: lower it, or have data on a larger disk"
        )
        yield Problem(key="images.reserve", text=text)


def _dhcp(settings: Settings) -> Iterator[Problem]:
    mode = settings.dhcp.mode
    if settings.discovers and mode not in _HEARING:
        text = "discover needs their DHCP: set dhcp.mode to pool, or to proxy beside another DHCP server"
        yield Problem(key="unknown_machines", text=text)
    pools = [
        ("dhcp.pool", settings.dhcp.terms),
        *((f"dhcp.subnets[{at}].pool", each) for at, each in _subnets(settings)),
    ]
    for key, terms in pools:
        if terms.pool is not None and mode != "pool":
            text = f"nothing of it is lent while dhcp.mode is {mode}: set dhcp.mode to pool, or leave the pool out"
            yield Problem(key=key, text=text)


def _subnets(settings: Settings) -> Iterator[tuple[int, Subnet]]:
    return enumerate(settings.dhcp.subnets)


def _discovery(settings: Settings) -> Iterator[Problem]:
    if settings.discovery.rules and not settings.discovers:
        text = "none of them is tried while unknown_machines is ignore: set it to discover, or leave the rules out"
        yield Problem(key="discovery.rules", text=text)
    quotas, usual = settings.discovery.quotas, type(settings.discovery.quotas)()
    if quotas.port > quotas.all and quotas.port != usual.port:
        text = f"{quotas.port} is more than discovery.quota, {quotas.all}: lower it, or raise that"
        yield Problem(key="discovery.port_quota", text=text)


def _resources(services: Services) -> Iterator[Problem]:
    """What a person chose is not lowered: only the default is (`lowered`)."""
    for key, chosen, most in _beyond_cap(services):
        if getattr(services, key) != getattr(Services(), key):
            text = f"{chosen} is more than services.most_{key}, {most}: lower it, or raise that"
            yield Problem(key=f"services.{key}", text=text)


def _beyond_cap(services: Services) -> Iterator[tuple[str, str, str]]:
    """What a service that asks for nothing would get above what one may ask for: its key, and both as people read them."""
    for key, shown in (("memory", show_size), ("cpus", str), ("pids", str)):
        chosen, most = getattr(services, key), getattr(services, f"most_{key}")
        if chosen > most:
            yield key, shown(chosen), shown(most)


def _services_networks(settings: Settings) -> Iterator[Problem]:
    taken = settings.services.subnets
    for at, subnet in _subnets(settings):
        if subnet.network.subnet_of(taken):
            text = f"{subnet.network} lies in services.subnets, {taken}: name other addresses in one of the two"
            yield Problem(key=f"dhcp.subnets[{at}].network", text=text)


def _tcp(settings: Settings) -> Sequence[tuple[str, int]]:
    """The TCP ports at the address that machines know, each with the key that says so; a default of HTTPS gives way to others."""
    names = [("node.dns_port", settings.node.dns_port)] if settings.services.names else []
    chosen = settings.node.https_port not in (0, HTTPS_PORT)
    encrypted = [("node.https_port", settings.node.https_port)] if chosen else []
    return [("node.http_port", settings.node.http_port), *encrypted, *names]


def metadata_ports(settings: Settings, own: Sequence[IPv4Address]) -> list[int]:
    """The ports of their own that the compatible paths of metadata have; a default that nobody chose gives way to others."""
    if settings.metadata.by_address == OFF:
        return []
    taken = {port for _, port in _tcp(settings)}
    if _reached(settings.operator.listen, own):
        taken.add(settings.operator.listen.port)
    return [each for each in settings.metadata.ports if each not in taken]


def _chosen_ports(settings: Settings) -> Sequence[tuple[str, int]]:
    """Those of them that a person wrote down."""
    if settings.metadata.ports == COMPATIBLE_PORTS or settings.metadata.by_address == OFF:
        return []
    return [("metadata.ports", each) for each in settings.metadata.ports]


def _udp(settings: Settings) -> Sequence[tuple[str, int]]:
    names = [("node.dns_port", settings.node.dns_port)] if settings.services.names else []
    syslog = [("node.syslog_port", settings.node.syslog_port)] if settings.node.syslog_port else []
    dhcp = [(f"dhcp.mode {settings.dhcp.mode}", each) for each in _DHCP_PORTS if settings.dhcp.mode != "off"]
    return [*dhcp, ("node.tftp_port", settings.node.tftp_port), *names, *syslog]


def _ports(settings: Settings) -> Iterator[Problem]:
    for protocol, ports in (("TCP", [*_tcp(settings), *_chosen_ports(settings)]), ("UDP", _udp(settings))):
        taken: dict[int, str] = {}
        for key, port in ports:
            if port in taken:
                text = f"{taken[port]} takes {protocol} port {port} already: choose another one for one of the two"
                yield Problem(key=key, text=text)
            taken.setdefault(port, key)


def _reached(listen: Endpoint, own: Sequence[IPv4Address]) -> bool:
    return listen.host in ("0.0.0.0", *map(str, own))  # noqa: S104 - nothing is bound here


def _leads_to(url: str, own: Sequence[IPv4Address], port: int) -> bool:
    """Whether a URL is the node door's, which speaks HTTP; names are not resolved."""
    parts = urlsplit(url)
    return parts.scheme == "http" and parts.hostname in [*map(str, own)] and (parts.port or 80) == port


def _lends(subnet: Subnet, own: Sequence[IPv4Address]) -> bool:
    """Whether a pool, if there is one, has an address for a machine."""
    if subnet.pool is None:
        return True
    first, last = map(int, subnet.pool)
    kept = {*map(int, subnet.never_lent), *map(int, own)}
    return any(each not in kept for each in range(first, last + 1))
