"""The tiny ramdisk that carries the identity of a machine's worker, so that no secret stands on a command line."""

from typing import Final

from tinkbox.model.boot import Boot
from tinkbox.wire.cpio import archive
from tinkbox.wire.messages.worker import Credential, encode

PATH: Final = "etc/tinkbox/worker.json"
# Also what its workflow supplies may be the OSIE; and a machine that is parked, or waits, from its next boot on may be
# on its last way there.
WITH_CREDENTIAL: Final = frozenset({Boot.OSIE, Boot.DISCOVERY, Boot.WORKFLOW, Boot.WAITING, Boot.PARKED})


def credential_ramdisk(credential: Credential) -> bytes:
    """The archive for the kernel to unpack over the OSIE."""
    return archive({PATH: encode(credential).encode() + b"\n"})
