"""What terminals are told, and recordings of it."""
