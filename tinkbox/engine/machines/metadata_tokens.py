"""Metadata tokens: what an installed system shows in the path of each request for its metadata.

A token names a workflow and a machine, and carries a seal that only this appliance can make, so that there is no table of
them: whether one still counts is decided from the workflow.
"""

import base64
import binascii
import hmac
import uuid
from typing import Final

from tinkbox.engine.machines.boot_tickets import Seal

PATH: Final = "/metadata/"
_PURPOSE: Final = "metadata"
_MAC_BYTES: Final = 16
_LETTERS: Final = 64  # of base64, for 48 octets


class MetadataTokens:
    """Makes and reads tokens by the appliance's `seal`."""

    def __init__(self, seal: Seal) -> None:
        self._seal = seal

    def path(self, workflow_id: str, machine: str) -> str:
        """The path on the node door below which a machine's metadata of a workflow is, without a slash at the end."""
        return f"{PATH}{self.token(workflow_id, machine)}"

    def token(self, workflow_id: str, machine: str) -> str:
        """The token of a workflow on a machine, always the same; both ids are UUIDs."""
        content = uuid.UUID(workflow_id).bytes + uuid.UUID(machine).bytes
        return base64.urlsafe_b64encode(content + self._mac(workflow_id, machine)).decode()

    def opened(self, token: str) -> tuple[str, str] | None:
        """The ids of workflow and machine; None: it is none of ours."""
        if len(token) != _LETTERS or not token.isascii():
            return None
        try:
            content = base64.b64decode(token, altchars=b"-_", validate=True)
        except binascii.Error:
            return None
        workflow_id, machine = str(uuid.UUID(bytes=content[:16])), str(uuid.UUID(bytes=content[16:32]))
        return (workflow_id, machine) if hmac.compare_digest(content[32:], self._mac(workflow_id, machine)) else None

    def _mac(self, workflow_id: str, machine: str) -> bytes:
        return self._seal.derived(_PURPOSE, workflow_id, machine)[:_MAC_BYTES]
