"""Bytes and text on one side, values on the other; no I/O."""
