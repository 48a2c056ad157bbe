"""What the worker keeps on its machine, and what it gives to containers."""
