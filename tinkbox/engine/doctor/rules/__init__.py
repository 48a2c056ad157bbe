"""What the doctor looks for: pure functions from a case to findings, by what they look at."""
