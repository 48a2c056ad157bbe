"""Go's types, and how Python's values stand for their values."""
