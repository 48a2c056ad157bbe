"""Whether a machine's firmware trusts the appliance's authority, and what follows for its boots."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class HttpsBoot(StrEnum):
    """What becomes of machines that could boot by HTTPS: the setting `boot.https`."""

    OFF = "off"  # nothing is written into any firmware
    ENROLL = "enroll"  # the worker writes the authority into the firmware of its machine


class Tls(StrEnum):
    """How a machine loads what it boots."""

    PLAIN = "plain"
    ENROLLED = "enrolled"  # by HTTPS alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Enrolment:
    """A machine's firmware was given the authority with this fingerprint (`wire.authority`), for good: only a person takes it back."""

    hardware_id: str
    authority: str
    at: datetime
