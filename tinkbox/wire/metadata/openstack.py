"""OpenStack's tree: cloud-init, cloudbase-init and Ignition read it over HTTP, and from a disk that is labelled `config-2`."""

import json
import uuid
from collections.abc import Mapping
from ipaddress import IPv6Address, IPv6Interface
from typing import Any, Final

from tinkbox.model.hardware import Interface
from tinkbox.model.metadata import Instance
from tinkbox.wire.metadata.network_config import BOND, MONITORED_EVERY_MS, Bond, bond
from tinkbox.wire.metadata.tree import JSON, Tree, data_file, text_file
from tinkbox.wire.metadata.vendor_data import vendor_data

VERSIONS: Final = (
    "2012-08-10", "2013-04-04", "2013-10-17", "2015-10-15", "2016-06-30", "2016-10-06", "2017-02-22", "2018-08-27", "latest",
)  # fmt: skip
_NAMES: Final = uuid.UUID("5b7a5f1e-2a0b-5d0a-8a0e-3c4f6f1f1d58")


def openstack(instance: Instance) -> Tree:
    """What stands below each version."""
    keys = {f"key-{number}": key for number, key in enumerate(instance.ssh_keys)}
    meta = {
        "uuid": str(uuid.uuid5(_NAMES, instance.id)),
        "name": instance.hostname,
        "hostname": instance.hostname,
        "launch_index": 0,
        "availability_zone": "",
        "public_keys": keys,
        "keys": [{"name": name, "type": "ssh", "data": key} for name, key in keys.items()],
        "meta": {"instance-id": instance.id},
    }
    return {
        "meta_data.json": text_file(_json(meta), JSON),
        **({"user_data": data_file(instance.user_data)} if instance.user_data else {}),
        # cloud-init takes the text below this key for vendor-data.
        "vendor_data.json": text_file(_json({"cloud-init": vendor_data(instance)}), JSON, secret=True),
        "vendor_data2.json": text_file(_json({}), JSON),
        # Without a card it would tell a system not to ask DHCP either.
        **(
            {"network_data.json": text_file(_json(network_data(instance)), JSON)}
            if instance.hardware.interfaces
            else {}
        ),
    }


def network_data(instance: Instance) -> dict[str, Any]:
    """The interfaces of the hardware document as links, networks and services.

    OpenStack's form has no place for the workflow's own `network`, nor for cards that may have no cable.
    """
    cards = {f"interface{number}": each for number, each in enumerate(instance.hardware.interfaces)}
    links: list[dict[str, Any]] = [
        {"id": link, "type": "phy", "ethernet_mac_address": card.mac} for link, card in cards.items()
    ]
    networks: list[dict[str, Any]] = []
    servers: dict[str, None] = {}
    bonded = bond(instance.hardware, instance.bonding_mode)
    if bonded:
        links.append(_bond_link(bonded, list(cards)))
    addressed = {BOND: bonded.addressed} if bonded else cards
    for link, interface in addressed.items():
        if interface.vlan_id is not None:
            below, link = link, f"{link}.{interface.vlan_id}"
            links.append(
                {
                    "id": link, "type": "vlan", "vlan_link": below, "vlan_id": interface.vlan_id,
                    "vlan_mac_address": interface.mac, "ethernet_mac_address": interface.mac,
                }
            )  # fmt: skip
        networks.append(_network(len(networks), link, interface))
        if interface.address6 is not None:
            networks.append(_network6(len(networks), link, interface.address6, interface.gateway6))
        servers |= {str(each): None for each in interface.name_servers}
    return {"links": links, "networks": networks, "services": [{"type": "dns", "address": each} for each in servers]}


def _bond_link(bonded: Bond, cards: list[str]) -> dict[str, Any]:
    link = {
        "id": BOND, "type": "bond", "ethernet_mac_address": bonded.addressed.mac, "bond_links": cards,
        "bond_mode": bonded.mode, "bond_miimon": MONITORED_EVERY_MS,
    }  # fmt: skip
    if bonded.is_negotiated:
        link |= {"bond_lacp_rate": "fast", "bond_xmit_hash_policy": "layer3+4"}
    return link


def _network(number: int, link: str, interface: Interface) -> dict[str, Any]:
    if interface.address is None or interface.netmask is None:
        return {"id": f"network{number}", "type": "ipv4_dhcp", "link": link, "network_id": f"network{number}"}
    routes = [
        {
            "network": str(each.network.network_address),
            "netmask": str(each.network.netmask),
            "gateway": str(each.router),
        }
        for each in interface.routes
    ]
    if interface.gateway is not None and not any(each.network.prefixlen == 0 for each in interface.routes):
        routes.insert(0, {"network": "0.0.0.0", "netmask": "0.0.0.0", "gateway": str(interface.gateway)})  # noqa: S104  a route
    return {
        "id": f"network{number}",
        "type": "ipv4",
        "link": link,
        "network_id": f"network{number}",
        "ip_address": str(interface.address),
        "netmask": str(interface.netmask),
        "routes": routes,
    }


def _network6(number: int, link: str, address: IPv6Interface, gateway: IPv6Address | None) -> dict[str, Any]:
    return {
        "id": f"network{number}",
        "type": "ipv6",
        "link": link,
        "network_id": f"network{number}",
        "ip_address": str(address.ip),
        "netmask": str(address.netmask),
        "routes": [{"network": "::", "netmask": "::", "gateway": str(gateway)}] if gateway else [],
    }


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=1)
