"""The tree of cloud-init's data source NoCloud: four files in one folder."""

from collections.abc import Mapping
from typing import Any

from tinkbox.model.metadata import Instance
from tinkbox.wire.metadata.network_config import network_config
from tinkbox.wire.metadata.tree import YAML, Tree, data_file, text_file
from tinkbox.wire.metadata.vendor_data import dumped, vendor_data


def nocloud(instance: Instance) -> Tree:
    """`meta-data` and `user-data` are there always: cloud-init needs both."""
    meta: dict[str, Any] = {"instance-id": instance.id}
    if instance.hostname:
        meta["local-hostname"] = instance.hostname
    if instance.ssh_keys:
        meta["public-keys"] = list(instance.ssh_keys)
    network = network_of(instance)
    return {
        "meta-data": text_file(dumped(meta), YAML),
        "user-data": data_file(instance.user_data),
        "vendor-data": text_file(vendor_data(instance), secret=True),
        **({"network-config": text_file(dumped(network), YAML)} if network else {}),
    }


def network_of(instance: Instance) -> Mapping[str, Any]:
    """The network-config that somebody wrote for the system, else that of its hardware document.

    Empty: the document tells of no card, and a system that is told of none would not ask DHCP either.
    """
    if not instance.network and not instance.hardware.interfaces:
        return {}
    return dict(instance.network) or network_config(instance.hardware, instance.bonding_mode)
