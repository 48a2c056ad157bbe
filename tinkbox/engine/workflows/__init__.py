"""Workflows from their creation to their end: offers, reports, deadlines, breakpoints."""
