"""Room as the appliance has it by default, where nobody is known."""

from tinkbox.model.limits import Ledger, Limit, Room


def room(limit: Limit) -> Room:
    return Room(ledger=Ledger(limit, lambda: 0.0), known=lambda _: False)
