"""Sprig's functions on texts: strings, expressions, encodings, URLs, paths, JSON."""
