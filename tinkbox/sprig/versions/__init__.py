"""Versions and constraints on them, as Sprig's semver functions have them."""
