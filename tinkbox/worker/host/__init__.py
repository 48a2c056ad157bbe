"""The machine that the worker runs on, as its kernel and firmware tell."""
