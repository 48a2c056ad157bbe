"""How many entries a list has without its limit, as the appliance tells a client."""

from typing import Final

HEADER: Final = "Total-Count"


def total_of(told: str | None) -> int | None:
    """What the header says; None when it says nothing."""
    return int(told) if told and told.isascii() and told.isdigit() else None
