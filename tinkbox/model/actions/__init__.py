"""What an action is, what of its container a template may choose, and how far it is."""
