"""Ports that machines have to reach, for tests of firewalls."""

from ipaddress import IPv4Address, IPv4Network

from tinkbox.vitals.flows import Port

PORTS = tuple(
    Port(
        interface="lab",
        address=IPv4Address("172.30.0.1"),
        network=IPv4Network("172.30.0.0/24"),
        port=port,
        protocol=protocol,
        what=what,
    )
    for port, protocol, what in (
        (80, "tcp", "HTTP"),
        (67, "udp", "DHCP"),
        (69, "udp", "TFTP"),
        (4011, "udp", "PXE"),
        (514, "udp", "syslog"),
    )
)
