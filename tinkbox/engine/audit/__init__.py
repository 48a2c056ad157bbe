"""Who did what: lines that are written before and after it is done, and sent on to other hosts."""
