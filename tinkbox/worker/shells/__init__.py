"""Shells in held containers, on the machine."""
