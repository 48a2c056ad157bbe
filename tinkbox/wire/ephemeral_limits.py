"""How much ephemeral data a workflow may have: the files below `/workflow`, and the archive in which they travel.

Both ends hold it: a worker of another release goes by its own.  The texts that name the figure are in test_ephemeral_limits.py.
"""

from typing import Final

MAX_DATA_BYTES: Final = 10 * 1024 * 1024
MAX_DEPTH: Final = 64  # folders within each other
# In an archive each file has a header, padding, and at times a header for what does not fit into the first.
_HEADERS_BYTES: Final = 2 * 1024 * 1024
MAX_ARCHIVE_BYTES: Final = MAX_DATA_BYTES + _HEADERS_BYTES
