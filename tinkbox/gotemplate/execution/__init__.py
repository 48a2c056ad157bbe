"""From the statements of a template, and data, to its output."""
