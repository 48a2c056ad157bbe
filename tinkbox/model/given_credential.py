"""Credentials that people were given, to start workers by hand."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenCredential:
    """The newest credential of a machine that a person was given; `serial` is that of its boot ticket."""

    hardware_id: str
    who: str
    serial: int
    at: datetime
