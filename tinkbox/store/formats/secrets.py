"""Which secrets actions and services ask for: names and places, never values."""

from collections.abc import Mapping, Sequence
from typing import Any

from tinkbox.model.secret import SecretUse


def secret_entries(uses: Sequence[SecretUse]) -> list[dict[str, str]]:
    """The key `secrets` of an action, and of a service."""
    return [{"name": each.name, "env": each.env, "file": each.file} for each in uses]


def secrets_of(entry: Mapping[str, Any]) -> tuple[SecretUse, ...]:
    """Reads `secret_entries`; rows of before there was one have no such key."""
    return tuple(SecretUse(name=each["name"], env=each["env"], file=each["file"]) for each in entry.get("secrets", ()))
