"""Processes beside a container's own, and what else a held container needs, asked of a real engine."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.integration.docker_engine import DockerEngine
from tests.integration.registry.serving import layer
from tinkbox.runtime import Container, ContainerFailed, ContainerSpec, EngineAway, Exec, ExecSpec, ImageCommand
from tinkbox.runtime.docker import DockerRuntime

IMAGE = "tools/exec:v1"
BUSYBOX = "/bin/busybox"
FOREVER = (BUSYBOX, "tail", "-f", "/dev/null")
FILES = {
    "bin/busybox": Path(BUSYBOX).read_bytes(),
    "etc/passwd": b"root:x:0:0::/:/bin/sh\nworker:x:1000:1000::/home:/bin/sh\n",
    "home/empty": b"",
}
LABELS = {"tinkbox.attempt": "exec"}


@dataclass
class Held:
    """A container that lasts, with `docker` for what a test does to it from outside."""

    runtime: DockerRuntime
    container: Container
    engine: DockerEngine

    async def shell(self, script: str, **options: object) -> Exec:
        return await self.exec(BUSYBOX, "sh", "-c", script, **options)

    async def exec(self, *command: str, **options: object) -> Exec:
        spec = ExecSpec(command=command, **options)  # type: ignore[arg-type]
        return await self.runtime.exec(self.container.id, spec)

    async def has(self, word: str) -> bool:
        """Whether a process of the container has this word in its command line."""
        return word in (await asyncio.to_thread(self.engine.cli, "top", self.container.id)).stdout


@pytest.fixture(scope="module")
def engine(docker_engine: DockerEngine) -> DockerEngine:
    docker_engine.cli("import", "--change=CMD " + str(list(FOREVER)).replace("'", '"'), "-", IMAGE, stdin=layer(FILES))
    return docker_engine


@asynccontextmanager
async def holding(engine: DockerEngine, **options: object) -> AsyncIterator[Held]:
    spec = ContainerSpec(**{"image": IMAGE, "labels": LABELS, "privileged": False, **options})  # type: ignore[arg-type]
    async with DockerRuntime(engine.url) as runtime:
        container = await runtime.create(spec)
        try:
            await runtime.start(container.id)
            async with asyncio.timeout(120):
                yield Held(runtime, container, engine)
        finally:
            await runtime.remove(container.id)


@pytest.fixture
async def held(engine: DockerEngine) -> AsyncIterator[Held]:
    async with holding(engine, command=FOREVER) as held:
        yield held


async def all_of(process: Exec) -> tuple[bytes, bytes, int]:
    """Standard output, standard error and exit code, at its end."""
    printed: dict[int, list[bytes]] = {1: [], 2: []}
    while (piece := await process.read()) is not None:
        printed[piece[0]].append(piece[1])
    return b"".join(printed[1]), b"".join(printed[2]), await ended(process)


async def ended(process: Exec) -> int:
    try:
        while (code := await process.exit_code()) is None:  # noqa: ASYNC110  nothing announces it
            await asyncio.sleep(0.01)
        return code
    finally:
        await process.close()


async def until(process: Exec, words: bytes) -> bytes:
    printed = b""
    while words not in printed:
        piece = await process.read()
        assert piece is not None, f"it ended with {printed!r}"
        printed += piece[1]
    return printed


async def test_its_streams_are_two_and_its_exit_code_is_its_own(held: Held) -> None:
    assert await all_of(await held.shell("echo out; echo problem >&2; exit 7")) == (b"out\n", b"problem\n", 7)


@pytest.mark.parametrize("code", [0, 1, 126, 127, 255])
async def test_every_exit_code_is_told_even_those_of_a_failed_start(held: Held, code: int) -> None:
    assert await all_of(await held.shell(f"exit {code}")) == (b"", b"", code)


async def test_a_signal_that_ended_it_shows_as_a_shell_would_show_it(held: Held) -> None:
    assert await all_of(await held.shell("kill -9 $$")) == (b"", b"", 137)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"command": ("nothing",)}, "the image has no program nothing in the folders of its PATH"),
        ({"command": ("/bin/nothing",)}, "the image has no program /bin/nothing"),
        ({"command": ("/etc",)}, "/etc may not be executed"),
        ({"command": FOREVER, "user": "nobody99"}, "unable to find user nobody99"),
        ({"command": FOREVER, "folder": "/no/such"}, "chdir to cwd"),
        ({"command": ("nothing",), "tty": True}, "the image has no program nothing in the folders of its PATH"),
    ],
)
async def test_what_cannot_begin_says_why(held: Held, options: dict[str, object], message: str) -> None:
    with pytest.raises(ContainerFailed) as refusal:
        await held.runtime.exec(held.container.id, ExecSpec(**options))  # type: ignore[arg-type]
    assert refusal.value.reason == "ExecFailed"
    assert str(refusal.value).startswith(message)


async def test_user_folder_and_environment_are_the_containers_own_unless_they_are_given(engine: DockerEngine) -> None:
    script = 'echo "$(busybox id -u) $(busybox pwd) $FIRST $SECOND"'
    environment = {"PATH": "/bin", "FIRST": "1", "SECOND": "2"}
    async with holding(engine, command=FOREVER, environment=environment) as held:
        assert await all_of(await held.shell(script)) == (b"0 / 1 2\n", b"", 0)
        process = await held.shell(script, user="worker", folder="/home", environment={"SECOND": "= '$x\n"})
        assert await all_of(process) == (b"1000 /home 1 = '$x\n\n", b"", 0)


async def test_input_reaches_it_and_its_end_too(held: Held) -> None:
    process = await held.exec(BUSYBOX, "cat")
    await process.write(b"one\n")
    assert await until(process, b"one\n") == b"one\n"
    await process.write(b"two \0\xff")
    await process.close_input()
    await process.write(b"too late")
    await process.close_input()
    assert await all_of(process) == (b"two \0\xff", b"", 0)


async def test_what_reads_on_behind_the_end_of_its_input_is_still_heard(held: Held) -> None:
    process = await held.shell("busybox cat >/dev/null; busybox sleep 0.5; echo counted", environment={"PATH": "/bin"})
    await process.close_input()
    assert await all_of(process) == (b"counted\n", b"", 0)


async def test_nothing_of_much_output_is_lost_in_either_direction(held: Held) -> None:
    size = 8 * 1024 * 1024
    sent = bytes(range(256)) * (size // 256)
    process = await held.exec(BUSYBOX, "cat")
    async with asyncio.TaskGroup() as group:
        reading = group.create_task(all_of(process))
        await process.write(sent)
        await process.close_input()
    printed, errors, code = reading.result()
    assert (len(printed), errors, code) == (size, b"", 0)
    assert printed == sent


async def test_whoever_does_not_read_stops_who_prints(held: Held) -> None:
    process = await held.shell("busybox head -c 50000000 /dev/zero; echo x >/done", environment={"PATH": "/bin"})
    assert await process.read() is not None
    script = "busybox sleep 1; [ ! -e /done ]"
    assert await all_of(await held.shell(script, environment={"PATH": "/bin"})) == (b"", b"", 0)
    printed, _, code = await all_of(process)
    assert code == 0
    assert len(printed) < 50_000_000


async def test_a_terminal_has_the_size_that_it_is_given(held: Held) -> None:
    process = await held.exec(BUSYBOX, "sh", tty=True, rows=30, columns=101)
    await until(process, b"# ")
    await process.write(b"busybox stty size\n".replace(b"busybox", BUSYBOX.encode()))
    assert b"30 101\r\n" in await until(process, b"101\r\n")
    await process.resize(24, 80)
    await process.write(f"{BUSYBOX} stty size\n".encode())
    assert b"24 80\r\n" in await until(process, b" 80\r\n")
    await process.write(b"exit 5\n")
    assert (await all_of(process))[2] == 5


async def test_ctrl_c_interrupts_what_runs_in_a_terminal(held: Held) -> None:
    process = await held.shell("echo begun; exec /bin/busybox sleep 100", tty=True)
    await until(process, b"begun")
    await process.write(b"\x03")
    assert (await all_of(process))[2] == 130


async def test_the_end_of_a_terminals_input_leaves_its_output_alone(held: Held) -> None:
    process = await held.shell("/bin/busybox cat; echo still here; exit 4", tty=True)
    await process.write(b"line\n")
    await until(process, b"line\r\nline\r\n")
    await process.close_input()
    printed, _, code = await all_of(process)
    assert (printed.endswith(b"still here\r\n"), code) == (True, 4)


async def test_a_size_for_what_has_ended_is_no_fault(held: Held) -> None:
    process = await held.shell("exit 0", tty=True)
    while await process.read() is not None:
        pass
    await process.resize(50, 50)
    assert await ended(process) == 0
    await process.resize(50, 50)


async def test_letting_go_of_it_leaves_it_running(held: Held) -> None:
    process = await held.shell("trap '' HUP; while :; do echo noise; /bin/busybox sleep 0.1; done", tty=True)
    await until(process, b"noise")
    await process.close()
    await asyncio.sleep(1)
    assert await process.exit_code() is None
    assert await held.has("sh -c")


async def test_it_has_no_exit_code_as_long_as_it_runs(held: Held) -> None:
    process = await held.shell("read line; exit 9")
    assert await process.exit_code() is None
    await process.write(b"\n")
    assert (await all_of(process))[2] == 9


async def test_a_container_that_is_gone_takes_it_along_and_starts_no_other(held: Held) -> None:
    process = await held.exec(BUSYBOX, "cat")
    await held.runtime.remove(held.container.id)
    assert await process.read() is None
    with pytest.raises(ContainerFailed) as refusal:
        await process.exit_code()
    assert refusal.value.reason == "ExecFailed"
    with pytest.raises(ContainerFailed) as refusal:
        await held.exec(BUSYBOX, "true")
    assert refusal.value.reason == "ExecFailed"
    await process.close()


async def test_an_ended_container_starts_none(held: Held) -> None:
    await held.runtime.stop(held.container.id, 0)
    with pytest.raises(ContainerFailed, match="is not running") as refusal:
        await held.exec(BUSYBOX, "true")
    assert refusal.value.reason == "ExecFailed"


async def test_an_engine_that_dies_meanwhile_is_away(held: Held) -> None:
    process = await held.exec(BUSYBOX, "cat")
    async with asyncio.TaskGroup() as group:
        reading = group.create_task(process.read())
        await asyncio.to_thread(held.engine.kill)
    try:
        assert reading.result() is None
        with pytest.raises(EngineAway):
            await process.exit_code()
        with pytest.raises(EngineAway):
            await process.resize(1, 1)
        with pytest.raises(EngineAway):
            await held.exec(BUSYBOX, "true")
        await process.write(b"nobody hears it")
        await process.close_input()
        await process.close()
    finally:
        await asyncio.to_thread(held.engine.start)


async def test_memory_that_ran_out_is_known_while_the_container_lives(engine: DockerEngine) -> None:
    eat = "while [ ! -e /go ]; do /bin/busybox sleep 0.05; done; /bin/busybox tail /dev/zero; echo it is $?"
    script = f"{eat}; exec /bin/busybox tail -f /dev/null"
    run = ["run", "--detach", "--network=none", "--memory=16m", "--memory-swap=16m", IMAGE, BUSYBOX, "sh", "-c", script]
    container = engine.cli(*run).stdout.strip()
    try:
        async with asyncio.timeout(60), DockerRuntime(engine.url) as runtime:
            assert not await runtime.ran_out_of_memory(container)
            await all_of(await runtime.exec(container, ExecSpec(command=(BUSYBOX, "touch", "/go"))))
            output = runtime.output(container)
            while b"it is 137\n" not in await anext(output):
                pass
            assert await runtime.ran_out_of_memory(container)
            # What the engine says of it (OOMKilled) is no help: with some versions not before the container ended.
            assert engine.cli("inspect", "-f", "{{.State.Running}}", container).stdout == "true\n"
    finally:
        engine.cli("rm", "-f", container)


async def test_a_kill_is_no_lack_of_memory(held: Held) -> None:
    await all_of(await held.shell("kill -9 $$"))
    assert not await held.runtime.ran_out_of_memory(held.container.id)


async def test_what_an_image_runs_is_told_word_by_word(engine: DockerEngine) -> None:
    changes = ['--change=ENTRYPOINT ["/bin/one", "two words"]', '--change=CMD ["three", ""]', "--change=USER 1000:50"]
    engine.cli("import", *changes, "-", "tools/words:v1", stdin=layer(FILES))
    engine.cli("import", "-", "tools/wordless:v1", stdin=layer(FILES))
    async with DockerRuntime(engine.url) as runtime:
        assert await runtime.image_command(IMAGE) == ImageCommand(command=FOREVER)
        words = ImageCommand(entrypoint=("/bin/one", "two words"), command=("three", ""), user="1000:50")
        assert await runtime.image_command("tools/words:v1") == words
        assert await runtime.image_command("tools/wordless:v1") == ImageCommand()
        with pytest.raises(ContainerFailed) as refusal:
            await runtime.image_command("tools/none:v1")
    assert refusal.value.reason == "ImageNotFound"


async def test_another_entrypoint_takes_the_place_of_all_that_the_image_says(engine: DockerEngine) -> None:
    changes = ['--change=ENTRYPOINT ["/bin/no"]', '--change=CMD ["such"]']
    engine.cli("import", *changes, "-", "tools/words:v1", stdin=layer(FILES))
    entrypoint = (BUSYBOX, "echo", "mine")
    for command, printed in (((), b"mine\n"), (("more",), b"mine more\n")):
        async with holding(engine, image="tools/words:v1", entrypoint=entrypoint, command=command) as held:
            await held.runtime.wait(held.container.id)
            assert b"".join([piece async for piece in held.runtime.output(held.container.id)]) == printed


async def test_only_the_read_only_mounts_cannot_be_written_from_inside(engine: DockerEngine, tmp_path: Path) -> None:
    for folder in ("tools", "tools/run", "run"):
        (tmp_path / folder).mkdir()
    mounts = {"/tools": str(tmp_path / "tools"), "/tools/run": str(tmp_path / "run")}
    async with holding(engine, command=FOREVER, mounts=mounts, read_only=frozenset({"/tools"})) as held:
        assert (await all_of(await held.shell("echo x >/tools/file")))[2] != 0
        assert (await all_of(await held.shell("echo x >/tools/run/file")))[2] == 0
    assert [path.name for path in tmp_path.rglob("file")] == ["file"]
    assert (tmp_path / "run" / "file").read_text() == "x\n"


async def test_a_containers_files_become_an_image_and_its_volumes_are_lent(held: Held, tmp_path: Path) -> None:
    image = "tools/left:copy"
    (tmp_path / "given").write_text("given")
    async with holding(held.engine, command=FOREVER, mounts={"/given": str(tmp_path / "given")}) as dead:
        assert await dead.runtime.changed_bytes(dead.container.id) == 0
        await all_of(await dead.shell("echo left >/left"))
        assert await dead.runtime.changed_bytes(dead.container.id) == 5
        await dead.runtime.stop(dead.container.id, 0)
        await dead.runtime.commit(dead.container.id, image)
        async with holding(held.engine, image=image, command=FOREVER, volumes_from=dead.container.id) as copy:
            script = "/bin/busybox cat /left /given"
            assert (await all_of(await copy.shell(script)))[0] == b"left\ngiven"
    await held.runtime.remove_image(image)
    await held.runtime.remove_image(image)
    with pytest.raises(ContainerFailed):
        await held.runtime.image_command(image)


@pytest.mark.parametrize("ask", ["commit", "changed_bytes"])
async def test_a_container_that_is_gone_can_be_asked_nothing(held: Held, ask: str) -> None:
    await held.runtime.remove(held.container.id)
    arguments = ("tools/left:copy",) if ask == "commit" else ()
    with pytest.raises(ContainerFailed):
        await getattr(held.runtime, ask)(held.container.id, *arguments)
