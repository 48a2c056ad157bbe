"""The containers of an attempt."""
