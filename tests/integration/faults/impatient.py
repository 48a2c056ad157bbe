"""`tinkbox` with a short long-poll: a worker that was killed behind its last report learns from an empty answer that it arrived.

The campaign runs the same cells with the poll that everybody gets.
"""

import sys

from tinkbox.wire import polling

polling.POLL_SECONDS = 3.0  # type: ignore[misc]

# What asks for it takes it when it is imported.
from tinkbox.cli import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
