"""Machines: registered, discovered, seen; their addresses, and what they are told."""
