"""What holds up a command or ends it: an appliance that is away, a reader that went away, a signal."""
