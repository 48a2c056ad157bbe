"""Room as the appliance has it by default, where nobody is known."""

import time

from tinkbox.boot.tftp.transfer_room import TransferRoom
from tinkbox.model.limits import TFTP_TRANSFERS, Ledger, Limit, Room


def room(limit: Limit) -> Room:
    return Room(ledger=Ledger(limit, lambda: 0.0), known=lambda _: False)


def transfer_room() -> TransferRoom:
    """For transfers by TFTP, of which none is stalled."""
    return TransferRoom(room(TFTP_TRANSFERS), time.monotonic)
