"""What the two doors share: how a refusal becomes an answer."""
