"""Two hundred workers, each with a queue of 8 workflows of 10 actions, against one appliance.

The workers run no containers: each says over HTTP what a real one says of an action that neither prints nor writes
anything and is over too soon to listen for orders (`worker.attempts.order_listener`): that it has ended, which is answered
with the next offer.  All of them are in this process, each with the credential of a machine of its own and a connection of
its own, and write their requests as bytes: a third of the server's processor time at most.
The server is another process, on one processor; its processor time is that of its processes alone.  Every action must be offered
once and in order, and every workflow succeed, or the benchmark fails.

The peer is the bare mechanism under the same workers: aiohttp and one table in sqlite3, one commit for
every report with the offer that answers it (`bare_queue`).  A round is one workflow of every queue, on the one side and
then on the other.
In the first rounds no worker ever pauses, so that the server always has something to do: they show how much it can do.
In the last ones an action takes a quarter of a second, one more and another less, and the workers begin one after the
other, which is a load of 800 actions a second for whoever can carry it: they show how long a worker waits from its
report to its next offer.
"""

import asyncio
import json
import statistics
import sys
import time
import uuid
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from ipaddress import IPv4Address
from pathlib import Path
from random import Random
from subprocess import Popen

from examples.lab.processes import start, stop
from tests.bench.connection import Connection
from tests.bench.figures import Comparison
from tests.bench.lab import TINKBOX, as_server, folder, need, on_loopback, until
from tests.bench.usage import peak_memory, processor_seconds
from tests.workers import opening
from tinkbox.client.operator import Operator
from tinkbox.client.operator.lasting_connection import LastingConnection
from tinkbox.model.workflow import Outcome, State
from tinkbox.wire.messages.session import encode as encode_opening
from tinkbox.wire.messages.worker import Credential, Hello, Report, encode

TOOLS: Mapping[str, str] = {}
WORKERS = 200
WORKFLOWS = 5  # without a pause
PACED = 3  # at LOAD
ACTIONS = 10
LOAD = 800  # actions a second
LASTS = WORKERS / LOAD  # seconds that an action takes at that load, in the mean
# Actions of one length would have the workers march in step, whom one commit answers together.
VARIES = (0.5, 1.5)
SECONDS = 300
BOOT_ID = "bench"
LOOPBACK = IPv4Address("127.8.0.1")
SUCCESS = Outcome(state=State.SUCCESS, exit_code=0)
PEER = "aiohttp + sqlite3"
TEMPLATE = """\
version: "0.1"
name: bench
tasks:
  - name: bench
    worker: "{{.device_1}}"
    actions:
"""

# The ids of each worker's workflows, in the order of their creation.
Queues = Mapping[Credential, Sequence[str]]


class Wrong(Exception):
    """An action was offered twice, not at all or out of its turn, or did not succeed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """Every worker's next workflow; `turns` are the seconds from each report to the next offer, `processor` the server's."""

    seconds: float
    turns: Sequence[float]
    processor: float

    @property
    def throughput(self) -> float:
        """Actions per second."""
        return WORKERS * ACTIONS / self.seconds

    @property
    def turn(self) -> float:
        """Milliseconds from a report to the next offer, the 99th percentile."""
        return statistics.quantiles(self.turns, n=100)[98] * 1e3

    @property
    def cost(self) -> float:
        """Milliseconds that the server's processor works for an action."""
        return self.processor / (WORKERS * ACTIONS) * 1e3


def compare() -> Iterator[Comparison]:
    """Throughput, the 99th percentile from report to next offer, processor time, memory."""
    need(TOOLS)
    load = f"{WORKERS} workers × {WORKFLOWS} workflows × {ACTIONS} actions"
    throughput = Comparison(what=load, unit="1/s", peer=PEER, better="more")
    cost = Comparison(what="  processor time per action", unit="ms", peer=PEER, better="less")
    turn = Comparison(
        what=f"  report to next offer, {LOAD}/s wanted, 99th percentile", unit="ms", peer=PEER, better="less"
    )
    memory = Comparison(what="  peak memory", unit="MB", peer=PEER, better="less")
    with ExitStack() as running:
        work = running.enter_context(folder())
        server, configuration = running.enter_context(on_loopback(work, as_server(TINKBOX)))
        peer, url = running.enter_context(bare_queue(work))
        operator_socket = configuration.data / "operator.sock"
        our_queues, their_queues = asyncio.run(prepare(operator_socket)), bare_queues(url)
        for number in range(WORKFLOWS):
            ours, theirs = measured(server, our_queues, number), measured(peer, their_queues, number)
            throughput.add(ours.throughput, theirs.throughput)
            cost.add(ours.cost, theirs.cost)
        for number in range(WORKFLOWS, WORKFLOWS + PACED):
            ours, theirs = measured(server, our_queues, number, LASTS), measured(peer, their_queues, number, LASTS)
            turn.add(ours.turn, theirs.turn)
        memory.add(peak_memory(server), peak_memory(peer))
        asyncio.run(check_success(operator_socket))
    yield from (throughput, cost, turn, memory)


@contextmanager
def bare_queue(work: Path) -> Iterator[tuple[Popen[bytes], str]]:
    """The process, and its URL."""
    command = (sys.executable, "-m", "tests.bench.bare_queue", work, *map(str, (WORKERS, WORKFLOWS + PACED, ACTIONS)))
    with (work / "bare.log").open("wb") as log:
        process = start(as_server(*command), stdout=log)
    try:
        port = work / "port"
        until(port.exists, "the bare queue")
        yield process, f"http://127.0.0.1:{port.read_text()}"
    finally:
        stop(process)


def bare_queues(url: str) -> Queues:
    """The queues that the bare mechanism made for itself."""
    workers = [Credential(server=url, registry="", worker=f"{each}", token=f"{each}") for each in range(WORKERS)]
    return {each: [f"{each.worker}-{workflow}" for workflow in range(WORKFLOWS + PACED)] for each in workers}


async def prepare(operator_socket: Path) -> Queues:
    """What an operator does: the machines, a template, and a workflow for each machine in turn until all queues are full."""
    actions = "".join(
        f"      - {{name: nothing-{each}, image: 'nothing:v1', timeout: 600}}\n" for each in range(ACTIONS)
    )
    queues: dict[Credential, list[str]] = {}
    async with Operator(LastingConnection(socket=operator_socket)) as operator:
        await operator.templates.create("bench", TEMPLATE + actions)
        for number in range(WORKERS):
            await operator.hardware.push(document(number))
            queues[await begun(Credential(**await operator.hardware.credential(mac(number))))] = []
        for _ in range(WORKFLOWS + PACED):
            for number, queue in enumerate(queues.values()):
                created = await operator.workflows.create("bench", {"device_1": mac(number)})
                queue.append(created["id"])
    return queues


async def begun(credential: Credential) -> Credential:
    """Exchange a credential's boot ticket; returns the same with the session's secret in its place."""
    wanted = opening(credential.token, BOOT_ID, instance="")
    door = await connected(credential)
    await answer(door, "POST", "/worker/session", encode_opening(wanted).encode())
    door.close()
    return replace(credential, token=wanted.secret)


def mac(number: int) -> str:
    return f"0a:00:00:00:00:{number:02x}"


def document(number: int) -> bytes:
    dhcp = {"mac": mac(number), "ip": {"address": f"172.30.0.{number + 10}", "netmask": "255.255.255.0"}}
    return json.dumps({"id": str(uuid.uuid4()), "network": {"interfaces": [{"dhcp": dhcp}]}}).encode()


def measured(server: Popen[bytes], queues: Queues, number: int, lasts: float = 0.0) -> Round:
    """Have the workflow of this number carried out in every queue, all at once.

    With `lasts`, an action takes so many seconds in the mean, and the workers start spread evenly over that time.  Raises Wrong, in a group, when an action is not offered in its turn.
    """
    turns: list[float] = []
    spent, began = processor_seconds(server), time.perf_counter()
    asyncio.run(carry_out_all({worker: queue[number] for worker, queue in queues.items()}, lasts, turns))
    seconds = time.perf_counter() - began
    return Round(seconds=seconds, turns=turns, processor=processor_seconds(server) - spent)


async def carry_out_all(workflows: Mapping[Credential, str], lasts: float, turns: list[float]) -> None:
    async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
        for number, (worker, workflow) in enumerate(workflows.items()):
            # Both sides have the same lengths.
            lengths = [lasts * Random(f"{number} {each}").uniform(*VARIES) for each in range(ACTIONS)]
            begins = lasts * number / len(workflows)
            group.create_task(carry_out(worker, workflow, begins, lengths, turns))


async def carry_out(
    worker: Credential, workflow: str, begins: float, lengths: Sequence[float], turns: list[float]
) -> None:
    """One worker, from its first question until its last report is answered; the last one asks for nothing more."""
    await asyncio.sleep(begins)
    hello = Hello(boot_id=BOOT_ID)
    last = Report(workflow_id=workflow, boot_id=BOOT_ID, outcome=SUCCESS)
    asks, ends = encode(replace(last, next=hello)).encode(), encode(last).encode()
    door = await connected(worker)
    offered = await answer(door, "POST", "/worker/next", encode(hello).encode())
    for due, lasts in enumerate(lengths):
        offer = json.loads(offered or b"{}")
        if (offer.get("workflow_id"), offer.get("action", {}).get("index"), offer.get("no_data")) != (
            workflow, due, True,
        ):  # fmt: skip
            raise Wrong(f"worker {worker.worker} got {offer}, when action {due} of workflow {workflow} was due")
        path = f"/worker/attempts/{offer['attempt']}"
        await asyncio.sleep(lasts)
        reported = time.perf_counter()
        offered = await answer(door, "POST", f"{path}/report", asks if due < ACTIONS - 1 else ends)
        if due < ACTIONS - 1:
            turns.append(time.perf_counter() - reported)
    door.close()


async def connected(worker: Credential) -> Connection:
    headers = {"Authorization": f"Bearer {worker.token}", "User-Agent": "tinkbox"}
    # Each has an address of its own, as machines have.
    return await Connection.to(worker.server, headers, str(LOOPBACK + zlib.crc32(worker.worker.encode()) % 60_000))


async def answer(door: Connection, method: str, path: str, body: bytes = b"") -> bytes:
    """Raises Wrong for an answer that is a refusal."""
    status, content = await door.ask(method, path, body)
    if status >= 300:
        raise Wrong(f"{method} {path} was answered with {status}: {content!r}")
    return content


async def check_success(operator_socket: Path) -> None:
    """Raises Wrong unless the appliance says that every workflow succeeded, so that nothing is left to be offered."""
    async with Operator(LastingConnection(socket=operator_socket)) as operator:
        states = [each["state"] for each in await operator.workflows.all()]
    if states != [State.SUCCESS] * WORKERS * (WORKFLOWS + PACED):
        raise Wrong(f"{states.count(State.SUCCESS)} of {len(states)} workflows succeeded")
