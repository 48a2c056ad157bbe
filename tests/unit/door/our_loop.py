"""Tests in the appliance's event loop, in which connections can rest, and be broken off while a file is sent."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec

from tinkbox.short_turns import EventLoop

P = ParamSpec("P")


def in_our_loop(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Have a test run in the appliance's event loop."""

    @wraps(test)
    def run(*args: P.args, **named: P.kwargs) -> None:
        with asyncio.Runner(loop_factory=EventLoop) as runner:
            runner.run(test(*args, **named))

    del run.__wrapped__
    run.__signature__ = signature(test)
    return run
