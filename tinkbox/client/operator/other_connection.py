"""A connection to another appliance than the one that the commands speak to."""

import re
from pathlib import Path
from typing import Final

from tinkbox.client.operator.lasting_connection import LastingConnection
from tinkbox.model.errors import Refusal

# A copy is typed where the image is.
_TYPED_THERE: Final = re.compile(r"`(?=tinkbox (?!image copy))")


class OtherConnection(LastingConnection):
    """Its refusals name the appliance, whose "here" is elsewhere, and have their commands typed to it: here they would delete.

    `named` is what a person calls the appliance, `variable` as for Connection.
    """

    def __init__(self, named: str, *, socket: Path | None, url: str, token: str, variable: str) -> None:
        super().__init__(socket=socket, url=url, token=token, variable=variable)
        self._named = named

    def raise_refusal(self, status: int, reason: str, place: str, answer: bytes) -> None:
        try:
            super().raise_refusal(status, reason, place, answer)
        except Refusal as error:
            told = _TYPED_THERE.sub(f"`TINKBOX_SERVER={self._named} ", str(error))
            error.args = (f"{self._named}, the other appliance, says: {told}",)
            raise
