"""A Docker engine that belongs to the test session: its own data, socket, containerd and process tree.

It lives in a process and a mount namespace of its own, so that ending the first process ends every
containerd, shim and container with it, and no mount stays behind.  Its /dev is its own as well: what is made in a
/dev that containers share is not made on the host, and not below the feet of another engine.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from examples.lab.processes import command_that_dies_with_us

ENGINE_DEADLINE = 60.0
COMMAND_DEADLINE = 120.0
# For a script that prints, and has no helper which sees to it: of what ends sooner Docker 26 loses the output now and then.
HEARD = "sleep 0.1"
CGROUPS = Path("/sys/fs/cgroup")
# Docker 20.10 that was killed while it removed a network ends so at every start, until its list of networks is removed.
HALF_REMOVED_NETWORK = "libnetwork.(*controller).reservePools"
# The host's devices, and what is mounted among them, in a folder that nobody else has; then the command.
WITH_OWN_DEV = """
mount -t tmpfs -o mode=755 dev "$0"
cp -ax /dev/. "$0"
for place in pts shm mqueue; do if [ -d "/dev/$place" ]; then mount --rbind "/dev/$place" "$0/$place"; fi; done
mount --rbind "$0" /dev
exec "$@"
"""
# A first process that outlives the daemon, and takes in what that leaves behind.
NOTHING = ["sh", "-c", "sleep infinity & wait"]
# Who enters another namespace's mounts does not find its own processes there.
WITH_OWN_PROC = 'mount -t proc proc /proc; exec "$@"'


class CommandFailed(AssertionError):
    """A docker command ended with another status than 0; the text is what it said."""


class DockerEngine:
    """One engine; `url` is where it answers.  Start it with `docker_engine_in` or the fixture `docker_engine`.

    With `live_restore`, as in the OSIE, its containers go on without its daemon.
    """

    def __init__(
        self, folder: Path, network: Path | None = None, registry: str = "", *, live_restore: bool = False
    ) -> None:
        self._folder = folder
        self._live_restore = live_restore
        self._daemon: subprocess.Popen[bytes] | None = None  # where it is not the first process
        self._registry = registry
        self._entering = [] if network is None else ["nsenter", f"--net={network}"]
        self._socket = folder / "docker.sock"
        self._process: subprocess.Popen[bytes] | None = None
        self.cgroup = f"tinkbox-test-{os.getpid()}-{folder.name}"
        self.url = f"unix://{self._socket}"
        self.environment = {**os.environ, "DOCKER_HOST": self.url, "DOCKER_CONFIG": str(folder / "config")}

    def cli(self, *arguments: str | Path, stdin: bytes = b"", check: bool = True) -> "subprocess.CompletedProcess[str]":
        """Run `docker ARGUMENTS` against this engine; raises CommandFailed with what it said unless `check` is off.

        Blocks: within an event loop that also serves what docker talks to, hand it to `asyncio.to_thread`.
        """
        command = ["docker", *map(str, arguments)]
        done = subprocess.run(
            command, input=stdin, capture_output=True, env=self.environment, timeout=COMMAND_DEADLINE, check=False
        )
        output, errors = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
        if check and done.returncode != 0:
            raise CommandFailed(f"{' '.join(command)} ended with {done.returncode}\n{output}{errors}")
        return subprocess.CompletedProcess(command, done.returncode, output, errors)

    @property
    def containerd(self) -> Path:
        """Where its containerd answers."""
        return self._folder / "exec" / "containerd" / "containerd.sock"

    @property
    def runs(self) -> bool:
        """Whether it was started, and nothing ended it since."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it and wait until it answers; a list of networks that stops it goes, as an administrator removes it."""
        try:
            self._start()
        except CommandFailed as failure:
            if HALF_REMOVED_NETWORK not in str(failure):
                raise
            (self._folder / "data" / "network" / "files" / "local-kv.db").unlink()
            self._start()

    def _start(self) -> None:
        assert self._process is None, "it runs already"
        self._socket.unlink(missing_ok=True)
        # Numbers from a process namespace that is gone: in the new one others may have them.
        (self._folder / "docker.pid").unlink(missing_ok=True)
        (self._folder / "exec" / "containerd" / "containerd.pid").unlink(missing_ok=True)
        devices = self._folder / "dev"
        devices.mkdir(exist_ok=True)
        first = NOTHING if self._live_restore else self._command()
        self._process = self._spawn(
            command_that_dies_with_us(
                [
                    *self._entering,
                    *("unshare", "--mount", "--pid", "--fork", "--kill-child=KILL", "--mount-proc"),
                    *("sh", "-ec", WITH_OWN_DEV, str(devices), *first),
                ]
            )
        )
        if self._live_restore:
            self.start_daemon()
        else:
            self._await_answer()

    def kill_daemon(self) -> None:
        """Have the daemon die at once, unasked, and its containers go on: with `live_restore`."""
        assert self._daemon is not None, "it does not run"
        for child in _children(self._daemon):
            os.kill(child, signal.SIGKILL)
        self._daemon.wait(timeout=30)

    def start_daemon(self) -> None:
        """Start it beside the containers that it left, and wait until it answers: with `live_restore`."""
        for left in ("docker.pid", "docker.sock"):
            (self._folder / left).unlink(missing_ok=True)
        own_dev = Path(f"/proc/{self._first}/cmdline")
        deadline = time.monotonic() + ENGINE_DEADLINE
        while own_dev.read_text().split("\0")[:-1] != NOTHING:
            assert time.monotonic() < deadline, "its /dev is not made"
            time.sleep(0.01)  # nothing announces it
        self._daemon = self._spawn([*self._entering, *self.beside([*self._command(), "--live-restore"])])
        self._await_answer()

    def _spawn(self, command: list[str]) -> "subprocess.Popen[bytes]":
        with self._log.open("ab") as log:
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def kill(self) -> None:
        """Pull the plug: engine, containerd and containers die at once, unasked."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Ask it to end, as a service manager would, and kill what is left."""
        self._end(signal.SIGTERM)

    def restart(self) -> None:
        """Stop and start it, on the same data."""
        self.stop()
        self.start()

    def forget_start(self, container: str) -> None:
        """While it does not run: as if it had been killed before it wrote down that it started the container."""
        (file,) = (self._folder / "data" / "containers").glob(f"{container}*/config.v2.json")
        known = json.loads(file.read_bytes())
        known["State"] |= {"Running": False, "Pid": 0, "StartedAt": "0001-01-01T00:00:00Z"}
        file.write_text(json.dumps(known))

    @contextmanager
    def short_of_memory(self, limit: int) -> Iterator[None]:
        """All its containers together have so many bytes; with either version of control groups."""
        first, second = CGROUPS / "memory" / self.cgroup / "memory.limit_in_bytes", CGROUPS / self.cgroup / "memory.max"
        file = first if first.exists() else second
        before = file.read_text()
        file.write_text(str(limit))
        try:
            yield
        finally:
            file.write_text(before)

    def beside(self, command: list[str]) -> list[str]:
        """The command as it is run where the engine lives, among its mounts and processes; it dies with its caller."""
        entered = command_that_dies_with_us(command, parent=0)
        return command_that_dies_with_us(["nsenter", f"--target={self._first}", "--mount", "--pid", *entered])

    def with_its_devices(self, command: list[str]) -> list[str]:
        """The command as it is run with the engine's /dev, but with mounts that the engine does not see."""
        own = ["unshare", "--mount", "sh", "-ec", WITH_OWN_PROC, "sh"]
        return ["nsenter", f"--target={self._first}", "--mount", *own, *command]

    @property
    def _first(self) -> int:
        """The first process of its namespaces."""
        assert self._process is not None, "it does not run"
        deadline = time.monotonic() + ENGINE_DEADLINE
        while not (first := _children(self._process)):
            assert time.monotonic() < deadline, "it has no first process"
            time.sleep(0.01)  # nothing announces that it is there
        return first[0]

    @property
    def _log(self) -> Path:
        return self._folder / "dockerd.log"

    def _command(self) -> list[str]:
        return [
            "dockerd",
            f"--data-root={self._folder / 'data'}",
            f"--exec-root={self._folder / 'exec'}",
            f"--pidfile={self._folder / 'docker.pid'}",
            f"--host={self.url}",
            f"--cgroup-parent=/{self.cgroup}",
            "--bridge=none",
            "--iptables=false",
            "--ip6tables=false",
            *([f"--insecure-registry={self._registry}"] if self._registry else []),
        ]

    def _end(self, how: signal.Signals) -> None:
        if self._process is None:
            return
        # The end of a process namespace's first process is the end of all of them, and unshare waits for it.
        for child in _children(self._process) if self._process.poll() is None else ():
            os.kill(child, how)
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(timeout=30)
        if self._daemon is not None:
            self._daemon.wait(timeout=30)
        self._process = self._daemon = None

    def _await_answer(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + ENGINE_DEADLINE
        while time.monotonic() < deadline and self._process.poll() is None:
            if self._answers():
                return
            time.sleep(0.05)  # nothing announces that dockerd is ready but its socket
        self.kill()
        raise CommandFailed("dockerd did not answer:\n" + self._log.read_text(errors="replace")[-4000:])

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(5)
            try:
                connection.connect(str(self._socket))
                connection.sendall(b"GET /_ping HTTP/1.0\r\nHost: docker\r\n\r\n")
                return b" 200 " in connection.recv(4096).split(b"\r\n")[0]
            except OSError:
                return False


def _children(process: "subprocess.Popen[bytes]") -> list[int]:
    return [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]


def _remove_cgroups(name: str) -> None:
    """A killed engine leaves its empty control groups; version 1 has a hierarchy per controller."""
    for top in [CGROUPS / name, *CGROUPS.glob(f"*/{name}")]:
        for folder, _, _ in os.walk(top, topdown=False):
            with suppress(OSError):
                Path(folder).rmdir()


@contextmanager
def docker_engine_in(
    place: Path | None = None, network: Path | None = None, registry: str = "", *, live_restore: bool = False
) -> Iterator[DockerEngine]:
    """A running engine, and nothing of it afterwards.  `place` keeps its data; by default a short path in /tmp.

    In a network namespace of its own (`network` is its file) it may make bridges for its containers, which go with the
    namespace.  `registry` is a host that speaks plain HTTP, of which a machine's engine is told.
    """
    # A socket's path has room for 107 characters, which pytest's own folders easily exceed.
    folder = Path(tempfile.mkdtemp(prefix="tinkbox-docker-", dir=place))
    engine = DockerEngine(folder, network, registry, live_restore=live_restore)
    try:
        engine.start()
        yield engine
    finally:
        engine.kill()  # nothing of it is kept, and whoever interrupts the tests does not wait for containers
        _remove_cgroups(engine.cgroup)
        shutil.rmtree(folder, ignore_errors=True)
