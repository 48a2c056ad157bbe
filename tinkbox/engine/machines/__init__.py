"""Machines: what we were told about them, what was learned of their firmware, what they are told to boot."""
