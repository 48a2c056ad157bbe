"""What commands that stay say while the appliance does not answer them, and of one that was put back to an earlier day."""

import sys

from tinkbox.cli.called_as import told


def tell_put_back(place: int | str, of: str = "event") -> None:
    """Say on standard error that the appliance has no event of this place, or no line, behind which it was to go on."""
    if isinstance(place, str):  # as a token with a scope is told it
        told = (
            f"no {of} {place} is within the scope of this token: its workflow was deleted or left the scope, or the appliance was "
            f"put back to an earlier day. All {of}s within follow"
        )
    else:
        told = f"the appliance has no {of} {place}: was it put back to an earlier day? All that it has follow"
    print(f"tinkbox: {told}", file=sys.stderr, flush=True)


class Outages:
    """Tells on standard error what is wrong, and that it is tried again: once for as long as that stays the same."""

    def __init__(self) -> None:
        self._told = ""

    def tell(self, error: Exception) -> None:
        text = told(f"tinkbox: {error}; trying again")
        if text != self._told:
            print(text, file=sys.stderr, flush=True)
        self._told = text

    def over(self) -> None:
        """It answers."""
        self._told = ""
