"""A node door that has nothing but the proxy and one public service, as a process of its own.

    python -m tests.integration.proxy.bare_door FOLDER ADDRESS PORT SERVICE_ADDRESS SERVICE_PORT

The port it listens on is in FOLDER/port as soon as it does; PORT may be 0.
"""

import asyncio
import sys
from pathlib import Path

from aiohttp import web

from tests.integration.proxy.door import DOMAIN, EVERYTHING, hosted, room, status
from tinkbox.door.connections.reading_pace import ReadingPace
from tinkbox.door.problems import refusals_become_problems
from tinkbox.engine.services.routing_table import RoutingTable
from tinkbox.proxy.proxy import Proxy


async def serve(folder: Path, address: str, port: int, directory: RoutingTable) -> None:
    async with Proxy(directory, lambda _: "", room(), ReadingPace(), refuses=lambda _: False) as proxy:
        application = web.Application(middlewares=[refusals_become_problems, proxy.middleware], client_max_size=0)
        runner = web.AppRunner(application, access_log=None, auto_decompress=False)
        await runner.setup()
        await web.TCPSite(runner, address, port).start()
        fresh = folder / "port.new"
        fresh.write_text(str(runner.addresses[0][1]))
        fresh.rename(folder / "port")
        await asyncio.Event().wait()


if __name__ == "__main__":
    place, own, listening, service, number = sys.argv[1:]
    known = RoutingTable(DOMAIN, f"http://{own}")
    known.replace([hosted(status(int(number), (*EVERYTHING, ("tinkbox.public", "true")), address=service))])
    asyncio.run(serve(Path(place), own, int(listening), known))
