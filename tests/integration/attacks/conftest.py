"""Attacks on the OSIE's scripts take its tree."""

from tests.integration.osie.conftest import osie

__all__ = ["osie"]
