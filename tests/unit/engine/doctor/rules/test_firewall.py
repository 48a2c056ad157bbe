"""The doctor's rule about this host's own firewall, where one rule shuts several ports."""

from dataclasses import replace

import pytest

from tests.unit.engine.boot_story import BEGIN, appliance
from tinkbox.engine.doctor.rules.firewall import port_shut
from tinkbox.model.vitals import ShutPort, Vitals

POLICY = "iptables -P INPUT DROP"


def shut(port: int, asked: str, opens: str, protocol: str = "udp", firewall: str = "iptables") -> ShutPort:
    told = opens.format(port=port, protocol=protocol)
    return ShutPort(
        interface="lab", port=port, protocol=protocol, why=POLICY, asked=asked, firewall=firewall, opens=told
    )


@pytest.mark.parametrize(
    ("firewall", "opens", "opening"),
    [
        (
            "iptables",
            "iptables -I INPUT -i lab -p {protocol} --dport {port} -j ACCEPT",
            (
                "iptables -I INPUT -i lab -p udp -m multiport --dports 67,69 -j ACCEPT && "
                "iptables -I INPUT -i lab -p tcp --dport 80 -j ACCEPT"
            ),
        ),
        (
            "nft",
            'nft insert rule inet f in iifname "lab" {protocol} dport {port} accept',
            (
                'nft insert rule inet f in iifname "lab" udp dport {{ 67, 69 }} accept && '
                'nft insert rule inet f in iifname "lab" tcp dport 80 accept'
            ),
        ),
        (
            "ufw",
            "ufw allow in on lab to any port {port} proto {protocol}",
            "ufw allow in on lab to any port 67,69 proto udp && ufw allow in on lab to any port 80 proto tcp",
        ),
        (
            "firewalld",
            "firewall-cmd --permanent --add-port={port}/{protocol} && firewall-cmd --reload",
            (
                "firewall-cmd --permanent --add-port=67/udp --add-port=69/udp && firewall-cmd --reload && "
                "firewall-cmd --permanent --add-port=80/tcp && firewall-cmd --reload"
            ),
        ),
    ],
)
def test_ports_that_one_policy_shuts_are_told_together_with_one_line(firewall: str, opens: str, opening: str) -> None:
    ports = (
        shut(80, "HTTP", opens, "tcp", firewall),
        shut(69, "TFTP", opens, firewall=firewall),
        shut(67, "DHCP", opens, firewall=firewall),
    )
    (found,) = port_shut(appliance(vitals=Vitals(at=BEGIN, shut_ports=ports)))
    assert found.cause.endswith("send to UDP ports 67 (DHCP) and 69 (TFTP) and TCP port 80 (HTTP).")
    assert found.remedy.startswith(f"`{opening.format()}`")


def test_ports_that_two_rules_shut_are_told_apart() -> None:
    one = shut(67, "DHCP", "open {port}")
    other = replace(one, port=69, why="iptables -A INPUT -p udp --dport 69 -j DROP")
    vitals = Vitals(at=BEGIN, shut_ports=(one, other))
    assert len({each.subject for each in port_shut(appliance(vitals=vitals))}) == 2
