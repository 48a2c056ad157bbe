"""What an engine remembers of a container, in Docker's words (Docker Engine API v1.41, /events).  Pure."""

from collections.abc import Sequence


def since_the_start(actions: Sequence[str]) -> Sequence[str]:
    """Those of the container's newest run, oldest first, all of them where its start is not among them."""
    return actions[max((number for number, action in enumerate(actions) if action == "start"), default=0) :]
