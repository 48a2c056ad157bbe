"""What a process gives up before it looks at what a stranger made.

It loads all that it needs, calls `confine`, and says CONFINED; or REFUSED and the reason, where the system does not let it
give up what it has.
"""

import os
import resource
from pathlib import Path
from typing import Final

from tinkbox.confinement.system_calls import give_up_capabilities, only_compute

CONFINED: Final = b"confined\n"
REFUSED: Final = b"refused\n"
NOBODY: Final = 65_534


def confine(*, cpu_seconds: int, memory: int) -> None:
    """Give up time, memory, files, rights and system calls; what is not loaded by now can be loaded no more.

    `memory` is in bytes, and comes on top of what is used already.  Raises OSError where any of it cannot be given up.
    """
    os.environ.clear()
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limits = {
        resource.RLIMIT_CPU: cpu_seconds,
        resource.RLIMIT_AS: used + memory,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: 0,
    }
    for limit, value in limits.items():
        resource.setrlimit(limit, (value, value))
    if os.geteuid() == 0:
        _become_nobody()
    give_up_capabilities()
    only_compute()


def _become_nobody() -> None:
    try:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    except PermissionError as error:
        text = "it is root without the right to become another user: serve as a user of its own (User= in the unit)"
        raise PermissionError(error.errno, text) from None
