"""Where an appliance takes commands, as its door for machines tells those who ask there."""

from typing import Final

# With a 404: `operator.listen`, as ADDRESS:PORT.
HEADER: Final = "Tinkbox-Operator-Door"
