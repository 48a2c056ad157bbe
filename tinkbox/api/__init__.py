"""The operator door: JSON under `/v1/`."""
