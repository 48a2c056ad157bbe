"""What was seen of a machine, known or not."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from tinkbox.model.boot import Stage
from tinkbox.model.hardware import MacAddress

Fact = str | int | float
# Who it was, where another host than the machine was seen in its name.
OTHER_HOST: Final = "other_host"
# Which one a worker was started on by hand, where that is not the machine as far as it is seen: its MAC, or its address.
STARTED_ELSEWHERE: Final = "elsewhere"
# Which one, where only what it said in the machine's name was seen.
UNSEEN: Final = "unknown"
# That an answer went to the machine alone, and not to all on its network.
SENT_ALONE: Final = "sent_alone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """A machine was seen at a stage of its boot: `detail` for people, `facts` for the doctor's rules."""

    mac: MacAddress
    at: datetime
    stage: Stage
    detail: str = ""
    facts: Mapping[str, Fact] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What is to be noted of a machine that is seen now."""

    stage: Stage
    detail: str
    facts: Mapping[str, Fact]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line that a machine said by syslog: `severity` from 0, emergency, to 7, debug; `program` may be empty."""

    mac: MacAddress
    at: datetime
    severity: int
    program: str
    text: str
