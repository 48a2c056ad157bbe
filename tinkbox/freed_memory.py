"""Memory that was freed goes back to the kernel at once.

glibc takes large blocks from the kernel one by one and gives them back as they are freed, until one of them was freed: then
it keeps blocks of that size for itself.  After a few uploads it would keep hundreds of megabytes of nothing (mallopt(3),
M_MMAP_THRESHOLD).  A threshold that was set stays where it is.
"""

import ctypes
from typing import Final

_TRIM_THRESHOLD: Final = -1  # malloc.h
_MMAP_THRESHOLD: Final = -3
_THRESHOLD_BYTES: Final = 128 * 1024  # what glibc begins with


def give_back_freed_memory() -> bool:
    """Have the C library do so, from now on; False, and nothing happens, where it has no such setting (musl)."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return all(mallopt(which, _THRESHOLD_BYTES) == 1 for which in (_MMAP_THRESHOLD, _TRIM_THRESHOLD))
