"""Sprig's functions on integers and floats, and how any value becomes a number or a text."""
