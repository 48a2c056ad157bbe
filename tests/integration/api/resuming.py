"""A reader of output as events, who is cut off and goes on behind what it read."""

import asyncio
import base64
import json
from typing import Any

from tests.integration.api.door import Door

SOON = 60.0


class Resuming:
    """What it read, by what the field `of` of a piece says: whose output that is."""

    def __init__(self, door: Door, url: str, of: str) -> None:
        self.door = door
        self.url = url
        self.of = of
        self.place = ""
        self.pieces: list[dict[str, Any]] = []

    async def read(self, *, follow: bool = False, pieces: int = 1000) -> bool:
        """Read until so many pieces came, or to the end; whether that was the end."""
        headers = {"Accept": "text/event-stream", **({"Last-Event-ID": self.place} if self.place else {})}
        fields: dict[str, str] = {}
        query = {"follow": str(int(follow))}
        async with asyncio.timeout(SOON), self.door.local.get(self.url, params=query, headers=headers) as response:
            assert (response.status, response.content_type) == (200, "text/event-stream")
            while pieces:
                name, _, value = (await response.content.readuntil(b"\n")).decode().rstrip("\n").partition(": ")
                if name:
                    fields[name] = value
                    continue
                if fields.get("event") == "end":
                    return True
                self.place = fields.get("id", self.place)
                if "data" in fields:
                    self.pieces.append(json.loads(fields["data"]))
                    pieces -= 1
                fields = {}
        return False

    def text(self) -> dict[Any, bytes]:
        """What was read of each; every piece must begin where the one before ended."""
        texts: dict[Any, bytes] = {}
        for piece in self.pieces:
            before = texts.get(piece[self.of], b"")
            assert piece["start"] == len(before) + piece["missing"]
            texts[piece[self.of]] = before + base64.b64decode(piece["output"])
        return texts
