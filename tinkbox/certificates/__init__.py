"""The certificates that the doors show: those of an authority of the box's own, and the operator's."""

from tinkbox.certificates.certificates import Certificates

__all__ = ["Certificates"]
