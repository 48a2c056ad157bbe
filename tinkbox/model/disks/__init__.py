"""Disks of machines: what one is, which one a person means, and which one an action may write to."""
