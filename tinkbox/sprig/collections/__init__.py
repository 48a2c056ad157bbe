"""Sprig's functions on lists and maps."""
