"""Python imports this by itself when its folder is on PYTHONPATH: wall clocks that are wrong as the file says.

The file that FAULTS_CLOCK names holds the error in seconds.  Clocks that only count, such as
`time.monotonic`, stay right, as the kernel's do when somebody sets the time.
"""

import datetime as dt
import os
import time
from pathlib import Path

_file = Path(os.environ["FAULTS_CLOCK"])
_right_time, _right_time_ns = time.time, time.time_ns  # noqa: TID251  # it is the clock


def _error() -> float:
    try:
        return float(_file.read_text() or 0)
    except OSError:
        return 0.0


def _time() -> float:
    return _right_time() + _error()


def _time_ns() -> int:
    return _right_time_ns() + int(_error() * 1e9)


class _Datetime(dt.datetime):
    @classmethod
    def now(cls, tz: dt.tzinfo | None = None) -> "_Datetime":
        return cls.fromtimestamp(_time(), tz)

    @classmethod
    def utcnow(cls) -> "_Datetime":
        return cls.now(dt.UTC).replace(tzinfo=None)


time.time, time.time_ns = _time, _time_ns  # noqa: TID251
dt.datetime = _Datetime  # type: ignore[misc]
