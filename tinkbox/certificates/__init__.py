"""The certificates that the doors show: those of an authority of the box's own, and the operator's."""

from tinkbox.certificates.certificates import Certificates
from tinkbox.certificates.contexts import Door

__all__ = ["Certificates", "Door"]
