"""All trees of one system, as they stand below its token; and the part of them that is answered by address alone."""

from tinkbox.model.metadata import Instance
from tinkbox.wire.metadata import ec2 as ec2_tree
from tinkbox.wire.metadata import openstack as openstack_tree
from tinkbox.wire.metadata.installers import installers
from tinkbox.wire.metadata.nocloud import nocloud
from tinkbox.wire.metadata.tree import Tree


def whole(instance: Instance) -> Tree:
    """Everything that there is about a system."""
    openstack = openstack_tree.openstack(instance)
    below = {
        f"openstack/{version}/{path}": file for version in openstack_tree.VERSIONS for path, file in openstack.items()
    }
    return {**nocloud(instance), **by_address(instance), **below, **installers(instance)}


def by_address(instance: Instance) -> Tree:
    """EC2's tree alone, below each of its versions."""
    return {
        f"{version}/{path}": file
        for version in ec2_tree.VERSIONS
        for path, file in ec2_tree.ec2(instance, version).items()
    }


def called(path: str) -> str:
    """What was asked for in a word for people, so that the hundred leaves of a tree make one line."""
    first, _, rest = path.strip("/").partition("/")
    if first == "openstack":
        return f"{rest.rpartition('/')[2] or 'versions'} (OpenStack)"
    if first in ec2_tree.VERSIONS:
        return f"{rest.partition('/')[0] or 'versions'} (EC2)"
    return path.strip("/") or "the list"
