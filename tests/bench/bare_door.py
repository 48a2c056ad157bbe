"""A node door that has nothing but the proxy, and one public service.

    python -m tests.bench.bare_door FOLDER ADDRESS SERVICE_ADDRESS SERVICE_PORT

It listens on port 80 of ADDRESS, and FOLDER/port is there as soon as it does.
"""

import asyncio
import sys
from pathlib import Path

from aiohttp import web

from tinkbox.door.problems import refusals_become_problems
from tinkbox.engine.directory import Directory, Hosted
from tinkbox.model.services import APPLIANCE, Phase, PlannedService, ServiceStatus, Standing
from tinkbox.model.workflow import State
from tinkbox.services.proxy import Proxy

PORT = 80
LABELS = (("tinkbox.public", "true"), ("traefik.http.routers.all.rule", "PathPrefix(`/`)"))


def directory(address: str, port: int) -> Directory:
    """One workflow with one service, which everybody may ask."""
    service = PlannedService(index=0, name="files", host=APPLIANCE, address="", image="files:v1", labels=LABELS)
    standing = Standing(run="run", phase=Phase.READY, address=address, ports=(port,))
    found = Directory("workflows.tinkbox.internal", f"http://{address}")
    status = ServiceStatus(service=service, standing=standing)
    found.replace(
        [
            Hosted(
                workflow_id="bench",
                name="bench",
                state=State.RUNNING,
                wanted=True,
                machines=frozenset(),
                services=(status,),
            )
        ]
    )
    return found


async def serve(folder: Path, address: str, known: Directory) -> None:
    async with Proxy(known, lambda _: "", refuses=lambda _: False) as proxy:
        application = web.Application(middlewares=[refusals_become_problems, proxy.middleware], client_max_size=0)
        runner = web.AppRunner(application, access_log=None, auto_decompress=False)
        await runner.setup()
        await web.TCPSite(runner, address, PORT).start()
        (folder / "port").write_text(str(PORT))
        await asyncio.Event().wait()


if __name__ == "__main__":
    place, own, service, number = sys.argv[1:]
    asyncio.run(serve(Path(place), own, directory(service, int(number))))
