"""Pure decisions: what may follow what, as tables and functions of values."""
