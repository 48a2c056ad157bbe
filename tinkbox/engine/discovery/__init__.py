"""Unknown machines: they introduce themselves, and are accepted or refused."""
