"""The terminal view: a pure function from a snapshot to a rich renderable, and the loop that feeds it."""
