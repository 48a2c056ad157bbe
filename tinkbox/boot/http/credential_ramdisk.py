"""The tiny ramdisk that carries the identity of a machine's worker, so that no secret stands on a command line."""

from typing import Final

from tinkbox.model.boot import Boot, Plan
from tinkbox.wire.cpio import archive
from tinkbox.wire.messages.worker import Credential, encode

PATH: Final = "etc/tinkbox/worker.json"
# Also what its workflow supplies may be the OSIE; and a machine that is parked, or waits, from its next boot on may be
# on its last way there.
_WITH_CREDENTIAL: Final = frozenset(
    {Boot.OSIE, Boot.DISCOVERY, Boot.WORKFLOW, Boot.WAITING, Boot.PARKED, Boot.OWN_OSIE, Boot.OWN_SCRIPT}
)


def has_credential(plan: Plan) -> bool:
    """Whether a machine may have a worker; what its own script boots without a ticket is a system with users of its own."""
    return plan.boot in _WITH_CREDENTIAL and (plan.ticket or plan.boot is not Boot.OWN_SCRIPT)


def credential_ramdisk(credential: Credential) -> bytes:
    """The archive for the kernel to unpack over the OSIE.

    Where the credential has an authority, the container engine finds it as well, in the folder that it looks into for this
    registry (Docker's "Verify repository client with certificates"), and so trusts it there and nowhere else.
    """
    files = {PATH: encode(credential).encode() + b"\n"}
    if credential.authority:
        files[f"etc/docker/certs.d/{credential.registry}/ca.crt"] = credential.authority.encode()
    return archive(files)
