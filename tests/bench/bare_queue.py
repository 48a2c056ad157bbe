"""The bare mechanism of a queue: HTTP by aiohttp, one table of sqlite3, and nothing that is not needed for an offer.

    python -m tests.bench.bare_queue FOLDER WORKERS WORKFLOWS ACTIONS

It speaks the worker protocol of `wire.messages.worker`, so that the same clients ask it, and commits once for every report and
the offer that answers it, with the pragmas of tinkbox's store.  It knows no templates, states, machines, events, retries or
deadlines; a worker's token is its number.  The port it listens on is in FOLDER/port as soon as it does.
"""

import asyncio
import sqlite3
import sys
from pathlib import Path

from aiohttp import web

from tinkbox.model.actions.action import Action
from tinkbox.model.workflow import PlannedAction
from tinkbox.wire.messages.worker import Offer, decode_hello, decode_report, encode

PRAGMAS = ("journal_mode = WAL", "synchronous = FULL")
TABLE = "CREATE TABLE action (number INTEGER PRIMARY KEY, worker TEXT, workflow TEXT, position INTEGER, state TEXT)"
QUEUE = "CREATE INDEX queue ON action (worker, state, number)"
NEXT = "SELECT * FROM action WHERE worker = ? AND state = 'PENDING' ORDER BY number LIMIT 1"


def stored(folder: Path, workers: int, workflows: int, actions: int) -> sqlite3.Connection:
    """Every action, pending."""
    connection = sqlite3.connect(folder / "bare.sqlite", isolation_level=None)
    for statement in (*(f"PRAGMA {each}" for each in PRAGMAS), TABLE, QUEUE, "BEGIN"):
        connection.execute(statement)
    connection.executemany(
        "INSERT INTO action (worker, workflow, position, state) VALUES (?, ?, ?, 'PENDING')",
        [
            (str(worker), f"{worker}-{workflow}", position)
            for worker in range(workers)
            for workflow in range(workflows)
            for position in range(actions)
        ],
    )
    connection.execute("COMMIT")
    return connection


class Queue:
    """The two requests of a worker."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    async def next(self, request: web.Request) -> web.Response:
        decode_hello(await request.read())
        offer = self._offer(request)
        return web.Response(status=204) if offer is None else _answered(encode(offer))

    def _offer(self, request: web.Request) -> Offer | None:
        worker = request.headers["Authorization"].removeprefix("Bearer ")
        row = self._sql.execute(NEXT, (worker,)).fetchone()
        if row is None:
            return None
        number, _, workflow, position, _ = row
        self._sql.execute("UPDATE action SET state = 'RUNNING' WHERE number = ?", (number,))
        action = PlannedAction(
            index=position,
            task="bench",
            worker=worker,
            address=worker,
            spec=Action(name=f"nothing-{position}", image="nothing:v1", timeout=60),
        )
        return Offer(workflow_id=workflow, attempt=str(number), remaining=60.0, action=action, no_data=True)

    async def report(self, request: web.Request) -> web.Response:
        report = decode_report(await request.read())
        number = int(request.match_info["token"])
        self._sql.execute("BEGIN")
        self._sql.execute("UPDATE action SET state = ? WHERE number = ?", (report.outcome.state, number))
        offer = self._offer(request) if report.next else None
        self._sql.execute("COMMIT")
        return _answered("{}" if offer is None else encode(offer))


def _answered(text: str) -> web.Response:
    return web.Response(text=text, content_type="application/json")


async def serve(folder: Path, queue: Queue) -> None:
    application = web.Application()
    application.add_routes(
        [
            web.post("/worker/next", queue.next),
            web.post("/worker/attempts/{token}/report", queue.report),
        ]
    )
    runner = web.AppRunner(application, access_log=None, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    fresh = folder / "port.new"
    fresh.write_text(str(runner.addresses[0][1]))
    fresh.rename(folder / "port")
    await asyncio.Event().wait()


if __name__ == "__main__":
    place, *sizes = sys.argv[1:]
    asyncio.run(serve(Path(place), Queue(stored(Path(place), *map(int, sizes)))))
