"""Values and rules, parsed once at the edge; inside there are only valid values.

Nothing here knows a clock, a socket, a file or an event loop.
"""
