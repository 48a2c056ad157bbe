"""Machines: hardware, the leases and boots of machines, and those that introduced themselves."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from tinkbox.client.operator.connection import Connection, Document, Found, Work, part
from tinkbox.model.errors import NotFound
from tinkbox.model.key_kinds import ToChange
from tinkbox.model.labels import LabelChange

if TYPE_CHECKING:
    from tinkbox.model.machine_lists import ListedMachine

MAY_BE_IMPORTED: Final = "the machines may be imported all the same: import them again, which is safe and tells as unchanged what is there already"
NOTHING_IMPORTED: Final = "nothing was imported, for this was a look only: type it again"


class Hardware:
    """Registered machines; a key is an id, a unique beginning of one, a MAC, an address or a hostname."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def all(self) -> list[Document]:
        return await self._connection.documents("/v1/hardware")

    async def found(self, asked: Mapping[str, str]) -> Found:
        """Those that are asked for: `state`, `label`, `limit`, `sort`."""
        return await self._connection.found("/v1/hardware", asked)

    async def label(self, key: str, change: LabelChange) -> Document:
        asked = {"set": dict(change.set), "remove": list(change.removed)}
        return await self._connection.document("PATCH", f"/v1/hardware/{part(key)}/labels", asked)

    async def push(self, text: bytes, *, strict: bool = False) -> Document:
        """Register or change the machines of documents; `strict` refuses what would be ignored of them."""
        return await self._connection.document("POST", f"/v1/hardware{'?strict=true' if strict else ''}", text)

    async def add(self, wanted: Mapping[str, Any]) -> Document:
        """Register a machine by its `mac`; `wanted` may have `name`, `address`, `gateway`, `interface_macs`, `ssh_keys`, `disks`, `labels`."""
        return await self._connection.document("POST", "/v1/hardware/add", dict(wanted))

    async def get(self, key: str, to_change: ToChange = ToChange.NO) -> Document:
        """A machine; refused as it is `to_change` it so without force, where that is to delete or to retire it."""
        asked = f"?to_change={to_change}" if to_change in (ToChange.DELETE, ToChange.RETIRE) else ""
        return await self._connection.document("GET", f"/v1/hardware/{part(key)}{asked}")

    async def workflows(self, key: str) -> list[str]:
        """The ids of the workflows that are not over and need a machine."""
        return [str(each["id"]) for each in await self._connection.documents(f"/v1/hardware/{part(key)}/workflows")]

    async def import_list(
        self,
        machines: "Sequence[ListedMachine]",
        waiting: Callable[[float], None],
        *,
        update: bool,
        skip_invalid: bool,
        dry_run: bool,
    ) -> list[Document]:
        """Import machines, all or none of them; tells of each what became or would become of it.

        `waiting` hears every second how long that takes by now.
        """
        from tinkbox.model.machine_lists import listed_document

        flags = {"update": update, "skip_invalid": skip_invalid, "dry_run": dry_run}
        asked = {"machines": list(map(listed_document, machines)), **flags}
        work = Work(waiting=waiting, broken=NOTHING_IMPORTED if dry_run else MAY_BE_IMPORTED, looks=dry_run)
        return list((await self._connection.work("/v1/hardware/import", asked, work))["machines"])

    async def change(self, key: str, wanted: Mapping[str, Any]) -> Document:
        """Change `name`, `address`, `gateway`, `add_macs`, `remove_macs`, `disks`, `ssh_keys`, `labels`; with `force` in any case."""
        return await self._connection.document("PATCH", f"/v1/hardware/{part(key)}", dict(wanted))

    async def replace(self, machine: Document, text: str, *, force: bool) -> Document:
        """Store another document of a `machine` as it was got; raises Conflict when it was changed since."""
        base = {"updated_at": machine["updated_at"], "labels": machine["labels"]}
        asked = {"text": text, "base": base, "force": force}
        return await self._connection.document("PUT", f"/v1/hardware/{part(machine['id'])}", asked)

    async def retire(self, key: str, reason: str, *, force: bool, created_at: str = "") -> Document:
        """Take a machine out of service; `canceled` are the workflows that were cancelled.  `created_at` is as for `delete`."""
        asked = {"reason": reason, "force": force, **({"created_at": created_at} if created_at else {})}
        return await self._connection.document("POST", f"/v1/hardware/{part(key)}/retire", asked)

    async def give_back(self, key: str) -> Document:
        """Take a retired machine back into service."""
        return await self._connection.document("POST", f"/v1/hardware/{part(key)}/return", {})

    async def delete(self, key: str, *, force: bool = False, created_at: str = "") -> Document:
        """Forget a machine; with `force` the workflows that need it are cancelled first.

        Where it was registered at another time than `created_at`, Conflict is raised; empty: it may be whenever.
        """
        asked = {**({"force": "1"} if force else {}), **({"created_at": created_at} if created_at else {})}
        query = f"?{urlencode(asked)}" if asked else ""
        return await self._connection.document("DELETE", f"/v1/hardware/{part(key)}{query}")

    async def notes(self, key: str) -> list[Document]:
        return list((await self._connection.document("GET", f"/v1/hardware/{part(key)}/notes"))["notes"])

    async def note(self, key: str, text: str) -> list[Document]:
        """Note something about a machine; tells all notes of it."""
        answer = await self._connection.document("POST", f"/v1/hardware/{part(key)}/notes", {"text": text})
        return list(answer["notes"])

    async def remove_note(self, key: str, number: int) -> list[Document]:
        answer = await self._connection.document("DELETE", f"/v1/hardware/{part(key)}/notes/{number}")
        return list(answer["notes"])

    async def credential(self, key: str, *, rotate: bool = False) -> Document:
        """What makes a worker this machine's; with `rotate` nothing counts any more that was given before."""
        return await self._connection.document("POST" if rotate else "GET", f"/v1/hardware/{part(key)}/credential")

    async def at_work(self, key: str) -> Document | None:
        """The action that loses its worker when the machine's credential is voided; None: there is none, or an earlier appliance does not tell."""
        try:
            answer = await self._connection.document("GET", f"/v1/hardware/{part(key)}/at-work")
        except NotFound:
            return None
        found: Document | None = answer["at_work"]
        return found

    async def accept_tpm(self, key: str, sha256: str) -> Document:
        """Have a machine show the TPM of this fingerprint from its next boot on."""
        return await self._connection.document("PUT", f"/v1/hardware/{part(key)}/tpm", {"sha256": sha256})

    async def forget_tpm(self, key: str) -> Document:
        """Accept none any more: the next one that the machine shows counts as its first."""
        return await self._connection.document("DELETE", f"/v1/hardware/{part(key)}/tpm")

    async def forget_https(self, key: str) -> Document:
        """Let a machine boot by plain HTTP again, until its worker enrols it anew."""
        return await self._connection.document("DELETE", f"/v1/hardware/{part(key)}/https")

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
