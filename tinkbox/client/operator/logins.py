"""Log-in at a box by the accounts of its company."""

from dataclasses import dataclass

from tinkbox.client.operator.connection import Connection, Document

PATH = "/v1/login"


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """Which issuer a box believes; `ca` is that one's authority (PEM), empty where hosts trust it anyway."""

    issuer: str
    client_id: str
    scopes: tuple[str, ...]
    ca: str


class Logins:
    """What `/v1/login` answers, also to who has no token."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def offer(self) -> Offer:
        found = await self._connection.document("GET", PATH)
        return Offer(
            issuer=str(found["issuer"]),
            client_id=str(found["client_id"]),
            scopes=tuple(map(str, found["scopes"])),
            ca=str(found["ca"]),
        )

    async def log_in(self, id_token: str) -> Document:
        """`token`, `name`, `rights` and `expires`."""
        return await self._connection.document("POST", PATH, {"id_token": id_token})
