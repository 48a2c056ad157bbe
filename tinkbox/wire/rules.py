"""Traefik's rule language: which requests a route is for (proposal 0015)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a rule looks at.

    `host` is without port and in lower case, `path` percent-decoded but for what would change its meaning, `headers` have
    lower-case names, `client` is the IPv4 address that asks.
    """

    method: str
    host: str
    path: str
    query: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    headers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    client: str = ""


class Rule(Protocol):
    """A rule that was read."""

    def matches(self, request: Request) -> bool:
        """Whether the request is for the rule's route."""


def parse_rule(text: str) -> Rule:
    """Raises Invalid, saying where and what to write instead."""
    raise NotImplementedError
