"""`tinkbox serve`."""

import argparse
import sys
import time
from pathlib import Path

from tinkbox.cli.flags import carry_out, folder


def declare(noun: argparse.ArgumentParser) -> None:
    carry_out(noun, serve)
    noun.add_argument("--config", type=Path, metavar="FILE", help="default: /etc/tinkbox/tinkbox.yaml when it exists")
    noun.add_argument("--data", type=folder, metavar="DIR", default=argparse.SUPPRESS, help="beats the configuration")
    noun.add_argument("--check", action="store_true", help="look at everything, say what is wrong, and end")


def serve(chosen: argparse.Namespace) -> int:
    import asyncio
    import gc

    # What hundreds of modules make stays: to look through it for garbage takes a fifth of the time in which they are loaded.
    gc.disable()
    from tinkbox.app import check
    from tinkbox.app import serve as run
    from tinkbox.door.log_limit import LogLimit
    from tinkbox.log_text import log_to
    from tinkbox.model.token_mask import TokenMask
    from tinkbox.private_files import keep_to_owner
    from tinkbox.settings import CONFIG, is_draft, load
    from tinkbox.short_turns import EventLoop

    gc.freeze()
    gc.enable()
    settings = load(chosen.config, chosen.data)
    if chosen.check:
        draft = is_draft(chosen.config)
        checked = asyncio.run(check(settings, _say, chosen.config or CONFIG, draft=draft))
        return 0 if checked.is_well else 1
    keep_to_owner()
    mask = TokenMask()
    log_to(sys.stderr, mask=mask).addFilter(LogLimit(time.monotonic))
    with asyncio.Runner(loop_factory=EventLoop) as runner:
        runner.run(run(settings, _say, mask))
    return 0


def _say(line: str) -> None:
    print(line, flush=True)
