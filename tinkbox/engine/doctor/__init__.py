"""The boot doctor: from what was seen of a machine to likely causes."""
