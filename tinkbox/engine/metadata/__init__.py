"""What installed systems are told, and what they tell of their first boot."""
