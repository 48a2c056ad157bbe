"""Whether a machine would be given something that asks for its metadata by address alone.  Pure."""

from collections.abc import Collection
from ipaddress import AddressValueError, IPv4Address
from typing import Final

from tinkbox.engine.metadata.installed_systems import Policy
from tinkbox.engine.metadata.instances import instance_of
from tinkbox.engine.workflows.metadata_mentions import LINK_LOCAL, Mention
from tinkbox.model.hardware import Hardware
from tinkbox.model.metadata import Metadata

_WAY_OUT: Final = "have the action ask below $TINKBOX_METADATA, which is served in any case"


class ByAddress:
    """`own` are the appliance's addresses, `url` the node door on its first network."""

    def __init__(self, policy: Policy, own: Collection[IPv4Address], url: str) -> None:
        self._policy = policy
        self._own = own
        self._url = url

    def gap(self, hardware: Hardware, spec: Metadata, mention: Mention) -> str:
        """Why a machine that asks there is given nothing, and what to do; empty: it is given something.

        `spec` is what its workflow says of its system.  Of another host's address nothing is known.
        """
        if mention.host == LINK_LOCAL:
            return (
                "the appliance does not listen at that address: unless your network leads it here, write "
                f"{self._url}/2009-04-04/, or {_WAY_OUT}"
            )
        if self._is_of_others(mention.host):
            return ""
        policy = self._policy
        if not policy.ports:
            return f"metadata.by_address is off in tinkbox.yaml: set it to public, or {_WAY_OUT}"
        if mention.port not in policy.ports:
            return f"port {mention.port} is not answered: add it to metadata.ports in tinkbox.yaml, or {_WAY_OUT}"
        if not hardware.interfaces:
            return "its document has no MAC and no address, so it cannot be recognised: give it an interface"
        told = instance_of(hardware, spec, policy.defaults, by_address=True)
        if not (told.details or told.ssh_keys or told.user_data or spec != Metadata()):
            return "its document has no metadata.instance, no ssh keys and no user-data, so it is told little more than its name"
        if told.user_data and not policy.secrets:
            return f"its user-data is not given to an address alone: set metadata.by_address: all in tinkbox.yaml, or {_WAY_OUT}"
        return ""

    def _is_of_others(self, host: str) -> bool:
        try:
            return bool(self._own) and IPv4Address(host) not in self._own
        except AddressValueError:
            return False  # a name, which may be ours
