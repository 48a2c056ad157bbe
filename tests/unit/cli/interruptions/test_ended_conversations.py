"""A command that talks with the appliance ends quietly by a signal, whatever its event loop is at."""

import subprocess
import sys

import pytest

TALKING = """
import asyncio, signal, sys
from tinkbox.cli.interruptions.breaking_off import ended_in_order
from tinkbox.cli.interruptions.ended_conversations import run_until_ended

def told(where):
    signal.raise_signal(signal.SIGTERM)

async def child():
    told("child")
    await asyncio.Event().wait()

async def conversation():
    try:
        if sys.argv[1] == "task":
            told("task")
        if sys.argv[1] == "child":
            async with asyncio.TaskGroup() as group:
                group.create_task(child())
        if sys.argv[1] == "loop":
            asyncio.get_running_loop().call_soon(told, "loop")
        await asyncio.Event().wait()
    finally:
        print("closed", flush=True)

with ended_in_order():
    run_until_ended(conversation())
"""


@pytest.mark.parametrize("where", ["task", "child", "loop"])
def test_a_conversation_that_is_told_to_end_closes_and_says_nothing(where: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", TALKING, where], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (143, "closed\n", "")
