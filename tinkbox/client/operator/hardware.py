"""Machines: hardware, the leases and boots of machines, and those that introduced themselves."""

from collections.abc import Mapping
from typing import Any

from tinkbox.client.operator.connection import Connection, Document, part


class Hardware:
    """Registered machines; a key is an id, a unique beginning of one, a MAC, an address or a hostname."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def all(self) -> list[Document]:
        return await self._connection.documents("/v1/hardware")

    async def push(self, text: bytes) -> Document:
        return await self._connection.document("POST", "/v1/hardware", text)

    async def add(self, wanted: Mapping[str, Any]) -> Document:
        """Register a machine by its `mac`; `wanted` may have `name`, `address`, `gateway`, `interface_macs`, `ssh_keys`, `disks`."""
        return await self._connection.document("POST", "/v1/hardware/add", dict(wanted))

    async def get(self, key: str) -> Document:
        return await self._connection.document("GET", f"/v1/hardware/{part(key)}")

    async def workflows(self, key: str) -> list[str]:
        """The ids of the workflows that are not over and need a machine."""
        return [str(each["id"]) for each in await self._connection.documents(f"/v1/hardware/{part(key)}/workflows")]

    async def delete(self, key: str) -> Document:
        return await self._connection.document("DELETE", f"/v1/hardware/{part(key)}")

    async def credential(self, key: str, *, rotate: bool = False) -> Document:
        """What makes a worker this machine's; with `rotate` nothing counts any more that was given before."""
        return await self._connection.document("POST" if rotate else "GET", f"/v1/hardware/{part(key)}/credential")

    async def accept_tpm(self, key: str, sha256: str) -> Document:
        """Have a machine show the TPM of this fingerprint from its next boot on."""
        return await self._connection.document("PUT", f"/v1/hardware/{part(key)}/tpm", {"sha256": sha256})

    async def forget_tpm(self, key: str) -> Document:
        """Accept none any more: the next one that the machine shows counts as its first."""
        return await self._connection.document("DELETE", f"/v1/hardware/{part(key)}/tpm")

    async def discard_history(self, key: str) -> Document:
        """Let a machine work again; what it did since the store was put back counts for nothing."""
        return await self._connection.document("POST", f"/v1/hardware/{part(key)}/discard-history")

    async def timeline(self, key: str) -> list[Document]:
        return await self._connection.documents(f"/v1/hardware/{part(key)}/timeline")


class Leases:
    """Addresses of pools."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def all(self) -> list[Document]:
        """Every address of a pool that was lent, in their order."""
        return await self._connection.documents("/v1/leases")


class Seen:
    """What was seen of machines, registered or not."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def all(self) -> list[Document]:
        """Every MAC that was seen, with where it stands."""
        return await self._connection.documents("/v1/seen")

    async def get(self, mac: str) -> Document:
        """One machine with its timeline."""
        return await self._connection.document("GET", f"/v1/seen/{part(mac)}")


class Discovered:
    """Unknown machines that wait to be accepted."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def all(self) -> list[Document]:
        return await self._connection.documents("/v1/discovered")

    async def accept(self, mac: str, wanted: Mapping[str, Any]) -> Document:
        """Register one; `wanted` may have `name`, `address`, `gateway`, `template`, `hardware` and `confirm_wipe`."""
        return await self._connection.document("POST", f"/v1/discovered/{part(mac)}/accept", dict(wanted))

    async def refuse(self, mac: str) -> Document:
        """Stop answering one."""
        return await self._connection.document("POST", f"/v1/discovered/{part(mac)}/refuse")
