"""Go's fmt and strconv: how values become texts."""
