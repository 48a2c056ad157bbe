"""What a machine that asks is told, and at which address."""
