"""The other machine: poll, run, report.  It never touches store or engine."""
