"""How the tests are shared out among processes: `pytest -n auto --dist loadfile`.

A file stays in one process, for its tests may share an appliance, a machine or a virtual machine's whole story.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from xdist.scheduler.loadfile import LoadFileScheduling
from xdist.workermanage import WorkerController

# What a process may need at a time: an emulated machine with its 3 GiB, an appliance and a Docker engine.
MEMORY_OF_ONE: Final = 4 << 30
MOST: Final = 8
CGROUPS: Final = Path("/sys/fs/cgroup")
# Machines first, and those that wait for engines and clocks last, for some processes begin from behind (`BothEnds`): between
# them is what is quick, and fills the end of the run without a gap.
ORDER: Final = (
    # The first that wants the waiting machines saves them for all; meanwhile others boot what they need themselves.
    "tests/machine/test_power_cut.py",
    *(
        f"tests/machine/test_{name}.py"
        for name in ("firmware", "demo", "discovery", "doctor", "secure_boot", "local_boot")
    ),
    *(f"tests/machine/test_{name}.py" for name in ("services", "reboot", "breakpoint", "kexec", "no_progress")),
    "tests/machine/",
    "tests/",
    "tests/integration/",
    *(f"tests/integration/{slow}/" for slow in ("cli", "boot", "app", "hosting", "worker", "faults")),
)
# Each of their tests has a lab of its own and takes a minute or more.
SHARE_NOTHING: Final = tuple(
    f"tests/machine/test_{name}.py" for name in ("demo", "discovery", "doctor", "firmware", "local_boot", "secure_boot")
)


def processors() -> int:
    return len(os.sched_getaffinity(0))


def how_many() -> int:
    """A process for every processor, and two more, for many tests wait more than they compute."""
    return max(1, min(processors() + 2, memory() // MEMORY_OF_ONE, MOST))


def memory() -> int:
    """Bytes of it that the tests have: the host's, or what the control group allows, of either version."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for limit in ("memory.max", "memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):  # neither a file there, nor "max" in it, is a limit
            found.append(int((CGROUPS / limit).read_text()))
    return min(found)


def which() -> int:
    """Which of them this is, below `MOST`; 0 when it is the only one."""
    return int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % MOST


def place_in_order(nodeid: str) -> int:
    """Where it stands among the others; a longer beginning says more than a shorter one."""
    return max((len(beginning), place) for place, beginning in enumerate(ORDER) if nodeid.startswith(beginning))[1]


class BothEnds(LoadFileScheduling):
    """Takes the files from both ends: as many processes as there are processors begin with virtual machines, which keep
    a processor busy, and who is left with the quick tests; in the end they meet.
    """  # fmt: skip

    def _split_scope(self, nodeid: str) -> str:
        return nodeid if nodeid.startswith(SHARE_NOTHING) else super()._split_scope(nodeid)

    def _assign_work_unit(self, node: WorkerController) -> None:
        if self.nodes.index(node) >= processors():
            self.workqueue.move_to_end(next(reversed(self.workqueue)), last=False)
        super()._assign_work_unit(node)
