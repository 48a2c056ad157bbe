"""The operator's terminal, for what takes it over: a shell on a machine, a view that a key ends."""
