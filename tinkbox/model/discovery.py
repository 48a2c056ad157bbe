"""Machines that nobody knows: how they stand, and the rules that accept them by what they are.

A rule holds when each of its conditions does: whoever wrote "this product, and at least 2 GiB" wants no other machine.
Of the rules that hold the one with the most conditions wins, the first listed of those that have as many.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from fnmatch import fnmatchcase

from tinkbox.model.errors import Invalid
from tinkbox.model.hardware import MacAddress
from tinkbox.model.inventory import Inventory

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_AT_LEAST = re.compile(r">=\s*([0-9]{1,15})\s*([KMGT]?)(?:i?B)?\Z", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"\{\{\s*([a-z]+)\s*\}\}")
# In a template's text these could end the place that was meant for them.
_UNFIT = re.compile(r"[^\w .:/+()-]")
_MAX_NAME = 63


class Standing(StrEnum):
    """What became of a machine that nobody knows, and is not accepted."""

    ASKING = "asking"  # it was let in, and only asked for an address yet
    BOOTING = "booting"  # it has its credential, and has yet to tell what it is
    WAITING = "waiting"  # it told, and waits for somebody to accept or refuse it
    REFUSED = "refused"  # it is not answered


@dataclass(frozen=True, slots=True, kw_only=True)
class Stranger:
    """A machine that nobody knows, by the MAC that it boots with.

    `port` is where it came from: our interface, or a relay with its circuit.  `problem` is why a rule
    that holds did not accept it.
    """

    mac: MacAddress
    standing: Standing
    port: str
    first_seen: datetime
    last_seen: datetime
    architecture: str = "x86_64"
    boot_id: str = ""
    inventory: Inventory | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Accepts machines: `match` maps a quality to a pattern for its text, or to `>=` and a number with K, M, G or T.

    `name` and the values of `devices` may hold `{{mac}}` and other qualities of the machine.  `template` may be empty:
    then a machine is accepted, and nothing is done with it.
    """

    match: Mapping[str, str]
    name: str = ""
    template: str = ""
    devices: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotas:
    """How many machines that nobody knows are let in, and how many of one port.

    One that waits and is not seen for `forget` is forgotten.
    """

    all: int = 128
    port: int = 64
    forget: timedelta = timedelta(days=7)


def best_rule(rules: Sequence[Rule], mac: MacAddress, inventory: Inventory) -> Rule | None:
    """The rule that accepts a machine, None: it waits for a person."""
    found = qualities(mac, inventory)
    holding = [rule for rule in rules if all(_holds(pattern, found[name]) for name, pattern in rule.match.items())]
    return max(holding, key=lambda rule: len(rule.match), default=None)


def qualities(mac: MacAddress, inventory: Inventory) -> dict[str, str | int]:
    """What a rule can ask for; sizes are bytes, `disk` is that of the largest."""
    return {
        "mac": str(mac),
        "manufacturer": inventory.manufacturer,
        "product": inventory.product,
        "serial": inventory.serial,
        "uuid": inventory.uuid,
        "architecture": inventory.architecture,
        "firmware": inventory.firmware,
        "processor": inventory.processor,
        "processors": inventory.processors,
        "memory": inventory.memory,
        "disks": len(inventory.disks),
        "disk": max((each.size for each in inventory.disks), default=0),
    }


_EXAMPLE = qualities(
    MacAddress("02:00:00:00:00:00"), Inventory(architecture="", processor="", processors=0, memory=0, firmware="")
)


def check_condition(name: str, pattern: str) -> None:
    """Raises Invalid for a condition that could never hold."""
    if name not in _EXAMPLE:
        raise Invalid(f"unknown; known here: {', '.join(_EXAMPLE)}")
    if isinstance(_EXAMPLE[name], int) and not _AT_LEAST.match(pattern):
        raise Invalid(f"expected >= and a number, such as '>=2G', not {pattern!r}")
    if not pattern:
        raise Invalid("expected a pattern, such as 'Standard PC*'")


def check_placeholders(text: str) -> None:
    """Raises Invalid for one that stands for nothing."""
    for name in _PLACEHOLDER.findall(text):
        if name not in _EXAMPLE:
            raise Invalid(f"{{{{{name}}}}} stands for nothing; known here: {', '.join(_EXAMPLE)}")


def filled(text: str, mac: MacAddress, inventory: Inventory) -> str:
    """A text with the machine's qualities in place of their names; what could do harm in a template becomes a dash."""
    found = qualities(mac, inventory)
    return _PLACEHOLDER.sub(lambda match: _UNFIT.sub("-", str(found.get(match[1], ""))), text)


def host_name(text: str) -> str:
    """A text as a name that a host can have (RFC 1123 §2.1), empty when nothing of it can be."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:_MAX_NAME].strip("-")


def _holds(pattern: str, quality: str | int) -> bool:
    if isinstance(quality, str):
        return fnmatchcase(quality.lower(), pattern.lower())
    match = _AT_LEAST.match(pattern)
    return match is not None and quality >= int(match[1]) * _UNITS[match[2].upper()]
