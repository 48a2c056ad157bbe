"""Time per action: a workflow of actions that do nothing, beside the same containers through the Docker API alone.

The appliance, a worker and a Docker engine of their own run on this host; the engine pulls from the appliance's
registry.  An action's time is one whole turn, from its start to the next one's: offer, pull, create, start, wait,
output, report, removal.  The bare side is create, start, wait and remove of a container with the same options, from
the same image, one after the other, in the same engine.
"""

import asyncio
import json
import subprocess
import tarfile
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from datetime import datetime
from pathlib import Path
from shutil import which
from typing import Any

import aiodocker

from examples.lab.processes import start, stop
from tests.bench.figures import Comparison
from tests.bench.lab import TINKBOX, folder, need, until
from tests.integration.cli.serving import configure
from tests.integration.docker_engine import DockerEngine, docker_engine_in
from tinkbox.client.operator import Operator, Unreachable

TOOLS = {
    "dockerd": "docker.io", "docker": "docker.io", "/bin/busybox": "busybox-static", "unshare": "util-linux",
}  # fmt: skip
ROUNDS = 3
ACTIONS = 20
IMAGE = "nothing:v1"
COMMAND = ("/bin/busybox", "true")
MAC = "0a:00:00:00:00:01"
HARDWARE = {
    "id": str(uuid.UUID(int=1, version=4)),
    "network": {"interfaces": [{"dhcp": {"mac": MAC, "ip": {"address": "127.0.0.2", "netmask": "255.0.0.0"}}}]},
}
OVER = ("workflow.succeeded", "workflow.failed", "workflow.timeout")


def compare() -> Iterator[Comparison]:
    """One comparison."""
    need(TOOLS)
    comparison = Comparison(
        what=f"time per action, {ACTIONS} in a row", unit="ms", peer="Docker API alone", better="less"
    )
    with folder() as work, docker_engine_in() as engine, ExitStack() as stack:
        archive = save_image(engine, work)
        operator_socket, registry = stack.enter_context(serving(work))
        asyncio.run(prepare(operator_socket, archive, work / "worker.json"))
        stack.enter_context(worker(engine, work))
        image = f"{registry}/{IMAGE}"
        asyncio.run(workflow(operator_socket))  # what is done once: the image is pulled, programs are in memory
        asyncio.run(bare(engine, image, work))
        for _ in range(ROUNDS):
            ours = asyncio.run(workflow(operator_socket))
            comparison.add(ours, asyncio.run(bare(engine, image, work)))
    yield comparison
