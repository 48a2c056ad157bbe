"""Names that begin with what a person has typed."""

from tinkbox.client.operator.connection import Connection, part
from tinkbox.model.key_kinds import KeyKind, SuggestedName


class Names:
    """What `/v1/names` answers."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def beginning(self, kind: KeyKind, prefix: str) -> list[SuggestedName]:
        word = kind.name.lower().replace("_", "-")
        found = await self._connection.documents(f"/v1/names/{word}?prefix={part(prefix)}")
        return [SuggestedName(str(each["name"]), str(each["about"])) for each in found]
