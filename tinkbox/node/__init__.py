"""The node door's worker protocol."""
