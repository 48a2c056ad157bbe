"""From the source of a template to its statements."""
