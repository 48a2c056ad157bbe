"""What answers call their server: the library would tell its version and Python's, by which strangers choose what to try."""

from typing import Final

from aiohttp import web_response

SERVER: Final = "tinkbox"


def tell_no_versions() -> None:
    """From now on, in all answers of this process.  What is passed on from a service keeps the service's own."""
    # Not a signal of the application: what is no HTTP is answered without one.
    web_response.SERVER_SOFTWARE = SERVER  # type: ignore[attr-defined]
