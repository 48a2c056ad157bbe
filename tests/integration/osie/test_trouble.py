"""What keeps an OSIE's worker from starting is told to the appliance, by the OSIE's own scripts under busybox, in a file tree of its own."""

import asyncio
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.integration.worker.machine import until

NO_ROOM = (
    'level=info msg="Starting up"\nfailed to start daemon: write /var/lib/docker/x: no space left on device\nbye\n'
)
DOCKERD = f"#!/bin/sh\nprintf '{NO_ROOM}'\nexit 1\n"
WORKER = "#!/bin/sh\necho starting\necho 'tinkbox: error: the credential has no token' >&2\nexit 1\n"


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def osie(osie: Path) -> Path:
    (osie / "proc" / "meminfo").write_text("MemTotal: 1000000 kB\nMemAvailable:     123456 kB\n")
    (osie / "dev" / "null").touch()
    (osie / "proc" / "mounts").write_text("disk / ext4 rw 0 0\n")
    (osie / "var" / "lib" / "docker").mkdir(parents=True)
    program(osie / "bin" / "dockerd", DOCKERD)
    program(osie / "bin" / "tinkbox", WORKER)
    return osie


@asynccontextmanager
async def appliance(root: Path) -> AsyncIterator[asyncio.Queue[tuple[str, str]]]:
    """What is told to it: the part and its words."""
    told: asyncio.Queue[tuple[str, str]] = asyncio.Queue()

    async def trouble(request: web.Request) -> web.Response:
        told.put_nowait((request.query["part"], await request.text()))
        return web.json_response({})

    application = web.Application()
    application.add_routes([web.post("/worker/trouble", trouble)])
    async with TestServer(application) as server:
        (root / "proc" / "cmdline").write_text(f"quiet tinkbox.server=http://127.0.0.1:{server.port} console=ttyS0\n")
        yield told


@contextmanager
def running(root: Path, script: str, *words: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    command = ["chroot", str(root), "/bin/sh", f"/osie/{script}", *words]
    process = subprocess.Popen(
        command, env={"PATH": os.environ["PATH"], **environment}, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(60)


async def heard(told: asyncio.Queue[tuple[str, str]]) -> tuple[str, str]:
    async with asyncio.timeout(60):
        return await told.get()


async def test_an_engine_that_ends_is_told_with_its_error_and_what_room_there_is(osie: Path) -> None:
    (osie / "run" / "osie" / "online").touch()
    async with appliance(osie) as told:
        with running(osie, "engine"):
            part, words = await heard(told)
    assert part == "engine"
    assert words.startswith("the Docker engine ended with status 1, with 123 MB of memory free, ")
    assert words.endswith(
        "MB for images; it said: failed to start daemon: write /var/lib/docker/x: no space left on device"
    )
    assert f"] trouble: engine: {words}\n" in (osie / "run" / "osie" / "log").read_text(), "which syslog sends"


@pytest.mark.parametrize(
    ("blocks", "told"),
    [("750 10 740 2%", ", 740 MB for images"), ("750 750 0 100%", ", 0 MB for images"), ("0 0 0 0%", "")],
)
def test_room_that_was_not_measured_is_left_out(osie: Path, blocks: str, told: str) -> None:
    measured = f"df() {{ echo Filesystem; echo 'rootfs {blocks} /var/lib/docker'; }}"
    words = f". /osie/words; {measured}; room"
    said = subprocess.run(["chroot", str(osie), "/bin/sh", "-c", words], check=True, capture_output=True, text=True)
    assert said.stdout == f"123 MB of memory free{told}\n"


async def test_a_worker_that_ends_is_told_with_its_error(osie: Path) -> None:
    for name in ("online", "clock"):
        (osie / "run" / "osie" / name).touch()
    (osie / "run" / "osie" / "engine.log").write_text('msg="API listen on /var/run/docker.sock"\n')
    (osie / "etc" / "tinkbox").mkdir()
    (osie / "etc" / "tinkbox" / "worker.json").write_text('{"worker": "h", "token": ""}\n')
    async with appliance(osie) as told:
        with running(osie, "worker"):
            part, words = await heard(told)
    assert (part, words.startswith("the worker ended with status 1, with 123 MB of memory free")) == ("worker", True)
    assert words.endswith("; it said: tinkbox: error: the credential has no token")


@pytest.mark.parametrize(
    ("log", "told"),
    [("a\nb\n", "b"), ("an error\nb\n", "an error"), ("0\n", "0"), ("", "(nothing)"), (None, "(nothing)")],
)
def test_the_last_words_of_a_log(osie: Path, log: str | None, told: str) -> None:
    if log is not None:
        (osie / "log").write_text(log)
    words = ["chroot", str(osie), "/bin/sh", "-c", ". /osie/words; last_words /log"]
    assert subprocess.run(words, check=True, capture_output=True, text=True).stdout == f"{told}\n"


SECURED = '{"server": "https://10.0.0.1", "registry": "10.0.0.1", "worker": "h", "token": "t", "authority": "PEM\\n"}\n'
# It is asked to complain, or to work; what it is told it keeps.
TRUSTING = """#!/bin/sh
if [ "$2" = --complain ]; then cat > /complained; echo "$3" > /part; exit $(cat /refuses); fi
echo "$@" > /worked
echo 'not trusted: another authority' >&2
exit 4
"""


def with_authority(osie: Path, refuses: int) -> None:
    for name in ("online", "clock"):
        (osie / "run" / "osie" / name).touch()
    (osie / "run" / "osie" / "engine.log").write_text('msg="API listen on /var/run/docker.sock"\n')
    (osie / "etc" / "tinkbox").mkdir()
    (osie / "etc" / "tinkbox" / "worker.json").write_text(SECURED)
    (osie / "refuses").write_text(f"{refuses}\n")
    program(osie / "bin" / "tinkbox", TRUSTING)


async def test_a_worker_that_meets_an_impostor_is_told_in_plain_words_as_nothing_else_comes_through(osie: Path) -> None:
    with_authority(osie, refuses=4)
    async with appliance(osie) as told:
        with running(osie, "worker"):
            assert await heard(told) == ("tls", "not trusted: another authority")
    assert (osie / "worked").read_text() == "--worker --server https://10.0.0.1 --data /worker\n"
    assert "trouble: tls: not trusted" in (osie / "run" / "osie" / "log").read_text()


async def test_trouble_is_told_over_tls_alone_where_that_comes_through(osie: Path) -> None:
    with_authority(osie, refuses=0)
    async with appliance(osie) as told:
        with running(osie, "engine") as script:
            assert await asyncio.to_thread(script.wait, 60) == 0
            await asyncio.to_thread(until, (osie / "part").exists, "what the worker is told to tell")
        assert told.empty()
    assert (osie / "part").read_text() == "engine\n"
    assert (osie / "complained").read_text().startswith("the Docker engine ended with status 1")


@pytest.mark.parametrize("authority", [True, False])
async def test_the_engine_trusts_a_registry_without_tls_only_where_there_is_no_authority(
    osie: Path, authority: bool
) -> None:
    program(osie / "bin" / "dockerd", '#!/bin/sh\necho "$@" > /asked\n')
    with_authority(osie, refuses=0)
    if not authority:
        plain = '{"server": "http://10.0.0.1", "registry": "10.0.0.1", "worker": "h", "token": "t"}\n'
        (osie / "etc" / "tinkbox" / "worker.json").write_text(plain)
    async with appliance(osie):
        with running(osie, "engine") as script:
            assert await asyncio.to_thread(script.wait, 60) == 0
    assert ("--insecure-registry 10.0.0.1" in (osie / "asked").read_text()) is not authority


async def test_a_machine_without_a_credential_says_so(osie: Path) -> None:
    (osie / "run" / "osie" / "online").touch()
    async with appliance(osie) as told:
        with running(osie, "worker"):
            part, words = await heard(told)
    assert (part, words.startswith("no credential in /etc/tinkbox/worker.json")) == ("credential", True)


async def test_what_went_wrong_before_there_was_a_network_is_told_once_there_is_one(osie: Path) -> None:
    for name in ("ip", "hostname"):
        program(osie / "bin" / name, "#!/bin/sh\nexit 0\n")
    log = osie / "run" / "osie" / "log"
    async with appliance(osie) as told:
        with running(osie, "lease", "leasefail", interface="eth0") as script:
            assert await asyncio.to_thread(script.wait, 60) == 0
        assert not (osie / "run" / "osie" / "untold").exists(), "that there is no network is over when there is one"
        with running(osie, "engine") as script:
            assert await asyncio.to_thread(script.wait, 60) == 0
        assert told.empty()
        for _ in range(2):
            with running(osie, "lease", "bound", interface="eth0", ip="10.0.0.2", serverid="10.0.0.1") as script:
                assert await asyncio.to_thread(script.wait, 60) == 0
                if not (osie / "run" / "osie" / "heard").exists():
                    part, words = await heard(told)
                    (osie / "run" / "osie" / "heard").touch()
    assert told.empty(), "once is enough"
    assert (part, words.startswith("the Docker engine ended with status 1")) == ("engine", True)
    assert "trouble: network: no answer to DHCP on eth0" in log.read_text()
