"""By which names machines reach the appliance's registry, however a template spells them."""

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnNames:
    """`addresses` are the appliance's, `domain` has the names that lead to it, `ports` those that its registry answers at."""

    addresses: Collection[str]
    domain: str
    ports: Collection[int]

    def has(self, host: str) -> bool:
        """Whether an image's host, with or without a port, is the appliance; `localhost` is whatever machine reads it."""
        name, _, port = host.lower().partition(":")
        name = name.rstrip(".")
        if port and port.lstrip("0") not in map(str, self.ports):
            return False
        return name in self.addresses or f".{name}".endswith(f".{self.domain.lower()}")
