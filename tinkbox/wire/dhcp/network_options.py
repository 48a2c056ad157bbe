"""What a machine is told about its network: the options of its hardware document or its lease."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network
from typing import Final

from tinkbox.model.hardware import Interface, Route
from tinkbox.wire.dhcp.packets import Option

_EVERYWHERE: Final = IPv4Network("0.0.0.0/0")


@lru_cache(maxsize=4096)  # half of what an answer costs, and the same for every packet of a machine
def network_options(interface: Interface, *, asks_for_routes: bool = False) -> Mapping[int, bytes]:
    """Options 1, 3, 6, 12, 15, 28, 42 and 121.

    RFC 3442: whoever takes option 121 must not heed option 3, so our 121 always has the gateway as well; and who asks
    for it by name is not sent option 3.
    """
    options: dict[int, bytes] = {}
    if interface.netmask is not None:
        options[Option.SUBNET_MASK] = interface.netmask.packed
        if interface.address is not None:
            network = IPv4Network(f"{interface.address}/{interface.netmask}", strict=False)
            options[Option.BROADCAST_ADDRESS] = network.broadcast_address.packed
    if interface.gateway is not None and not (interface.routes and asks_for_routes):
        options[Option.ROUTER] = interface.gateway.packed
    lists: dict[int, Iterable[object]] = {
        Option.DOMAIN_SERVER: interface.name_servers,
        Option.NTP_SERVERS: interface.time_servers,
    }
    # RFC 2132 §3.8 and §8.3 have IPv4 addresses: others, and names, are not among them.
    packed = {code: [each.packed for each in told if isinstance(each, IPv4Address)] for code, told in lists.items()}
    options |= {code: b"".join(addresses) for code, addresses in packed.items() if addresses}
    texts: dict[int, str] = {Option.HOSTNAME: interface.hostname, Option.DOMAIN_NAME: interface.domain_name}
    options |= {code: text.encode() for code, text in texts.items() if text}
    if interface.routes:
        options[Option.CLASSLESS_ROUTES] = b"".join(_route(each) for each in _with_gateway(interface))
    return options


def _with_gateway(interface: Interface) -> tuple[Route, ...]:
    default = any(each.network == _EVERYWHERE for each in interface.routes)
    if interface.gateway is None or default:
        return interface.routes
    return (*interface.routes, Route(network=_EVERYWHERE, router=interface.gateway))


def _route(route: Route) -> bytes:
    """RFC 3442: the width of the mask, as many octets of the network as that needs, the router."""
    width = route.network.prefixlen
    return bytes((width,)) + route.network.network_address.packed[: (width + 7) // 8] + route.router.packed
