"""A connection to another appliance than the one that the commands speak to."""

import re
from pathlib import Path
from typing import Final

from tinkbox.client.operator.lasting_connection import LastingConnection

_TYPED_THERE: Final = re.compile(r"`(?=tinkbox )")


class OtherConnection(LastingConnection):
    """Its refusals name the appliance, whose "here" is elsewhere, and have their commands typed to it: here they would delete.

    `named` is what a person calls the appliance, `variable` and `token_place` as for Connection.
    """

    def __init__(
        self,
        named: str,
        *,
        socket: Path | None,
        url: str,
        token: str,
        variable: str,
        token_place: str,
        authority: str = "",
    ) -> None:
        super().__init__(
            socket=socket, url=url, token=token, variable=variable, token_place=token_place, authority=authority
        )
        self._named = named

    def told(self, detail: str) -> str:
        typed_there = _TYPED_THERE.sub(f"`TINKBOX_SERVER={self._named} ", detail)
        return f"{self._named}, the other appliance, says: {typed_there}"
