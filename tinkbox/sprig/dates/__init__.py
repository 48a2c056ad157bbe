"""Dates as Go's package time has them: moments, zones and layouts, and Sprig's functions for these."""
