"""How much of a processor something takes, on a host where others want it too."""

import gc
import time
from collections.abc import Callable


def processor_seconds(work: Callable[[], object]) -> float:
    """What the work takes, without the collection of garbage, which grows with all else that a run has in memory."""
    gc.disable()
    try:
        begin = time.thread_time()
        work()
        return time.thread_time() - begin
    finally:
        gc.enable()


def takes_at_most(seconds: float, work: Callable[[], object]) -> bool:
    """Whether one of three tries keeps to it: neighbours on the same cores slow down any one of them."""
    return any(processor_seconds(work) < seconds for _ in range(3))
