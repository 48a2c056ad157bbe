"""How long a worker's long poll lasts, on both of its ends.

The appliance answers a question of a worker when there is something, at the latest after POLL_SECONDS: 204, and the
worker asks again.  The worker gives up after POLL_TIMEOUT_SECONDS; if that were less, no poll would ever be answered.
"""

from typing import Final

POLL_SECONDS: Final = 25.0
# For connecting, and for an answer that is slow to come: it may wait for a transaction.
_ALLOWANCE_SECONDS: Final = 35.0
POLL_TIMEOUT_SECONDS: Final = POLL_SECONDS + _ALLOWANCE_SECONDS
# The same for a worker that asks what is wanted of its running attempt: sooner, for then its silence matters.
ORDERS_SECONDS: Final = 12.0
# What a worker that runs an attempt never exceeds without a word: such a poll, its pause before the next one, a busy machine
# and a slow way.
SILENT_SECONDS: Final = ORDERS_SECONDS + 8.0
