"""Sizes and times in the words of people."""

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def size(count: int) -> str:
    """Like `3.0 GiB`; small ones exactly."""
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{count} bytes"


def amount(done: int, total: int) -> str:
    """Like `1.2 of 3.0 GiB`; of no known total like `1.2 GiB`."""
    if not total:
        return size(done)
    unit, name = (GIB, "GiB") if total >= GIB else (MIB, "MiB")
    return f"{done / unit:.1f} of {total / unit:.1f} {name}"


def duration(seconds: float) -> str:
    """Like `0:43` or `1:02:03`."""
    minutes, rest = divmod(max(0, int(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
