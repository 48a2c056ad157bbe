"""One attempt at one action: run, held, stopped, reported."""
