"""Typed clients of our own HTTP doors."""
