"""How many files and connections this process may have open, as the kernel sees it (`RLIMIT_NOFILE`)."""

import resource


def raise_open_files(wanted: int) -> int:
    """Have as many as wanted allowed, as far as this host lets us; returns how many are."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft == resource.RLIM_INFINITY or soft >= allowed:
        return wanted if soft == resource.RLIM_INFINITY else soft
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return allowed
