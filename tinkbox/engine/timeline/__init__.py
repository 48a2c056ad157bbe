"""What was seen and heard of machines in their first minutes."""
