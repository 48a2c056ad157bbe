"""Shells in a container that the helper holds, on a real engine, for an appliance that stands on loopback."""

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import WSMsgType, web

from tests.integration.cli.serving import own_ports
from tests.integration.docker_engine import DockerEngine
from tests.integration.registry.serving import layer
from tests.workers import door_of
from tinkbox.model.breakpoint import Armed
from tinkbox.model.shells import ShellEnd, ShellWish
from tinkbox.runtime import Container, ContainerSpec
from tinkbox.runtime.docker import DockerRuntime
from tinkbox.wire.messages.shell import Channel, Frame, close, control, decode, encode, read_status, resize
from tinkbox.wire.messages.worker import Credential
from tinkbox.worker.files import toolbox
from tinkbox.worker.files.helper_files import ENTRYPOINT, RUN, HelperFiles
from tinkbox.worker.files.notes import Notes
from tinkbox.worker.shells.shells import ShellHost

IMAGE = "tools/shells:v1"
BUSYBOX = "/bin/busybox"
ATTEMPT = "a1"
TERMINAL = ShellWish(id="term", tty=True, rows=30, columns=100)
FILES = {
    "bin/busybox": Path(BUSYBOX).read_bytes(),
    "etc/passwd": b"root:x:0:0::/:/bin/sh\nworker:x:1000:1000::/home:/bin/sh\n",
    "home/file": b"",
}


async def until(look: Callable[[], Awaitable[bool]]) -> None:
    """Look again and again, where nothing can announce it."""
    async with asyncio.timeout(60):
        while not await look():  # noqa: ASYNC110
            await asyncio.sleep(0.05)


class Client:
    """What the appliance sees of one session: all that was printed, and how it ended."""

    def __init__(self) -> None:
        self.printed = {Channel.STDOUT: bytearray(), Channel.STDERR: bytearray()}
        self.ends: list[ShellEnd] = []
        self.connections = 0
        self.socket: web.WebSocketResponse | None = None
        self.changed = asyncio.Condition()

    async def serve(self, socket: web.WebSocketResponse) -> None:
        self.connections += 1
        self.socket = socket
        await self._tell()
        async for message in socket:
            assert message.type is WSMsgType.BINARY
            frame = decode(message.data)
            if frame.channel is Channel.STATUS:
                self.ends.append(read_status(frame))
            else:
                self.printed[frame.channel] += frame.content
            await self._tell()
        self.socket = None

    async def until(self, words: str) -> str:
        """Wait until standard output has what this pattern finds; returns it, and forgets everything before its end."""
        pattern, output = re.compile(words.encode(), re.DOTALL), self.printed[Channel.STDOUT]
        async with asyncio.timeout(60), self.changed:
            while not (match := pattern.search(output)):
                await self.changed.wait()
        found = match[0].decode(errors="replace")
        del output[: match.end()]
        return found

    async def say(self, *frames: Frame) -> None:
        async with asyncio.timeout(60), self.changed:
            await self.changed.wait_for(lambda: self.socket is not None)
            assert self.socket is not None
            for frame in frames:
                await self.socket.send_bytes(encode(frame))

    async def type(self, text: str) -> None:
        await self.say(Frame(Channel.STDIN, text.encode()))

    async def end(self) -> ShellEnd:
        async with asyncio.timeout(60), self.changed:
            await self.changed.wait_for(lambda: self.ends)
        return self.ends[0]

    async def _tell(self) -> None:
        async with self.changed:
            self.changed.notify_all()


class Appliance:
    """Takes every shell's line on a port that stays the same when it is switched off and on."""

    def __init__(self) -> None:
        (self.port,) = own_ports(1)
        self._clients: dict[str, Client] = {}
        self._runner: web.AppRunner | None = None

    def client(self, session: str) -> Client:
        return self._clients.setdefault(session, Client())

    async def on(self) -> None:
        application = web.Application()
        application.router.add_get(f"/worker/attempts/{ATTEMPT}/shells/{{session}}", self._shell)
        application.router.add_post("/worker/session", self._session)
        self._runner = web.AppRunner(application, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port, reuse_address=True).start()

    async def off(self) -> None:
        for client in self._clients.values():
            if client.socket is not None and client.socket._req is not None and client.socket._req.transport:
                client.socket._req.transport.abort()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _session(self, request: web.Request) -> web.Response:
        return web.json_response({"worker": "w"})

    async def _shell(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await self.client(request.match_info["session"]).serve(socket)
        return socket


class Held:
    """A container whose action failed, held by its helper."""

    def __init__(self, runtime: DockerRuntime, engine: DockerEngine, appliance: Appliance, folder: Path) -> None:
        self.runtime = runtime
        self.engine = engine
        self.appliance = appliance
        self.notes = Notes(folder / "notes")
        self.notes.begin(ATTEMPT)
        self.files = HelperFiles(folder / "holds", ATTEMPT)
        self.tools = toolbox.install(folder / "tools")
        self.container: Container

    async def begin(self, image: str) -> None:
        self.files.prepare()
        self.files.set_policy(Armed(on_failure=True))
        self.files.set_command_line([BUSYBOX, "false"])
        mounts = self.files.mounts(self.tools, 0)
        spec = ContainerSpec(
            image=image,
            labels={"tinkbox.attempt": ATTEMPT},
            entrypoint=(ENTRYPOINT,),
            environment={"GIVEN": "by the template"},
            mounts=mounts,
            read_only=frozenset(mounts) - {RUN},
            privileged=False,
        )
        self.container = await self.runtime.create(spec)
        await self.runtime.start(self.container.id)
        await until(self._is_held)

    @asynccontextmanager
    async def shells(self, *wishes: ShellWish) -> AsyncIterator[ShellHost]:
        """A life of the worker in which these are wanted."""
        credential = Credential(server=f"http://127.0.0.1:{self.appliance.port}", registry="", worker="w", token="t")
        async with door_of(credential) as door, ShellHost(self.runtime, door, ATTEMPT, self.notes) as host:
            host.wanted(wishes)
            host.enter(self.container)
            yield host

    async def until_runs(self, *commands: str) -> None:
        """Wait until exactly these run in the container, besides the helper."""
        await until(lambda: self._runs(sorted([ENTRYPOINT, *commands])))

    async def _runs(self, commands: list[str]) -> bool:
        top = await asyncio.to_thread(self.engine.cli, "top", self.container.id, "-o", "pid,args:200")
        return sorted(line.split(maxsplit=1)[1] for line in top.stdout.strip().splitlines()[1:]) == commands

    async def _is_held(self) -> bool:
        return self.files.status().held is not None


@asynccontextmanager
async def holding(engine: DockerEngine, folder: Path, *changes: str) -> AsyncIterator[Held]:
    engine.cli("import", *(f"--change={line}" for line in changes), "-", IMAGE, stdin=layer(FILES))
    appliance = Appliance()
    async with asyncio.timeout(120), DockerRuntime(engine.url) as runtime:
        held = Held(runtime, engine, appliance, folder)
        await appliance.on()
        try:
            await held.begin(IMAGE)
            yield held
        finally:
            await appliance.off()
            for container in await runtime.find({"tinkbox.attempt": ATTEMPT}):
                await runtime.remove(container.id)


@pytest.fixture
async def held(docker_engine: DockerEngine, tmp_path: Path) -> AsyncIterator[Held]:
    async with holding(docker_engine, tmp_path, "WORKDIR /home") as held:
        yield held


def run(script: str, session: str = "run", **options: object) -> ShellWish:
    """A command; the image has no shell but ours."""
    return ShellWish(id=session, tty=False, command=(BUSYBOX, "sh", "-c", script), **options)  # type: ignore[arg-type]


async def test_a_terminal_opens_where_the_action_ran_and_ends_with_its_own_exit_code(held: Held) -> None:
    client = held.appliance.client("term")
    async with held.shells(TERMINAL):
        await client.until(r"# ")
        await client.type("pwd; echo $GIVEN $TINKBOX_SHELL $TERM; busybox stty size\n")
        assert "/home\r\nby the template term xterm\r\n30 100\r\n" in await client.until(r".*30 100\r\n")
        await client.type("exit 7\n")
        assert await client.end() == ShellEnd(7)


async def test_ctrl_c_ends_what_runs_and_not_the_shell(held: Held) -> None:
    client = held.appliance.client("term")
    async with held.shells(TERMINAL):
        await client.until(r"# ")
        await client.type("busybox sleep 100\n")
        await client.until("sleep 100\r\n")
        await held.until_runs("sh", "/bin/busybox sleep 100")
        await client.type("\x03")
        await client.type("echo it is $?\n")
        await client.until("it is 130\r\n")


async def test_a_terminal_takes_the_size_of_its_drivers_window(held: Held) -> None:
    client = held.appliance.client("term")
    async with held.shells(TERMINAL):
        await client.until(r"# ")
        await client.say(*(resize(rows, 132) for rows in range(20, 60)))
        async with asyncio.timeout(60):
            size = ""
            while "59 132" not in size:
                await client.type("busybox stty size\n")
                size = await client.until(r"\d+ \d+\r\n")


async def test_a_commands_streams_are_two_its_input_ends_and_its_exit_code_is_told(held: Held) -> None:
    client = held.appliance.client("run")
    async with held.shells(run("busybox cat; echo problem >&2; exit 9", user="worker", folder="/etc")):
        await client.say(Frame(Channel.STDIN, b"one \0\xff "), Frame(Channel.STDIN, b"two"), close(Channel.STDIN))
        assert await client.end() == ShellEnd(9)
    assert bytes(client.printed[Channel.STDOUT]) == b"one \0\xff two"
    assert bytes(client.printed[Channel.STDERR]) == b"problem\n"


async def test_nothing_of_much_output_is_lost_on_the_whole_way(held: Held) -> None:
    client, size = held.appliance.client("run"), 16 * 1024 * 1024
    script = f"busybox head -c {size} /dev/urandom >/large; busybox sha256sum /large >&2; busybox cat /large"
    async with held.shells(run(script)):
        assert await client.end() == ShellEnd(0)
    assert len(client.printed[Channel.STDOUT]) == size
    digest = hashlib.sha256(client.printed[Channel.STDOUT]).hexdigest()
    assert bytes(client.printed[Channel.STDERR]).decode().startswith(digest)


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        (run("true", user="nobody99"), "unable to find user nobody99"),
        (run("true", folder="/no/such"), 'chdir to cwd ("/no/such")'),
    ],
)
async def test_what_the_engine_cannot_start_is_told(held: Held, wish: ShellWish, message: str) -> None:
    client = held.appliance.client("run")
    async with held.shells(wish):
        end = await client.end()
    assert (end.exit_code, end.reason) == (None, "ExecFailed")
    assert end.message.startswith(message)


async def test_a_command_that_is_not_there_ends_as_in_a_shell(held: Held) -> None:
    client = held.appliance.client("run")
    async with held.shells(ShellWish(id="run", tty=False, command=("nothing",))):
        assert await client.end() == ShellEnd(127)
    assert b"nothing" in client.printed[Channel.STDERR]


async def test_the_same_shell_goes_on_when_the_appliance_is_started_again(held: Held) -> None:
    client = held.appliance.client("term")
    async with held.shells(TERMINAL):
        await client.until(r"# ")
        await client.type("kept=yes; echo $kept\n")
        await client.until("yes\r\n")
        await held.appliance.off()
        await held.appliance.on()
        await client.type("echo is it kept: $kept\n")
        await client.until("is it kept: yes\r\n")
        assert client.connections >= 2


async def test_what_is_printed_while_the_appliance_is_away_arrives_when_it_is_back(held: Held) -> None:
    client = held.appliance.client("run")
    async with held.shells(run("while [ ! -e /go ]; do busybox sleep 0.05; done; busybox seq 1 50000")):
        await client.say()
        await held.appliance.off()
        said = ""
        while said != "made\n":  # an engine was seen to say that it had run something, and had not
            make = (BUSYBOX, "sh", "-c", f"{BUSYBOX} touch /go && echo made")
            said = (await asyncio.to_thread(held.engine.cli, "exec", held.container.id, *make)).stdout
        await held.appliance.on()
        assert await client.end() == ShellEnd(0)
    assert client.printed[Channel.STDOUT].split() == [str(number).encode() for number in range(1, 50001)]


async def test_how_it_ended_is_told_to_an_appliance_that_was_away_then(held: Held) -> None:
    client = held.appliance.client("run")
    async with held.shells(run("busybox cat >/dev/null; exit 6")):
        await client.say(close(Channel.STDIN))
        await held.appliance.off()
        await held.until_runs()
        await held.appliance.on()
        assert await client.end() == ShellEnd(6)


@pytest.mark.parametrize("user", ["", "worker"])
async def test_whatever_was_started_in_a_shell_ends_with_it(held: Held, user: str) -> None:
    client = held.appliance.client("run")
    stubborn = "trap '' HUP TERM; while :; do busybox sleep 1; done"
    script = f'busybox setsid busybox sh -c "{stubborn}" >/dev/null 2>&1 & busybox sleep 0.2; exit 5'
    async with held.shells(run(script, user=user)):
        assert await client.end() == ShellEnd(5)
        await held.until_runs()
    assert held.files.status().held == "failure"


async def test_the_appliance_can_end_a_shell_and_all_that_runs_in_it(held: Held) -> None:
    client = held.appliance.client("term")
    async with held.shells(TERMINAL):
        await client.until(r"# ")
        await client.type("busybox sleep 1000 & busybox sleep 2000\n")
        await client.until("2000\r\n")
        await client.say(control({"end": True}))
        assert (await client.end()).exit_code is not None
        await held.until_runs()


async def test_a_shell_that_nobody_wants_any_more_ends_and_the_other_goes_on(held: Held) -> None:
    one, two = TERMINAL, ShellWish(id="two", tty=True)
    async with held.shells(one, two) as host:
        for session in ("term", "two"):
            await held.appliance.client(session).until(r"# ")
        await held.until_runs("sh", "sh")
        host.wanted((two,))
        await held.until_runs("sh")
        await held.appliance.client("two").type("echo still $((40 + 2))\n")
        await held.appliance.client("two").until("still 42\r\n")


async def test_what_a_killed_worker_left_in_the_container_is_ended_and_told(held: Held) -> None:
    client = held.appliance.client("term")

    async def killed() -> None:
        async with held.shells(TERMINAL):
            await client.until(r"# ")
            await client.type("busybox sleep 1000\n")
            await held.until_runs("sh", "/bin/busybox sleep 1000")
            raise ConnectionAbortedError

    with pytest.raises(ConnectionAbortedError):
        await killed()
    await held.until_runs("sh", "/bin/busybox sleep 1000")
    async with held.shells(TERMINAL):
        end = await client.end()
        assert (end.exit_code, end.reason) == (None, "ShellLost")
        await held.until_runs()


async def test_a_container_that_ends_takes_its_shells_along(held: Held) -> None:
    client = held.appliance.client("term")
    async with held.shells(TERMINAL):
        await client.until(r"# ")
        await held.runtime.stop(held.container.id, 5)
        assert (await client.end()).exit_code == 137


async def test_an_engine_that_dies_takes_its_shells_along_and_the_appliance_is_told(held: Held) -> None:
    client = held.appliance.client("term")
    async with held.shells(TERMINAL):
        await client.until(r"# ")
        await asyncio.to_thread(held.engine.kill)
        await asyncio.to_thread(held.engine.start)
        end = await client.end()
        assert (end.exit_code, end.reason) == (None, "ShellLost")


async def test_a_shell_of_the_images_own_user_sees_and_ends_what_is_its(
    docker_engine: DockerEngine, tmp_path: Path
) -> None:
    async with holding(docker_engine, tmp_path, "USER worker") as held:
        client = held.appliance.client("term")
        async with held.shells(TERMINAL):
            await client.until(r"\$ ")
            await client.type("busybox id -u; busybox sleep 1000 &\n")
            await client.until("1000\r\n")
            await client.type("exit\n")
            assert await client.end() == ShellEnd(0)
            await held.until_runs()
