"""The iPXE of Debian's QEMU, alone with what answers it.

QEMU's own network gives the machine its address and its first script; what it asks at 10.0.2.2 comes to this host's
loopback, which is one of a network namespace of its own.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from aiohttp import web

ROOT: Final = Path(__file__).parents[2]
OWN: Final = "http://10.0.2.2"
SCRIPT: Final = f"{OWN}/script.ipxe"  # what it asks first
# How a request is answered of which the path came so many times by now; None: it is over.
Answer = Callable[[web.Request, int], web.Response | None]


def asked_alone(program: str, *arguments: str | Path, servers: Path | None = None) -> list[tuple[str, str]]:
    """What a `program` prints that prints what `asked` returns, in namespaces; `servers` is its /etc/resolv.conf."""
    shell, kinds = 'ip link set lo up && exec "$@"', ["--net"]
    if servers is not None:
        shell, kinds = f'mount --bind "$1" /etc/resolv.conf && shift && {shell}', [*kinds, "--mount"]
    done = subprocess.run(
        ["unshare", *kinds, "sh", "-c", shell, "alone", *([servers] if servers else []), sys.executable, "-c", program, *arguments],
        cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True, timeout=540,
    )  # fmt: skip
    return [(host, path) for host, path in json.loads(done.stdout)]


async def asked(work: Path, answer: Answer, network: str = "user") -> list[tuple[str, str]]:
    """Have a machine boot until it is over; returns the host and the path of all that it asked."""
    over = asyncio.Event()
    seen: list[tuple[str, str]] = []

    async def serve(request: web.Request) -> web.Response:
        seen.append((request.headers["Host"], request.raw_path))
        found = answer(request, [path for _, path in seen].count(request.raw_path))
        if found is not None:
            return found
        over.set()
        return web.Response(text="#!ipxe\nsleep 1000\n")

    application = web.Application()
    application.add_routes([web.get("/{path:.*}", serve)])
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 80).start()
    (work / "first.ipxe").write_text(f"#!ipxe\nchain --replace --autofree {SCRIPT}\n")
    machine = await asyncio.create_subprocess_exec(
        "qemu-system-x86_64", "-accel", "tcg", "-m", "256", "-display", "none",
        "-netdev", f"{network},id=n,tftp={work},bootfile=first.ipxe", "-device", "virtio-net-pci,netdev=n",
    )  # fmt: skip
    try:
        async with asyncio.timeout(480):
            await over.wait()
    except TimeoutError:
        pass  # what it did not ask says where it stood
    finally:
        machine.kill()
        await machine.wait()
        await runner.cleanup()
    return seen
