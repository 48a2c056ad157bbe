"""Holding what a container without the helper left behind: its files, in a copy that the helper holds.

Neither its processes nor what it mounted or kept in memory survive it; its volumes do.
"""

import hashlib
from dataclasses import replace
from pathlib import Path

from tinkbox.model.reasons import Reason
from tinkbox.runtime import Container, ContainerFailed, ContainerSpec, Runtime

HOLD = "hold"  # the role of such a container
MAX_BYTES = 512 * 1024 * 1024
MEMORY = Path("/proc/meminfo")
_PART_OF_MEMORY = 3
_MIB = 1024 * 1024


async def salvage(runtime: Runtime, dead: Container, spec: ContainerSpec) -> Container:
    """Start a copy of a container that is over; asked again it is the same one.

    `spec` is how the dead one was made, but for the helper as its entry point, which is to hold at once.  The dead one
    must stay as long as the copy.  Raises what `Runtime` raises, and ContainerFailed: TooLargeToHold.
    """
    labels = {**spec.labels, "tinkbox.role": HOLD}
    found = await runtime.find(labels)
    if found:
        held = found[0]
    else:
        await _check_size(runtime, dead)
        image = copy_of(spec.labels["tinkbox.attempt"])
        await runtime.commit(dead.id, image)
        held = await runtime.create(replace(spec, image=image, labels=labels, volumes_from=dead.id))
    if not held.started or held.ended:
        await runtime.start(held.id)
    return replace(held, started=True, ended=False)


async def discard(runtime: Runtime, attempt: str) -> None:
    """Remove an attempt's copy, and the image that it was made from; nothing where there is none."""
    for container in await runtime.find({"tinkbox.attempt": attempt, "tinkbox.role": HOLD}):
        await runtime.remove(container.id)
    await runtime.remove_image(copy_of(attempt))


def copy_of(attempt: str) -> str:
    """The name of the image."""
    return f"tinkbox-breakpoint:{hashlib.sha256(attempt.encode()).hexdigest()[:32]}"


def limit(memory: str) -> int:
    """How many bytes may be copied, given the text of /proc/meminfo: on a machine in memory a copy costs as much."""
    available = next((line.split()[1] for line in memory.splitlines() if line.startswith("MemAvailable:")), "0")
    return min(MAX_BYTES, int(available) * 1024 // _PART_OF_MEMORY)


async def _check_size(runtime: Runtime, dead: Container) -> None:
    size, most = await runtime.changed_bytes(dead.id), limit(MEMORY.read_text())
    if size > most:
        raise ContainerFailed(
            Reason.TOO_LARGE_TO_HOLD,
            f"the action wrote {size // _MIB} MiB into its container, of which a copy would have to be made to hold it; "
            f"at most {most // _MIB} MiB are copied with the memory there is now",
        )
