"""What is asked over a connection: how much is taken in of it, how long it may last, what the audit is told of it."""
