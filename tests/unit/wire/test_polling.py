"""How long a worker's poll lasts, on both of its ends."""

from tinkbox.wire.polling import POLL_SECONDS, POLL_TIMEOUT_SECONDS

# A worker from before `wire.polling` gives up after this time. An OSIE keeps its worker when the appliance is upgraded.
OLD_WORKER_TIMEOUT_SECONDS = 60.0


def test_every_worker_waits_longer_than_the_appliance_takes() -> None:
    assert 0 < POLL_SECONDS < POLL_TIMEOUT_SECONDS
    assert POLL_SECONDS <= OLD_WORKER_TIMEOUT_SECONDS / 2
